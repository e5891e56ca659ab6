"""Figures 1A and 2 of Dubey & Pentland (2020): regret at the end, over budget, agents and gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.experiments.plots import line_style
from fedbandits.reproduce.engine import Context, Measured, Outcome, Verdict, legend_beside, panels
from fedbandits.reproduce.feducb.runs import (
    ALONE,
    CLEAR,
    DELTA,
    PUBLISHED,
    SOUND,
    Played,
    Scale,
    falls,
    play,
    world,
)
from fedbandits.settings.experiment import Variant, system

#: Figure 1A: agents, and the budgets of either figure.
AGENTS = (10, 25, 50, 100)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
#: Figure 2: gaps; 0.3 would need ‖θ*‖ = 1.
GAPS = (0.05, 0.1, 0.15, 0.2, 0.25)
GAP_EPSILONS = (0.1, 1.0, 10.0)
_ROUNDS_OF_GAPS, _REPLICATES_OF_GAPS = 60_000, 8


def _label(preset: str, epsilon: float) -> str:
    return f"{preset}, ε = {epsilon:g}"


def _systems(epsilons: Sequence[float]) -> list[Variant]:
    private = [
        system(preset, label=_label(preset, epsilon), epsilon=epsilon, delta=DELTA)
        for preset in (PUBLISHED, SOUND)
        for epsilon in epsilons
    ]
    return [*private, system(CLEAR), system(ALONE)]


def _rows(name: str, runs: Mapping[float, Played]) -> list[dict[str, Any]]:
    rows = []
    for point, played in runs.items():
        plans = dict(zip(played.result.system.values, played.experiment.check(), strict=True))
        for entry in played.experiment.systems:
            found, bounds = played.final(entry.label), plans[entry.label].bounds
            theorem = entry.preset != SOUND and entry.preset != ALONE
            rows.append(
                {
                    name: point,
                    "system": entry.label,
                    "regret an agent": round(found.mean, 1),
                    "standard error": round(found.error, 1),
                    "syncs": round(played.syncs(entry.label), 1),
                    "rho_min": round(bounds.rho_min) if bounds else "",
                    "Theorem 1 an agent": (
                        round(float(played.theorem(entry.label)[-1])) if theorem else ""
                    ),
                }
            )
    return rows


def figure_1a(context: Context) -> Outcome:
    """Make regret over the privacy budget, a line for every number of agents."""
    scale = Scale.of(context)
    systems = _systems(EPSILONS)
    table: dict[float, Any] = {m: (f"M-{m}", world(scale, m), systems) for m in AGENTS}
    runs = play(context, table, scale)
    plot = _draw_1a(runs)
    few, many = AGENTS[0], AGENTS[-1]
    alone, clear = (runs[many].final(label).mean for label in (ALONE, CLEAR))
    remarks = [
        scale.remark,
        "The paper states neither its ε nor its M. Its panel is drawn first: regret an agent over "
        "ε, a line an M; then the sound variant's, with learning alone and in clear; then what "
        "Theorem 1 promises, dashed.",
        *(
            f"{_label(preset, e)}: {runs[few].final(_label(preset, e)).mean:,.0f} an agent at M = "
            f"{few}, {runs[many].final(_label(preset, e)).mean:,.0f} at M = {many}."
            for preset in (PUBLISHED, SOUND)
            for e in EPSILONS
        ),
        f"At M = {many} an agent alone has {alone:,.0f}, together in clear {clear:,.0f}.",
        runs[many].theorem_remark(_label(PUBLISHED, 1.0)),
    ]
    return Outcome(_rows("M", runs), plot, remarks, _verdict_1a(runs))


def _verdict_1a(runs: Mapping[float, Played]) -> Verdict:
    """Judge whether regret falls with ε and M, and the published variant beats learning alone."""
    many, (low, *_, high) = max(runs), EPSILONS
    with_epsilon = {
        preset: all(
            runs[m].final(_label(preset, high)).clearly_below(runs[m].final(_label(preset, low)))
            for m in runs
        )
        for preset in (PUBLISHED, SOUND)
    }
    with_agents = {
        preset: all(falls([runs[m].final(_label(preset, e)) for m in runs]) for e in EPSILONS[1:])
        for preset in (PUBLISHED, SOUND)
    }
    alone = runs[many].final(ALONE)
    ratio = {p: runs[many].final(_label(p, 1.0)).mean / alone.mean for p in (PUBLISHED, SOUND)}
    said = [
        f"{preset}'s regret {'falls' if with_epsilon[preset] else 'does not fall'} with ε, "
        f"{'falls' if with_agents[preset] else 'does not fall'} with M, and is {ratio[preset]:.2g} "
        f"times that of learning alone at ε = 1, M = {many:g}"
        for preset in (PUBLISHED, SOUND)
    ]
    agrees = with_epsilon[PUBLISHED] and with_agents[PUBLISHED] and ratio[PUBLISHED] < 1.0
    because = "" if agrees else f", because {runs[many].shift(_label(PUBLISHED, 1.0))}"
    return Verdict(agrees, f"{said[0]}{because}; {said[1]}.")


def _draw_1a(runs: Mapping[float, Played]) -> Plot:
    plot, axes = panels(1, 3, width=4.9)
    for each, preset in zip(axes, (PUBLISHED, SOUND), strict=False):
        for index, (m, played) in enumerate(runs.items()):
            found = [played.final(_label(preset, e)) for e in EPSILONS]
            _points(each, EPSILONS, found, f"M = {m:g}", index)
        each.set(title=preset)
    _levels(axes[1], runs[max(runs)], f"M = {max(runs):g}")
    for index, (m, played) in enumerate(runs.items()):
        _beside_theorem(axes[2], EPSILONS, [(played, e) for e in EPSILONS], f"M = {m:g}", index)
    axes[2].axhline(
        runs[max(runs)].most, color="black", linestyle=":", label="the most that can be"
    )
    axes[2].set(title="Theorem 1, dashed")
    _finish(axes, "privacy budget ε", log=True)
    return plot


def figure_2(context: Context) -> Outcome:
    """Make regret over the gap of the best arm, a line for every budget."""
    scale = Scale.of(context, _ROUNDS_OF_GAPS, _REPLICATES_OF_GAPS)
    systems = _systems(GAP_EPSILONS)
    runs = play(context, {g: (f"gap-{g:g}", world(scale, 10, gap=g), systems) for g in GAPS}, scale)
    remarks = [
        scale.remark,
        "The paper states neither its Δ nor its budgets; it names them ρ_min, which is Λ: the "
        "table gives it for every ε. 0.3 is left out: in the ball no θ* would be long enough.",
        *_spreads(runs),
        "An arm that is better by more also costs more each time it is missed; where nothing is "
        "learned in time, regret grows with the gap.",
        runs[0.1].theorem_remark(_label(PUBLISHED, 1.0)),
    ]
    return Outcome(_rows("gap", runs), _draw_2(runs), remarks, _verdict_2(runs))


def _ratio(runs: Mapping[float, Played], preset: str, gap: float) -> float:
    """Return regret at the smallest budget over that at the largest."""
    low, high = (
        runs[gap].final(_label(preset, e)).mean for e in (GAP_EPSILONS[0], GAP_EPSILONS[-1])
    )
    return low / high


def _spreads(runs: Mapping[float, Played]) -> list[str]:
    return [
        f"{preset}: regret at ε = {GAP_EPSILONS[0]:g} over that at ε = {GAP_EPSILONS[-1]:g}, by "
        "gap " + ", ".join(f"{gap:g}: {_ratio(runs, preset, gap):.2f}" for gap in runs)
        for preset in (PUBLISHED, SOUND)
    ]


def _verdict_2(runs: Mapping[float, Played]) -> Verdict:
    """Judge whether regret falls as the gap grows, and depends less on the budget."""
    small, large = min(runs), max(runs)
    said, holds = [], {}
    for preset in (PUBLISHED, SOUND):
        label = _label(preset, 1.0)
        ends = [runs[gap].final(label) for gap in (small, large)]
        less = _ratio(runs, preset, large) < _ratio(runs, preset, small)
        holds[preset] = ends[1].clearly_below(ends[0]) and less
        said.append(
            f"{preset} at ε = 1 goes from {ends[0].mean:,.0f} at Δ = {small:g} to "
            f"{ends[1].mean:,.0f} at {large:g}, and depends {'less' if less else 'no less'} on ε "
            f"(ratio {_ratio(runs, preset, small):.2f} to {_ratio(runs, preset, large):.2f})"
        )
    early = runs[large].shift(_label(PUBLISHED, 1.0))
    because = "" if holds[PUBLISHED] else f", because {early}, and every miss costs more"
    return Verdict(holds[PUBLISHED], f"{said[0]}{because}; {said[1]}.")


def _draw_2(runs: Mapping[float, Played]) -> Plot:
    plot, axes = panels(1, 3, width=4.9)
    gaps = list(runs)
    for each, preset in zip(axes, (PUBLISHED, SOUND), strict=False):
        for index, epsilon in enumerate(GAP_EPSILONS):
            found = [runs[gap].final(_label(preset, epsilon)) for gap in gaps]
            _points(each, gaps, found, f"ε = {epsilon:g}", index)
        each.set(title=preset)
    for index, label in enumerate((CLEAR, ALONE)):
        _points(axes[1], gaps, [runs[gap].final(label) for gap in gaps], label, 6 + index)
    for index, epsilon in enumerate(GAP_EPSILONS):
        places = [(runs[gap], epsilon) for gap in gaps]
        _beside_theorem(axes[2], gaps, places, f"ε = {epsilon:g}", index)
    axes[2].plot(
        gaps, [runs[g].most for g in gaps], ":", color="black", label="the most that can be"
    )
    axes[2].set(title="Theorem 1, dashed")
    _finish(axes, "gap Δ", log=False)
    return plot


def _points(
    axes: Axes, x: Sequence[float], found: Sequence[Measured], label: str, index: int
) -> None:
    axes.errorbar(
        x, [f.mean for f in found], [f.error for f in found], marker=".", label=label,
        **line_style(index),
    )  # fmt: skip


def _beside_theorem(
    axes: Axes, x: Sequence[float], places: Sequence[tuple[Played, float]], label: str, index: int
) -> None:
    """Draw the published variant, solid, and Theorem 1, dashed in its colour."""
    names = [_label(PUBLISHED, epsilon) for _, epsilon in places]
    runs = [played for played, _ in places]
    _points(axes, x, [r.final(n) for r, n in zip(runs, names, strict=True)], label, index)
    limits = [float(r.theorem(n)[-1]) for r, n in zip(runs, names, strict=True)]
    axes.plot(x, limits, **line_style(index) | {"linestyle": "--", "linewidth": 1.4})


def _levels(axes: Axes, played: Played, where: str) -> None:
    for label, style in ((ALONE, "-."), (CLEAR, ":")):
        axes.axhline(
            played.final(label).mean, color="black", linestyle=style, label=f"{label}, {where}"
        )


def _finish(axes: Sequence[Axes], x: str, log: bool) -> None:
    for each in axes:
        each.set(xlabel=x, ylabel="regret an agent at T", yscale="log")
        if log:
            each.set_xscale("log")
        legend_beside(each)
