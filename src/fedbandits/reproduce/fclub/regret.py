"""Regret of FCLUB over rounds (Figure 2 of Liu et al. 2022), and values from which FCLUB pays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Clustered
from fedbandits.experiments.plots import draw_bounds
from fedbandits.reproduce.engine import (
    Context,
    Law,
    Measured,
    Outcome,
    Row,
    Verdict,
    count_in_thousands,
    draw_curves,
    draw_rows,
    grouped,
    legend_beside,
    panels,
    styles_of,
    tick_values,
    verdict_of,
    where,
)
from fedbandits.reproduce.fclub import (
    ALONE,
    AS_RUN,
    BUDGET,
    CLUSTERS,
    DELTA,
    EPSILON,
    LOCAL,
    POINTS,
    PUBLISHED,
    SMALL_DELTA,
    Scale,
    at_end,
    drawn_world,
    experiment_of,
    given_path,
    given_world,
    total_regret,
)
from fedbandits.settings.experiment import Experiment, Variant, system

_CHECKPOINTS = 240
_MARKS = (5_000, 20_000, 50_000, 100_000, 500_000, 1_000_000)
#: Regret at 5,000, 20,000, 50,000 and 100,000 rounds of the authors' code, one seed each.
AUTHORS = {
    "synthetic": {
        "fclub-dc": (149, 247, 326, 385),
        "sclub": (350, 766, 1064, 1325),
        "club": (516, 937, 1225, 1496),
        "linucb-per-user": (517, 980, 1310, 1570),
        "homo-dc": (364, 709, 932, 1146),
    },
    "MovieLens": {
        "fclub-dc": (328, 788, 1189, 1329),
        "sclub": (400, 957, 1392, 1739),
        "club": (478, 1025, 1471, 1839),
        "linucb-per-user": (479, 991, 1397, 1748),
        "homo-dc": (393, 1064, 2141, 3817),
    },
}
#: Largest accepted regret, in units of learning alone.
WORST = 1.05
_MEASURES = (
    "The adjusted Rand index of fclub compares users of one server at a time; that of the other "
    "systems compares all users, so the two cannot be held against each other."
)
_NO_NOISE = (
    "The authors' code does not add the noise that it draws, so the paper's curve of CDP-FCLUB-DC "
    f"is one without privacy: {AS_RUN} plays what their code runs, {PUBLISHED} adds the noise."
)
#: Baselines that the paper's private system beats by its text, and systems a little better.
_BASELINES, _BETTER = ("sclub", "club", ALONE, "homo", "homo-dc"), ("fclub-sync", "fclub-dc")
_HOMO = ("homo", "homo-dc")
#: Largest factor of a regret that is "a little worse".
_LITTLE = 1.5
#: The last doubling of T multiplies a regret that grows linearly by 2; with a tenth to spare.
_LINEAR = 1.8
#: The paper's curves, then ours.
_PAPERS = (AS_RUN, *_BETTER, "sclub", "club", ALONE, "homo", "homo-dc")
_RATIO = "ratio"  # to learning alone
_GROWTH = "growth"  # regret at the end over that at half of the rounds
_SMALL = f"fclub, δ = {SMALL_DELTA:g}"
_OURS = (PUBLISHED, "fclub", _SMALL, AS_RUN, ALONE)


def figure_2a(context: Context) -> Outcome:
    """Make regret with synthetic users."""
    path = given_path(context)
    world = drawn_world() if path is None else given_world(path, whole=True)
    where = (
        "Users are drawn anew in every replicate, in place of the paper's file; placed together, "
        "each server has one cluster, so no server's users have anything to learn from another's."
        if path is None
        else "The given users are the same in every replicate, on servers as they come."
    )
    return _regret(context, world, Scale.of(context), where, "synthetic", synthetic=True)


def figure_2b(context: Context) -> Outcome:
    """Make regret with users of a file."""
    path, scale = given_path(context), Scale.of(context)
    if path is None:
        where = (
            "A stand-in, NOT the paper's MovieLens: users are drawn, in 5 clusters that lie on "
            "all servers. Give vectors (.npy) or ratings with --data."
        )
        outcome = _regret(context, drawn_world("spread"), scale, where)
        outcome.plot.suptitle("stand-in: drawn users, not MovieLens", fontsize=10)
        return outcome
    if context.full:
        scale = scale._replace(rounds=2_000_000)
    world = given_world(path, whole=context.full)
    where = (
        f"{world.parties} users in {world.cluster_count} clusters on {world.servers} servers, as "
        "they come."
    )
    return _regret(context, world, scale, where, "" if context.full else "MovieLens")


def _regret(
    context: Context,
    world: Clustered,
    scale: Scale,
    where: str,
    authors: str = "",
    synthetic: bool = False,
) -> Outcome:
    """Play all systems, beside the authors' numbers of a world, if there are such."""
    systems = [
        system("fclub", **BUDGET),
        system("fclub", label=_SMALL, epsilon=EPSILON, delta=SMALL_DELTA),
        system(PUBLISHED, **BUDGET),
        system(AS_RUN, **BUDGET),
        *(system(preset) for preset in (*_BETTER, *_BASELINES)),
    ]
    result = context.run("regret", experiment_of(world, systems, scale, _CHECKPOINTS))
    alone = at_end(result, ALONE).mean
    rows = [_row(result, entry.label, alone) for entry in systems]
    published = [entry for entry in systems if entry.label == PUBLISHED]
    bounds = experiment_of(world, published, scale).bounds()
    beside = _beside_authors(rows, authors)
    remarks = [where, *_worse_than_alone(rows), _NO_NOISE, _MEASURES, *beside]
    return Outcome(rows, _draw_regret(result, bounds), remarks, verdict_on_curves(rows, synthetic))


