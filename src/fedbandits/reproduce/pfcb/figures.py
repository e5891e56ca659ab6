"""Figures 2 to 5 of Solanki et al. (2022): over rounds, over the privacy budget, over buyers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Procurement
from fedbandits.experiments.plots import draw_bounds, line_style
from fedbandits.experiments.plots.bounds import compare
from fedbandits.reproduce.engine import (
    Context,
    Outcome,
    Row,
    Verdict,
    draw_curves,
    draw_lines,
    legend_beside,
    styles_of,
    where,
)
from fedbandits.reproduce.pfcb import (
    ACCOUNTED,
    ALONE,
    CASES,
    CLEAR,
    FLOOR,
    NO_IMAGES,
    STATED,
    UNSTATED,
    Scale,
    a_buyer,
    cases_by_row,
    experiment_of,
    play,
    row,
)
from fedbandits.settings.experiment import Variant, system
from fedbandits.systems.theory import Bound

_ALGORITHM_1, _SOUND = "homogeneous-fcb", "pfcb"
_KINDS = ("homogeneous", "heterogeneous")
_DEVIATION = 0.1
#: Largest difference of two FRR that are "quite similar".
_SIMILAR = 0.1


def figure_2(context: Context) -> Outcome:
    """Make FRR over rounds without privacy, buyers alike and not."""
    scale = Scale.of(context, 2)
    systems = [system(name) for name in (ALONE, _ALGORITHM_1, FLOOR, _SOUND)]
    rows: list[Row] = []
    curves, first = {}, {}
    table = {
        (case, kind): (
            f"{case}-{kind}",
            Procurement(case=case, deviation=_DEVIATION, homogeneous=kind == "homogeneous"),
        )
        for case in CASES
        for kind in _KINDS
    }
    for (case, kind), result in play(context, table, systems, scale).items():
        rows += [row(result, entry.label, case=case, buyers=kind) for entry in systems[1:]]
        mean = result.regret.mean(("instance", "replicate", "party"))
        curves[case, kind] = mean / mean.sel(system=ALONE)
        if kind == "homogeneous":
            first[case] = result.isel(instance=0)
    # Theorem 1 in the first instance with buyers alike: of Algorithm 1, and of n = 1.
    bounds = {
        case: experiment_of(table[case, "homogeneous"][1], 0, systems[:2], scale).bounds()
        for case in CASES
    }
    remarks = [NO_IMAGES, UNSTATED, *_theory_2(first, bounds)]
    return Outcome(rows, _draw_2(curves, first, bounds), remarks, _verdict_2(rows))


def _theory_2(
    first: Mapping[str, xr.Dataset], bounds: Mapping[str, Mapping[str, Sequence[Bound]]]
) -> list[str]:
    return [
        f"{case}, {check.label}: {check.bound.theorem.rpartition(', ')[2]} promises at least "
        f"{check.limit:.2g} of regret for all buyers, {check.measured:,.0f} is measured "
        f"({check.measured / check.limit:.1g} of it): {check.verdict}."
        for case in CASES
        for check in compare(first[case], bounds[case])
    ]


def _verdict_2(rows: Sequence[Row]) -> Verdict:
    """Judge by the paper: both are below 1, and their trends quite similar."""
    ends = {case: _ends_2(rows, case, "FRR") for case in CASES}
    apart = [case for case, (alike, other) in ends.items() if abs(alike - other) > _SIMILAR]
    above = [case for case, pair in ends.items() if max(pair) >= 1.0]
    why = "; ".join(
        f"FRR of Algorithm 1 ends at {alike:.2f} where buyers are alike and at {other:.2f} where "
        f"they are not ({case})"
        for case, (alike, other) in ends.items()
    )
    why += ". The paper has the two “quite similar”, here taken as no more than "
    why += f"{_SIMILAR:g} apart"
    for case in apart:
        alike, other = _ends_2(rows, case, "FRR after exploration")
        why += (
            f"; after the exploration, whose regret is the same for all, they are {alike:.2f} and "
            f"{other:.2f} ({case})"
        )
    if above:
        why += f"; sharing costs more than it brings ({', '.join(above)})"
    return Verdict(not apart and not above, f"{why}.")


def _ends_2(rows: Sequence[Row], case: str, ratio: str) -> tuple[float, float]:
    """Return a ratio of Algorithm 1 with homogeneous and heterogeneous buyers."""
    mine = where(rows, case=case, system=_ALGORITHM_1)
    by_kind = {row["buyers"]: float(row[ratio]) for row in mine}
    return by_kind["homogeneous"], by_kind["heterogeneous"]


def _draw_2(
    curves: Mapping[tuple[str, str], xr.DataArray],
    first: Mapping[str, xr.Dataset],
    bounds: Mapping[str, Mapping[str, Sequence[Bound]]],
) -> Plot:
    """Draw the paper's two panels, our systems below, and Theorem 1 at the bottom."""
    titles = ("as the paper", "ours beside", "Theorem 1, one instance")
    plot, drawn = cases_by_row(titles, _DEVIATION, width=5.8)
    for (place, case), axes in drawn.items():
        if place == 2:
            draw_bounds(axes, first[case], bounds[case], "regret")
            axes.set_xlabel("round")
        else:
            _draw_ratios(axes, curves, case, as_printed=place == 0)
        if case == CASES[-1]:
            legend_beside(axes)
        elif legend := axes.get_legend():
            legend.remove()
    return plot


