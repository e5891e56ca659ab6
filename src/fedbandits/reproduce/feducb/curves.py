"""Figures 1B and 1C of Dubey & Pentland (2020): curves over communication and dimension."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.experiments.plots import line_style
from fedbandits.privacy.continual import MOST_RELEASES
from fedbandits.reproduce.engine import (
    Context,
    Outcome,
    Verdict,
    draw_curves,
    draw_lines,
    legend_beside,
    panels,
)
from fedbandits.reproduce.feducb import (
    ALONE,
    CLEAR,
    DELTA,
    PUBLISHED,
    SOUND,
    Played,
    Scale,
    falls,
    play,
    proved,
    world,
)
from fedbandits.settings.experiment import Variant

AGENTS = 100
DIMENSIONS = (5, 10, 15, 20)
#: Total communication in the paper's words, from least to most.
LEVELS = ("M^1.5", "M log T", "MT")
_IN_CLEAR: dict[str, Any] = {"privatizer": "none"}
_PRIVATE: dict[str, Any] = {"epsilon": 1.0, "delta": DELTA}
#: Most releases of the Toeplitz mechanism.
_MANY = 2_000
#: Powers of d that count as "essentially a quadratic dependence".
_QUADRATIC = (1.5, 2.5)


def sync_counts(rounds: int, agents: int) -> dict[str, int]:
    """Count the syncs of each level: its total over M, at most one a round but the last."""
    counts = (math.ceil(math.sqrt(agents)), math.ceil(math.log2(rounds)), rounds - 1)
    return {level: min(n, rounds - 1) for level, n in zip(LEVELS, counts, strict=True)}


def _levels(rounds: int) -> dict[str, dict[str, Variant]]:
    """Return the systems by panel, then by the name of the line; lines in clear are dashed."""
    groups: dict[str, dict[str, Variant]] = {"exact": {}, "trigger": {}, "ours": {}}
    for level, n in sync_counts(rounds, AGENTS).items():
        for tail, parts in (("", _PRIVATE), (", in clear", _IN_CLEAR)):
            tree = {"privatizer": "tree"} if n > _MANY and not tail else {}
            exactly, evenly = f"{n:,} syncs{tail}", f"evenly({n})"
            named, threshold = f"trigger {level}{tail}", f"determinant({level})"
            for group, preset, label, schedule, settings in (
                ("exact", PUBLISHED, f"published, {exactly}", evenly, parts),
                ("trigger", PUBLISHED, f"published, {named}", threshold, parts),
                ("ours", SOUND, f"sound, {exactly}", evenly, parts | tree),
            ):
                entry = proved(preset, label=label, schedule=schedule, **settings)
                groups[group][f"{level}{tail}"] = entry
    groups["ours"]["growing(1.5)"] = proved(SOUND, **_PRIVATE)
    groups["ours"]["growing(1.5), in clear"] = proved(CLEAR)
    return groups


def figure_1b(context: Context) -> Outcome:
    """Make regret over communication, private and in clear; curves over rounds."""
    scale = Scale.of(context)
    groups = _levels(scale.rounds)
    systems = [entry for group in groups.values() for entry in group.values()]
    (played,) = play(context, {0: ("levels", world(scale, AGENTS), systems)}, scale).values()
    rows = [
        {
            "syncs by": group,
            "communication": name,
            "system": entry.label,
            "syncs": round(played.syncs(entry.label), 1),
        }
        | played.row(entry.label)
        for group, entries in groups.items()
        for name, entry in entries.items()
    ]
    counts = sync_counts(scale.rounds, AGENTS)
    remarks = [
        scale.remark,
        f"M = {AGENTS}, ε = 1. The paper's orders are of all messages; divided by M they are taken "
        "for √M, ⌈log₂ T⌉ and T syncs. "
        + ", ".join(f"{level}: {n:,}" for level, n in counts.items())
        + ". In the first panel exactly so many, evenly spread (evenly(n); T - 1 of T, since one "
        "after the last round serves nobody); in the second the printed trigger at the threshold "
        "named so, with the syncs that it really made; in the third the sound variant.",
        "With n fixed in advance the published tree has 1 + ⌈log₂ n⌉ levels (Algorithm 2, line 2); "
        "under the trigger it has 1 + ⌈log₂ T⌉, however few syncs happen.",
        _trigger_remark(played, groups["trigger"], counts),
        f"The sound variant's noise is the least for its releases; above {MOST_RELEASES} it is "
        f"Toeplitz, and above {_MANY:,} a calibrated tree.",
        played.theorem_remark(groups["exact"]["M log T"].label),
    ]
    return Outcome(rows, _draw_1b(played, groups), remarks, _verdict_1b(played, groups))


def _trigger_remark(
    played: Played, trigger: Mapping[str, Variant], counts: Mapping[str, int]
) -> str:
    seen = ", ".join(
        f"{name}: {played.syncs(entry.label):,.0f} of {counts[name.split(', ')[0]]:,}"
        for name, entry in trigger.items()
    )
    return f"Syncs of the trigger, of those that its threshold is named for: {seen}."


def _verdict_1b(played: Played, groups: Mapping[str, Mapping[str, Variant]]) -> Verdict:
    """Judge whether more communication helps, with noise and in clear (Remark 1)."""

    def ends(group: str, tail: str) -> tuple[str, bool]:
        regrets = [played.final(groups[group][f"{level}{tail}"].label) for level in LEVELS]
        return " → ".join(f"{regret.mean:,.1f}" for regret in regrets), falls(regrets)

    private, private_falls = ends("exact", "")
    clear, clear_falls = ends("exact", ", in clear")
    ours, _ = ends("ours", "")
    said = (
        f"from {LEVELS[0]} over {LEVELS[1]} to {LEVELS[2]} regret an agent goes {clear} in clear "
        f"and {private} with the published noise"
    )
    reasons = [] if clear_falls else ["in clear more syncs do not help here"]
    if not private_falls:
        reasons.append(
            f"{played.shift(groups['exact']['MT'].label)}, and more releases make it larger"
        )
    why = f", because {' and '.join(reasons)}" if reasons else ""
    line = f"{said}{why}; the sound variant: {ours}."
    if not clear_falls:  # the shift is no explanation
        return Verdict(False, line)
    return played.judged(groups["exact"]["MT"].label, private_falls, line)


def _draw_1b(played: Played, groups: Mapping[str, Mapping[str, Variant]]) -> Plot:
    plot, axes = panels(2, 2, width=6.4, height=3.8)
    titles = ("as published, exactly n syncs", "as published, printed trigger", "sound variant")
    for panel, title, entries in zip(axes, titles, groups.values(), strict=False):
        curves, styles = {}, {}
        for name, entry in entries.items():
            colour = LEVELS.index(level) if (level := name.split(", in")[0]) in LEVELS else 3
            label = f"{name} ({played.syncs(entry.label):,.0f} syncs)"
            curves[label] = played.curve(entry.label)
            styles[label] = line_style(colour) | {"linestyle": "--" if "clear" in name else "-"}
        draw_curves(panel, curves, styles)
        panel.set(title=title)
    entries = groups["exact"]
    chosen = {n: entries[n].label for n in ("M log T", "M log T, in clear")}
    for index, (name, label) in enumerate(chosen.items()):
        _beside_theorem(axes[3], played, label, name, index)
    _draw_most(axes[3], played)
    axes[3].set(title="Theorem 1, dashed")
    _finish(axes)
    return plot


def figure_1c(context: Context) -> Outcome:
    """Make regret over the dimension; curves over rounds."""
    scale = Scale.of(context)
    systems = [proved(preset, **_PRIVATE) for preset in (PUBLISHED, SOUND)]
    systems += [proved(CLEAR), proved(ALONE)]
    runs = play(
        context, {d: (f"d-{d}", world(scale, AGENTS, d), systems) for d in DIMENSIONS}, scale
    )
    rows = [
        {"d": d, "K": min(scale.arms, d * d), **played.row(entry.label)}
        for d, played in runs.items()
        for entry in systems
    ]
    remarks = [
        scale.remark,
        f"M = {AGENTS}, ε = 1, the trigger's M log T. The paper does not state its d.",
        *(
            f"{entry.label}: regret grows about like d^{power(runs, entry.label):.1f}."
            for entry in systems
        ),
        runs[DIMENSIONS[-1]].theorem_remark(PUBLISHED),
    ]
    return Outcome(rows, _draw_1c(runs, systems), remarks, _verdict_1c(runs))


def power(runs: Mapping[int, Played], label: str) -> float:
    """Fit the p with which regret at the end grows like d^p, on logarithms."""
    regret = [played.final(label).mean for played in runs.values()]
    return float(np.polyfit(np.log(list(runs)), np.log(regret), 1)[0])


def _verdict_1c(runs: Mapping[int, Played]) -> Verdict:
    """Judge whether regret depends on the dimension essentially by its square."""
    powers = {label: power(runs, label) for label in (PUBLISHED, SOUND, CLEAR, ALONE)}
    agrees = _QUADRATIC[0] <= powers[PUBLISHED] <= _QUADRATIC[1]
    last = list(runs.values())[-1]
    random = last.final(PUBLISHED).mean / (0.2 * last.experiment.rounds)
    because = (
        ""
        if agrees
        else f", because it plays nearly at random (it loses {random:.0%} of the 0.2 a round that "
        f"a random ordinary arm costs), which costs the same in every d: {last.shift(PUBLISHED)}"
    )
    others = ", ".join(f"{label} d^{powers[label]:.1f}" for label in (SOUND, CLEAR, ALONE))
    return last.judged(
        PUBLISHED,
        agrees,
        f"the paper sees 'essentially a quadratic dependence'; {PUBLISHED} grows like "
        f"d^{powers[PUBLISHED]:.1f}{because}; {others}.",
    )


def _draw_1c(runs: Mapping[int, Played], systems: Sequence[Variant]) -> Plot:
    plot, axes = panels(2, 2, width=6.0, height=3.8)
    styles = {f"d = {d}": line_style(index) for index, d in enumerate(runs)}
    for panel, label in zip(axes, (PUBLISHED, SOUND), strict=False):
        draw_curves(panel, {f"d = {d}": run.curve(label) for d, run in runs.items()}, styles)
        panel.set(title=label)
    _finish(axes[:2])
    ends = {
        s.label: (list(runs), [run.final(s.label).mean for run in runs.values()]) for s in systems
    }
    draw_lines(axes[2], ends)
    least = ends[SOUND][1][0]
    axes[2].plot(
        list(runs), [least * (d / min(runs)) ** 2 for d in runs], ":", color="black", label="d²"
    )
    axes[2].set(title="at T", xlabel="dimension d", ylabel="regret an agent", xscale="log")
    axes[2].set(yscale="log", xticks=list(runs), xticklabels=[str(d) for d in runs])
    axes[2].minorticks_off()
    legend_beside(axes[2])
    for index, (d, run) in enumerate(runs.items()):
        _beside_theorem(axes[3], run, PUBLISHED, f"d = {d}", index)
    _draw_most(axes[3], runs[DIMENSIONS[0]])
    axes[3].set(title=f"{PUBLISHED} and Theorem 1, dashed")
    _finish(axes[3:])
    return plot


def _beside_theorem(axes: Axes, played: Played, label: str, name: str, index: int) -> None:
    """Draw measurements, solid, and Theorem 1 as printed, dashed in the same colour."""
    look = line_style(index)
    draw_curves(axes, {name: played.curve(label)}, {name: look})
    limits = played.theorem(label)
    axes.plot(limits["round"], limits, **look | {"linestyle": "--", "linewidth": 1.4})


def _draw_most(axes: Axes, played: Played) -> None:
    rounds: xr.DataArray = played.result["round"]
    most = played.most / played.experiment.rounds
    axes.plot(rounds, most * rounds, ":", color="black", label="the most that can be")


def _finish(axes: Sequence[Axes]) -> None:
    settings: dict[str, Any] = {
        "xlabel": "round", "ylabel": "regret an agent", "xscale": "log", "yscale": "log",
    }  # fmt: skip
    for panel in axes:
        panel.set(**settings)
        legend_beside(panel)