def _row(result: xr.Dataset, label: str, alone: float) -> Row:
    regret, last = total_regret(result, label), int(result["round"][-1])
    row: Row = {"system": label}
    for mark in [mark for mark in _MARKS if mark < last] + [last]:
        at_mark = Measured.of(regret.interp(round=mark))
        row[f"{mark:,}"] = round(at_mark.mean)
    end = result.sel(system=label).isel(round=-1)
    return row | {
        "deviation": round(at_mark.deviation),
        _RATIO: round(at_mark.mean / alone, 3),
        _GROWTH: round(at_mark.mean / float(regret.interp(round=last / 2).mean()), 3),
        "Rand index": round(float(end.adjusted_rand_index.mean()), 3),
        "messages": round(float(end.messages.mean())),
        "MB": round(float(end.bytes.mean()) / 1e6, 1),
    }


def _worse_than_alone(rows: Sequence[Row]) -> Iterator[str]:
    """Compare private systems with learning alone."""
    ratio = {row["system"]: row[_RATIO] for row in rows}
    for label in ("fclub", _SMALL, PUBLISHED):
        verdict = "at most" if ratio[label] <= WORST else "MORE THAN"
        yield f"{label}: {ratio[label]} × {ALONE}, {verdict} {WORST} ×."


def verdict_on_curves(rows: Sequence[Row], synthetic: bool) -> Verdict:
    """Judge every sentence of section 5 on the order of curves.

    Parameters
    ----------
    rows
        A row for each system: its ``ratio`` to learning alone, and its ``growth``, regret at the
        end over regret at half of the rounds.
    synthetic
        True for Figure 2a, which adds: CDP-FCLUB-DC is *a little* worse than the systems without
        noise, and Homo and Homo-DC suffer linear regret.
    """
    laws = {"baselines": _below_baselines(rows), "worse": _worse(rows, synthetic)}
    if synthetic:
        laws["linear"] = _linear(rows)
    return verdict_of(laws)


def _below_baselines(rows: Sequence[Row]) -> Law:
    """Judge whether CDP-FCLUB-DC is below all baselines."""
    ratio = {row["system"]: row[_RATIO] for row in rows}
    noisy, run = ratio[PUBLISHED], ratio[AS_RUN]
    lost = [name for name in _BASELINES if noisy >= ratio[name]]
    lost_as_run = [name for name in _BASELINES if run >= ratio[name]]
    said = f"CDP-FCLUB-DC lies below every baseline (with its noise it has {noisy:.3g} × {ALONE}"
    if not lost:
        return Law(True, f"{said})")
    beaten = f"all but {', '.join(lost_as_run)}" if lost_as_run else "all of them"
    return Law(
        False,
        f"{said} and loses to {', '.join(lost)}; what the authors' code runs, without the noise, "
        f"has {run:.2g} × and beats {beaten}; fclub, whose noise is added too, has "
        f"{ratio['fclub']:.2g} ×)",
    )


def _worse(rows: Sequence[Row], a_little: bool) -> Law:
    """Judge whether CDP-FCLUB-DC is worse than FCLUB and FCLUB-DC, as drawn and with noise."""
    said, allowed = ("a little worse", _LITTLE) if a_little else ("worse", math.inf)
    ratio = {row["system"]: row[_RATIO] for row in rows}
    least, most = (pick(ratio[name] for name in _BETTER) for pick in (min, max))
    holds = {
        label: most < ratio[label] and ratio[label] <= allowed * least
        for label in (AS_RUN, PUBLISHED)
    }
    worse = {
        label: "better, the reverse" if ratio[label] < least else "worse, and not a little"
        for label in holds
    }
    words = {label: said if good else worse[label] for label, good in holds.items()}
    others = " and ".join(f"{name} {ratio[name]:.2g} ×" for name in _BETTER)
    return Law(
        all(holds.values()),
        f"CDP-FCLUB-DC is {said} than FCLUB and FCLUB-DC ({others}; what the authors' code "
        f"runs has {ratio[AS_RUN]:.2g} ×: {words[AS_RUN]}; with the noise {ratio[PUBLISHED]:.3g} "
        f"×: {words[PUBLISHED]})",
    )


