"""Figures 4 and 5 of Solanki et al. (2022): over the privacy budget, and over buyers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Procurement
from fedbandits.reproduce.engine import (
    Context,
    Outcome,
    Row,
    Verdict,
    draw_lines,
    legend_beside,
    where,
)
from fedbandits.reproduce.pfcb import (
    ALONE,
    CASES,
    NO_IMAGES,
    STATED,
    UNSTATED,
    Scale,
    cases_by_row,
    play,
    row,
)
from fedbandits.settings.experiment import system

_PUBLISHED, _SOUND = "pfcb-published", "pfcb"
_NAMES = (_PUBLISHED, _SOUND)
#: Budgets ε and numbers of buyers n, quick and full.
BUDGETS: tuple[Sequence[float], Sequence[float]] = (
    (0.1, 0.2, 0.5, 1.0, 1.1, 2.0),
    (*(round(0.1 * k, 1) for k in range(1, 12)), 1.5, 2.0),
)
BUYERS: tuple[Sequence[int], Sequence[int]] = ((8, 16, 24, 32, 42), range(8, 43, 2))
#: The budgets that the paper's axis shows.
_SHOWN = (0.2, 1.1)
#: The highest labels on its axis of FRR, by case: an axis ends where its curve does.
_LABELS = {"uniform": 1.5, "normal": 1.0}
#: An FRR agrees if it is no further from the paper's.
_NEAR = 0.1
#: A sweep is approximately a line if a line explains this share of it.
_LINEAR = 0.8


def figure_4(context: Context) -> Outcome:
    """Make FRR over the privacy budget."""
    private = {
        (preset, epsilon): system(preset, label=f"{preset}, ε = {epsilon:g}", epsilon=epsilon)
        for preset in _NAMES
        for epsilon in BUDGETS[context.full]
    }
    systems = [system(ALONE), *private.values()]
    rows = []
    table = {case: (case, Procurement(case=case)) for case in CASES}
    for case, result in play(context, table, systems, Scale.of(context)).items():
        rows += [
            row(result, entry.label, case=case, epsilon=epsilon) | {"system": preset}
            for (preset, epsilon), entry in private.items()
        ]
    remarks = [NO_IMAGES, UNSTATED, *_falls(rows, "epsilon", "FRR")]
    within = [r for r in rows if _SHOWN[0] <= r["epsilon"] <= _SHOWN[1]]
    plot = _draw((within, rows), "epsilon", "FRR", "privacy budget (ε)", "FRR")
    return Outcome(rows, plot, remarks, _verdict_4(within))


def _stated_ratio(case: str) -> float:
    """Return the FRR of P-FCB at ε = 1, by what both are above FCB."""
    published, alone = STATED[case]
    return (100.0 + published) / (100.0 + alone)


def _series(
    rows: Sequence[Row], case: str, name: str, over: str, value: str
) -> tuple[list[float], list[float]]:
    mine = where(rows, case=case, system=name)
    return [float(r[over]) for r in mine], [float(r[value]) for r in mine]


def _falling(over: Sequence[float], values: Sequence[float]) -> bool:
    """Return whether values fall from the first to the last point, and on the whole."""
    slope = np.polyfit(np.log(over), values, 1)[0]
    return bool(values[-1] < values[0] and slope < 0.0)


def _falls(rows: Sequence[Row], over: str, value: str) -> Iterator[str]:
    for case, name in itertools.product(CASES, _NAMES):
        x, y = _series(rows, case, name, over, value)
        yield (
            f"{case}, {name}: {value} {'falls' if _falling(x, y) else 'DOES NOT FALL'} with "
            f"{over}, from {y[0]:,} at {x[0]:g} to {y[-1]:,} at {x[-1]:g}."
        )


def _verdict_4(rows: Sequence[Row]) -> Verdict:
    """Judge whether FRR falls with ε, from the end of the paper's axis to Figure 3's at ε = 1.

    The text also says that it falls less than linearly: a unit of ε less beyond 1 than before.
    """
    agrees, parts, low, straight = True, [], [], []
    for case in CASES:
        x, y = _series(rows, case, _PUBLISHED, "epsilon", "FRR")
        at_one, stated, falls = y[x.index(1.0)], _stated_ratio(case), _falling(x, y)
        agrees = agrees and falls and abs(at_one - stated) <= _NEAR
        before, beyond = (y[0] - at_one) / (1.0 - x[0]), (at_one - y[-1]) / (x[-1] - 1.0)
        if falls and beyond > before:
            straight.append(f"{before:.2f} a unit of ε up to 1, and {beyond:.2f} beyond ({case})")
        if max(y) < _LABELS[case] - _NEAR:
            low.append(f"{_LABELS[case]:g} ({case})")
        parts.append(
            f"FRR {'falls' if falls else 'does NOT fall'} from {y[0]:.2f} at ε = {x[0]:g} to "
            f"{y[-1]:.2f} at {x[-1]:g}, and is {at_one:.2f} at 1 where the percentages of Figure 3 "
            f"make it {stated:.2f} ({case})"
        )
    why = "; ".join(parts)
    if low:
        why += (
            f". But the paper's axis has labels up to {', '.join(low)}: small budgets cost more "
            "there, and here Procedure 1 refuses nearly all of what is so noisy"
        )
    if straight:
        why += f". It does NOT fall less than linearly, as the text says: {'; '.join(straight)}"
    return Verdict(agrees and not low and not straight, f"{why}.")


def figure_5(context: Context) -> Outcome:
    """Make regret over the number of buyers."""
    systems = [system(name) for name in _NAMES]
    rows = []
    table = {
        (case, n): (f"{case}-n{n}", Procurement(case=case, agents=n))
        for case in CASES
        for n in BUYERS[context.full]
    }
    for (case, n), result in play(context, table, systems, Scale.of(context, 2)).items():
        rows += [row(result, entry.label, case=case, agents=n) for entry in systems]
    remarks = [
        NO_IMAGES,
        UNSTATED,
        *_falls(rows, "agents", "regret a buyer"),
        "Part of the fall is the exploration's length, 3 ln(yT) / (2nζ²), which shrinks as 1/n.",
    ]
    axes = ("agents", "regret a buyer", "# of agents (n)", "average regret per agent")
    plot = _draw((rows, rows), *axes)
    return Outcome(rows, plot, remarks, _verdict_5(rows))


def _verdict_5(rows: Sequence[Row]) -> Verdict:
    """Judge by the paper: an approximately linear decrease."""
    agrees, parts, explored = True, [], []
    for case in CASES:
        x, y = _series(rows, case, _PUBLISHED, "agents", "regret a buyer")
        _, late = _series(rows, case, _PUBLISHED, "agents", "after exploration")
        share, falls = float(np.corrcoef(x, y)[0, 1] ** 2), _falling(x, y)
        agrees = agrees and falls and share >= _LINEAR
        explored.append(
            f"{y[0] - late[0] - (y[-1] - late[-1]):,.0f} of {y[0] - y[-1]:,.0f} ({case})"
        )
        parts.append(
            f"regret a buyer {'falls' if falls else 'does NOT fall'} from {y[0]:,.0f} with "
            f"{x[0]:g} buyers to {y[-1]:,.0f} with {x[-1]:g}, and a line explains {share:.0%} of "
            f"it ({case})"
        )
    why = f"{'; '.join(parts)}. The paper: an approximately linear decrease"
    if not agrees:
        why += f", here taken as {_LINEAR:.0%}. The exploration, 1/n of a length, makes "
        why += f"{' and '.join(explored)} of the fall"
    return Verdict(agrees, f"{why}.")


def _draw(
    shown: tuple[Sequence[Row], Sequence[Row]], over: str, value: str, x: str, y: str
) -> Plot:
    """Draw the paper's two panels, P-FCB alone; below them ours. All axes are linear."""
    plot, drawn = cases_by_row(("as the paper", "ours beside"), 0.2, width=5.2)
    for (place, case), axes in drawn.items():
        names = (_NAMES, (_PUBLISHED,))[place == 0]
        draw_lines(axes, {name: _series(shown[place], case, name, over, value) for name in names})
        axes.set(xlabel=x, ylabel=y)
    for place in (0, 1):
        legend_beside(drawn[place, CASES[-1]])
    return plot