def _draw_ratios(
    axes: Axes, curves: Mapping[tuple[str, str], xr.DataArray], case: str, as_printed: bool
) -> None:
    labels = (_ALGORITHM_1,) if as_printed else (_ALGORITHM_1, FLOOR, _SOUND)
    for index, label in enumerate(labels):
        for number, (kind, dashes) in enumerate(zip(_KINDS, ("-", "--"), strict=True)):
            name, look = f"{label}, {kind}", line_style(index) | {"linestyle": dashes}
            if as_printed:  # one system alone, a colour for each kind of buyers
                name, look = kind, line_style(number)
            curve = curves[case, kind].sel(system=label)
            axes.plot(curve["round"], curve, label=name, **look)
    axes.set(xlabel="round", ylabel="FRR", ylim=(0.0, None))
    axes.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))


_PUBLISHED_AT_1, _SOUND_AT_1 = "pfcb-published, ε = 1", "pfcb, ε = 1"
_SAME_PRICE = f"pfcb, ε = {ACCOUNTED:g}"
#: Systems that the paper draws, and all systems.
_PRINTED = (ALONE, _PUBLISHED_AT_1, "pfcb-published, ε = 0.3", CLEAR)
_OURS = (ALONE, _PUBLISHED_AT_1, _SAME_PRICE, "pfcb, ε = 0.3", _SOUND_AT_1, CLEAR, FLOOR)
_UNCHECKED, _FOR_ONE = "fcb, all taken", "cucb-alone, explores for one"
#: Largest relative difference of a ratio of regrets that agrees with the paper's.
_NEAR_RATIO = 0.2
_PRICES = (
    f"Published noise at ε = 1 costs ε = {ACCOUNTED:g} by accounting, so pfcb at ε = 1 is less "
    f"private than it: the curve for the same price is “{_SAME_PRICE}”."
)


def figure_3(context: Context) -> Outcome:
    """Make regret over rounds."""
    systems = _systems_3()
    rows, curves = [], {}
    table = {case: (case, Procurement(case=case)) for case in CASES}
    for case, result in play(context, table, systems, Scale.of(context)).items():
        rows += [row(result, entry.label, case=case) for entry in systems]
        curves[case] = a_buyer(result)
    remarks = [NO_IMAGES, UNSTATED, _PRICES, *_percentages(rows), *_orders(rows)]
    return Outcome(rows, _draw_3(curves), remarks, _verdict_3(rows))