def _linear(rows: Sequence[Row]) -> Law:
    """Judge whether regret of Homo and Homo-DC is linear: half of it comes in the second half."""
    growth = {row["system"]: row[_GROWTH] for row in rows if row["system"] in _HOMO}
    said = ", ".join(f"{name} {value:.2f}" for name, value in growth.items())
    return Law(
        min(growth.values()) >= _LINEAR,
        f"Homo and Homo-DC suffer linear regret (regret at the end over that at half time: {said}; "
        "2 would be linear)",
    )


def _beside_authors(rows: Sequence[Row], world: str) -> Iterator[str]:
    """Compare with numbers of the authors' code, as far as this run is long enough."""
    by_system = {row["system"]: row for row in rows}
    for theirs, stated in AUTHORS.get(world, {}).items():
        for label in (AS_RUN, theirs) if theirs == "fclub-dc" else (theirs,):
            pairs = [
                f"{by_system[label][f'{mark:,}']:,.0f} ({number:,})"
                for mark, number in zip(_MARKS, stated, strict=False)
                if f"{mark:,}" in by_system[label]
            ]
            yield (
                f"{label}, here (authors' {theirs}, one seed, their {world} file): "
                + ", ".join(pairs)
            )


def _draw_regret(result: xr.Dataset, bounds: dict[str, Any]) -> Plot:
    """Draw the paper's curves on its axes, noise and ours on logarithmic ones, and the theorem."""
    plot, (papers, ours, theory) = panels(1, 3, width=6.4, height=4.6)
    looks = styles_of(list(dict.fromkeys((*_OURS, *_PAPERS))))
    _draw_panel(papers, result, _PAPERS, looks)
    ends = {label: float(total_regret(result, label).isel(round=-1).mean()) for label in _PAPERS}
    papers.set(title="as the paper draws it", ylim=(0, 1.9 * ends[ALONE]))
    _draw_panel(ours, result, _OURS, looks)
    early = float(result["round"][-1]) / 100
    starts = [total_regret(result, x).mean("replicate").interp(round=early) for x in _OURS]
    ours.set(title="with its noise, and ours", yscale="log")
    ours.set_ylim(bottom=0.7 * max(float(min(starts)), 1e-2))
    draw_bounds(theory, result, bounds, "regret")
    theory.set(title="Theorem 1, constants 1", xlabel="round", ylabel="regret of all users")
    legend_beside(theory)
    return plot


def _draw_panel(
    axes: Axes, result: xr.Dataset, labels: Sequence[str], looks: dict[str, dict[str, Any]]
) -> None:
    draw_curves(axes, {label: total_regret(result, label) for label in labels}, looks)
    axes.set(xlabel="round", ylabel="cumulative regret of all users")
    axes.set_xlim(0, float(result["round"][-1]))
    count_in_thousands(axes, "x")
    axes.tick_params(axis="x", labelsize=8)
    legend_beside(axes)


class Pays(NamedTuple):
    """The points at which collaboration is compared with its absence."""

    epsilons: Sequence[float]  # values of ε, with 40 users and the rounds of the scale
    rounds: Sequence[int]  # horizons T, with 40 users
    users: Sequence[int]  # numbers of users in 5 clusters, with the rounds a user of 40 users


