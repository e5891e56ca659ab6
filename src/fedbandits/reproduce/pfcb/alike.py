"""Figure 2 of Solanki et al. (2022): buyers that are alike and not, and Theorem 1 beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Procurement
from fedbandits.experiments.plots import draw_bounds, line_style
from fedbandits.experiments.theory import Comparison, compare
from fedbandits.reproduce.context import Context, Outcome, Verdict
from fedbandits.reproduce.drawing import legend_beside, panels
from fedbandits.reproduce.pfcb.runs import (
    ALONE,
    CASES,
    FLOOR,
    NO_IMAGES,
    TITLES,
    UNSTATED,
    Scale,
    experiment_of,
    play,
    row,
)
from fedbandits.settings.experiment import Variant, system
from fedbandits.systems.theory import Bound

_ALGORITHM_1, _SOUND = "homogeneous-fcb", "pfcb"
_KINDS = ("homogeneous", "heterogeneous")
_DEVIATION = 0.1
#: Two FRR are quite similar if they differ by no more.
_SIMILAR = 0.1


def figure_2(context: Context) -> Outcome:
    """FRR over rounds without privacy, buyers alike and not."""
    scale = Scale.of(context, 2)
    systems = [system(name) for name in (ALONE, _ALGORITHM_1, FLOOR, _SOUND)]
    rows: list[dict[str, Any]] = []
    curves, first = {}, {}
    for case in CASES:
        for kind in _KINDS:
            world = Procurement(case=case, deviation=_DEVIATION, homogeneous=kind == "homogeneous")
            result = play(context, f"{case}-{kind}", world, systems, scale)
            rows += [row(result, entry.label, case=case, buyers=kind) for entry in systems[1:]]
            mean = result.regret.mean(("instance", "replicate", "party"))
            curves[case, kind] = mean / mean.sel(system=ALONE)
            if kind == "homogeneous":
                first[case] = result.isel(instance=0)
    bounds = {case: _bounds(case, systems, scale) for case in CASES}
    found = [compare(first[case], bounds[case]) for case in CASES]
    remarks = [NO_IMAGES, UNSTATED, *_theory(found)]
    return Outcome(rows, _draw(curves, first, bounds), remarks, _verdict(rows))


def _bounds(case: str, systems: Sequence[Variant], scale: Scale) -> dict[str, Sequence[Bound]]:
    """Theorem 1 in the first instance with buyers alike: of Algorithm 1, and of n = 1."""
    world = Procurement(case=case, deviation=_DEVIATION, homogeneous=True)
    return experiment_of(world, 0, systems[:2], scale).bounds()


def _theory(found: Sequence[Sequence[Comparison]]) -> list[str]:
    return [
        f"{case}, {each.label}: {each.bound.theorem.rpartition(', ')[2]} promises at least "
        f"{each.limit:.2g} of regret for all buyers, {each.measured:,.0f} is measured "
        f"({each.measured / each.limit:.1g} of it): {each.verdict}."
        for case, of_one in zip(CASES, found, strict=True)
        for each in of_one
    ]


def _verdict(rows: Sequence[dict[str, Any]]) -> Verdict:
    """The paper: both are below 1, and their trends quite similar."""
    ends = {case: _ends(rows, case, "FRR") for case in CASES}
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
        alike, other = _ends(rows, case, "FRR after exploration")
        why += (
            f"; after the exploration, whose regret is the same for all, they are {alike:.2f} and "
            f"{other:.2f} ({case})"
        )
    if above:
        why += f"; sharing costs more than it brings ({', '.join(above)})"
    return Verdict(not apart and not above, f"{why}.")


def _ends(rows: Sequence[dict[str, Any]], case: str, what: str) -> tuple[float, float]:
    """A ratio of Algorithm 1's where buyers are alike, and where they are not."""
    found = {
        r["buyers"]: float(r[what])
        for r in rows
        if (r["case"], r["system"]) == (case, _ALGORITHM_1)
    }
    return found["homogeneous"], found["heterogeneous"]


def _draw(
    curves: Mapping[tuple[str, str], xr.DataArray],
    first: Mapping[str, xr.Dataset],
    bounds: Mapping[str, Mapping[str, Sequence[Bound]]],
) -> Plot:
    """The paper's two panels; below them ours; below those Theorem 1."""
    plot, axes = panels(3, len(CASES), width=5.8)
    printed, ours = (_ALGORITHM_1,), (_ALGORITHM_1, FLOOR, _SOUND)
    for index, case in enumerate(CASES):
        title = TITLES[case].format(_DEVIATION)
        for place, labels, whose in ((0, printed, "as the paper"), (1, ours, "ours beside")):
            each = axes[place * len(CASES) + index]
            lines = [(label, kind) for label in labels for kind in _KINDS]
            for number, (label, kind) in enumerate(lines):
                curve = curves[case, kind].sel(system=label)
                look = line_style(number // 2) | {"linestyle": ("-", "--")[number % 2]}
                if place == 0:
                    look = line_style(number)
                name = kind if place == 0 else f"{label}, {kind}"
                each.plot(curve["round"], curve, label=name, **look)
            each.set(xlabel="round", ylabel="FRR", ylim=(0.0, None), title=f"{title}, {whose}")
            each.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
            if index == len(CASES) - 1:
                legend_beside(each)
        below = axes[2 * len(CASES) + index]
        draw_bounds(below, first[case], bounds[case], "regret")
        below.set(xlabel="round", title=f"{title}, Theorem 1, one instance")
        if index == len(CASES) - 1:
            legend_beside(below)
        elif drawn := below.get_legend():
            drawn.remove()
    return plot