def _systems_3() -> list[Variant]:
    return [
        system(ALONE),
        *(
            system(preset, label=f"{preset}, ε = {epsilon:g}", epsilon=epsilon)
            for preset in ("pfcb-published", "pfcb")
            for epsilon in (0.3, 1.0)
        ),
        system("pfcb-published", label="pfcb-published, powers", schedule="powers"),
        system("pfcb", label=_SAME_PRICE, epsilon=ACCOUNTED),
        system(CLEAR),
        system(CLEAR, label=_UNCHECKED, acceptance="always", weighting="constant(1)"),
        system(FLOOR),
        system(ALONE, label=_FOR_ONE, explorers="one"),
    ]


def _more(regret: Mapping[str, float], label: str, clear: str) -> float:
    """Return the regret of ``label`` above that of ``clear``, in percent."""
    return 100.0 * (regret[label] / regret[clear] - 1.0)


def _at_end(rows: Sequence[Row], case: str, column: str) -> dict[str, float]:
    return {row["system"]: float(row[column]) for row in where(rows, case=case)}


def _verdict_3(rows: Sequence[Row]) -> Verdict:
    """Judge the order, and each ratio to FCB's regret beside the paper's."""
    agrees, parts, ordered = True, [], True
    for case, stated in STATED.items():
        regret = _at_end(rows, case, "regret a buyer")
        ours = [_more(regret, label, CLEAR) for label in (_PUBLISHED_AT_1, ALONE)]
        near = [
            abs((100.0 + a) / (100.0 + b) - 1.0) <= _NEAR_RATIO
            for a, b in zip(ours, stated, strict=True)
        ]
        agrees = agrees and all(near)
        ordered = ordered and regret[ALONE] > regret[_PUBLISHED_AT_1] > regret[CLEAR]
        parts.append(
            f"P-FCB and learning alone are {ours[0]:.0f}% and {ours[1]:.0f}% above FCB in the "
            f"{case} case, {stated[0]}% and {stated[1]}% in the paper"
        )
    floor = [
        f"{_more(regret, _PUBLISHED_AT_1, FLOOR):.0f}% and {_more(regret, ALONE, FLOOR):.0f}%"
        for regret in (_at_end(rows, case, "regret a buyer") for case in CASES)
    ]
    why = f"{'; '.join(parts)}; the order is {'the paper’s' if ordered else 'NOT the paper’s'}"
    if not agrees:
        why += (
            ". Because FCB as section 6.1 describes it exchanges as seldom as P-FCB; against one "
            f"that shares every round it is {' (uniform), '.join(floor)} (normal), and neither ρ "
            "nor ζ is stated"
        )
    return Verdict(agrees and ordered, f"{why}.")


def _percentages(rows: Sequence[Row]) -> Iterator[str]:
    """Compare the paper's numbers with ours, against each reading of FCB and of learning alone."""
    for case, (published, alone) in STATED.items():
        regret = _at_end(rows, case, "regret a buyer")
        against = [
            f"against {clear} {_more(regret, _PUBLISHED_AT_1, clear):.0f}% and "
            f"{_more(regret, ALONE, clear):.0f}%"
            for clear in (CLEAR, _UNCHECKED, FLOOR)
        ]
        yield (
            f"{case}: the paper has P-FCB {published}% and learning alone {alone}% above FCB; "
            f"here, {'; '.join(against)}. Buyers alone that explore as the single-agent algorithm "
            f"would are {_more(regret, _FOR_ONE, CLEAR):.0f}% above {CLEAR}. The sound variant: "
            f"{_more(regret, _SOUND_AT_1, CLEAR):.0f}%."
        )


def _orders(rows: Sequence[Row]) -> Iterator[str]:
    for case in CASES:
        late = _at_end(rows, case, "after exploration")
        missed = _at_end(rows, case, "missed, worst buyer")[_SOUND_AT_1]
        for clear in (CLEAR, _UNCHECKED):
            names = (ALONE, _PUBLISHED_AT_1, _SOUND_AT_1, clear)
            ordered = all(late[a] > late[b] for a, b in itertools.pairwise(names))
            share = (late[_SOUND_AT_1] - late[clear]) / (late[_PUBLISHED_AT_1] - late[clear])
            yield (
                f"{case}: after the exploration alone > published > pfcb > {clear} "
                f"{'holds' if ordered else 'DOES NOT HOLD'}; (pfcb - it) / (published - it) is "
                f"{share:.2f}."
            )
        yield (
            f"{case}: pfcb's worst buyer misses the constraint in {100.0 * missed:.2g}% of rounds."
        )