QUICK = Pays((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (20_000, 50_000, 131_071, 300_000), (20, 40, 80, 160))
FULL = Pays(
    (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    (10_000, 20_000, 50_000, 131_071, 300_000, 1_000_000),
    (20, 40, 80, 160, 320),
)
_DELTAS = (SMALL_DELTA, DELTA)


def _private(epsilon: float, delta: float) -> Variant:
    label = f"fclub, ε = {epsilon:g}, δ = {delta:g}"
    return system("fclub", label=label, epsilon=epsilon, delta=delta)


def pays(context: Context) -> Outcome:
    """Compare regret with private releases with regret of every server by itself."""
    points, scale = FULL if context.full else QUICK, Scale.of(context)
    sizes = [("epsilon", 40, scale.rounds, tuple(points.epsilons))]
    sizes += [("T", 40, rounds, (EPSILON,)) for rounds in points.rounds]
    sizes += [
        ("users a cluster", users, max(2, scale.rounds * users // 40), (EPSILON,))
        for users in points.users
    ]
    table = {size: _cell(*size, scale) for size in sizes}
    results = context.played(table)
    rows = [row for size, result in results.items() for row in _ratios(result, *size)]
    remarks = [
        "Every cluster lies on all 5 servers. Ratios below 1: noisy sums of other servers' users "
        f"help. Where they are not varied ε = {EPSILON:g}, T = {scale.rounds:,} and 40 users; "
        "with more users T grows in proportion, so that rounds a user stay.",
        *_thresholds(rows),
        f"δ = {DELTA:g} is the paper's; a promise that may fail for every tenth record is none to "
        f"rely on, hence {SMALL_DELTA:g} beside it.",
    ]
    return Outcome(rows, _draw_pays(rows), remarks, _verdict(rows))


def _verdict(rows: Sequence[Row]) -> Verdict:
    """Judge the paper's message, that private collaboration pays, at its own ε, δ and T."""
    (papers,) = where(rows, over="epsilon", epsilon=EPSILON, delta=DELTA)
    ratio, error = papers["ratio"], papers["standard error"]
    return Verdict(
        ratio + 2.0 * error < 1.0,
        f"at ε = {EPSILON:g}, δ = {DELTA:g} collaboration with noise that is really added has "
        f"{ratio} ± {error} of the regret of every server by itself. The paper says that it pays, "
        "and shows it without the noise.",
    )


def _cell(
    over: str, users: int, rounds: int, epsilons: Sequence[float], scale: Scale
) -> tuple[str, Experiment]:
    """Make one experiment of the table, and the name of its folder."""
    private = [_private(epsilon, delta) for epsilon in epsilons for delta in _DELTAS]
    name = f"{over.replace(' ', '-')}-{users}-users-{rounds}-rounds"
    world, long = drawn_world("spread", users), scale._replace(rounds=rounds)
    return name, experiment_of(world, [system(LOCAL), *private], long)


def _ratios(
    result: xr.Dataset, over: str, users: int, rounds: int, epsilons: Sequence[float]
) -> Iterator[Row]:
    local = total_regret(result, LOCAL).isel(round=-1)
    for epsilon, delta in itertools.product(epsilons, _DELTAS):
        private = total_regret(result, _private(epsilon, delta).label).isel(round=-1)
        value = {"epsilon": epsilon, "T": rounds, "users a cluster": users // CLUSTERS}[over]
        yield {
            "over": over,
            "value": value,
            "epsilon": epsilon,
            "delta": delta,
            "users": users,
            "rounds": rounds,
            "fclub": round(float(private.mean()), 1),
            LOCAL: round(float(local.mean()), 1),
            "ratio": round(float(private.mean() / local.mean()), 3),
            "standard error": round(Measured.of(private / local).error, 3),
        }


def _thresholds(rows: Sequence[Row]) -> Iterator[str]:
    """Find the value from which on all ratios are clearly below 1, by two standard errors."""
    for (over, swept), delta in itertools.product(grouped(rows, "over").items(), _DELTAS):
        mine = where(swept, delta=delta)
        start = len(mine)
        while start and mine[start - 1]["ratio"] + 2.0 * mine[start - 1]["standard error"] < 1:
            start -= 1
        worst = max(mine, key=lambda row: row["ratio"])
        pays = f"from {mine[start]['value']:,g} on" if start < len(mine) else "NOWHERE here"
        yield (
            f"{over[0]}, δ = {delta:g}: clearly pays (two standard errors) {pays}; "
            f"{mine[-1]['ratio']} at {mine[-1]['value']:,g}; at worst {worst['ratio']} at "
            f"{worst['value']:,g}."
        )


def _draw_pays(rows: Sequence[Row]) -> Plot:
    overs = grouped(rows, "over")
    titles = {"epsilon": "privacy budget ε", "T": "rounds T", "users a cluster": "users a cluster"}
    plot, axes = panels(1, len(overs), height=3.9)
    bottom = min(0.8, *(row["ratio"] - 2 * row["standard error"] - 0.05 for row in rows))
    top = max(1.1, *(row["ratio"] + 2 * row["standard error"] + 0.05 for row in rows))
    for panel, ((over,), swept) in zip(axes, overs.items(), strict=True):
        for index, delta in enumerate(_DELTAS):
            draw_rows(
                panel, where(swept, delta=delta), "value", "ratio", "standard error", index,
                label=f"δ = {delta:g}", linewidth=1.8, **POINTS,
            )  # fmt: skip
        ticks = sorted({row["value"] for row in swept})
        panel.axhline(1.0, color="black", lw=1.0)
        panel.set(xlabel=titles[over], ylabel=f"regret of fclub / {LOCAL}")
        panel.set_ylim(bottom, top)
        shown = [f"{tick / 1e3:,.0f}k" if tick >= 1e4 else f"{tick:g}" for tick in ticks]
        tick_values(panel, ticks, shown)
    axes[0].legend(frameon=False)
    return plot