def _draw_3(curves: Mapping[str, xr.DataArray]) -> Plot:
    """Draw the paper's two panels, and our systems below."""
    plot, drawn = cases_by_row(("as the paper", "ours beside"), 0.2, width=5.6)
    styles = styles_of(list(dict.fromkeys((*_PRINTED, *_OURS))))
    for (place, case), axes in drawn.items():
        mine = {name: curves[case].sel(system=name) for name in (_PRINTED, _OURS)[place]}
        draw_curves(axes, mine, styles)
        axes.set(xlabel="rounds", ylabel="average regret per agent", ylim=(0.0, None))
        axes.set_xlim(0.0, 1.1 * float(curves[case]["round"][-1]))
        axes.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
        if case == CASES[-1]:
            legend_beside(axes)
    return plot


_PUBLISHED = "pfcb-published"
_NAMES = (_PUBLISHED, _SOUND)
#: Budgets ε and numbers of buyers n, quick and full.
BUDGETS: tuple[Sequence[float], Sequence[float]] = (
    (0.1, 0.2, 0.5, 1.0, 1.1, 2.0),
    (*(round(0.1 * k, 1) for k in range(1, 12)), 1.5, 2.0),
)
BUYERS: tuple[Sequence[int], Sequence[int]] = ((8, 16, 24, 32, 42), range(8, 43, 2))
#: The budgets that the paper's axis shows.
_SHOWN = (0.2, 1.1)
#: The highest labels on the paper's axis of FRR, by case, where the curve ends.
_LABELS = {"uniform": 1.5, "normal": 1.0}
#: Largest difference of an FRR that agrees with the paper's.
_NEAR_FRR = 0.1
#: Least share of the variance that a line explains in an approximately linear sweep.
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
    plot = _draw_sweep((within, rows), "epsilon", "FRR", "privacy budget (ε)", "FRR")
    return Outcome(rows, plot, remarks, _verdict_4(within))


def _stated_ratio(case: str) -> float:
    """Return the stated FRR of P-FCB at ε = 1, from the percentages above FCB."""
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
    """Judge whether FRR falls with ε, and has the value of Figure 3 at ε = 1.

    By the text, FRR falls less than linearly: less for a unit of ε beyond 1 than before.
    """
    agrees, parts, low, straight = True, [], [], []
    for case in CASES:
        x, y = _series(rows, case, _PUBLISHED, "epsilon", "FRR")
        at_one, stated, falls = y[x.index(1.0)], _stated_ratio(case), _falling(x, y)
        agrees = agrees and falls and abs(at_one - stated) <= _NEAR_FRR
        before, beyond = (y[0] - at_one) / (1.0 - x[0]), (at_one - y[-1]) / (x[-1] - 1.0)
        if falls and beyond > before:
            straight.append(f"{before:.2f} a unit of ε up to 1, and {beyond:.2f} beyond ({case})")
        if max(y) < _LABELS[case] - _NEAR_FRR:
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
    plot = _draw_sweep((rows, rows), *axes)
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


def _draw_sweep(
    shown: tuple[Sequence[Row], Sequence[Row]], over: str, value: str, x: str, y: str
) -> Plot:
    """Draw the paper's two panels with P-FCB alone, and our systems below, on linear axes."""
    plot, drawn = cases_by_row(("as the paper", "ours beside"), 0.2, width=5.2)
    for (place, case), axes in drawn.items():
        names = (_NAMES, (_PUBLISHED,))[place == 0]
        draw_lines(axes, {name: _series(shown[place], case, name, over, value) for name in names})
        axes.set(xlabel=x, ylabel=y)
    for place in (0, 1):
        legend_beside(drawn[place, CASES[-1]])
    return plot
