"""Values from which on private collaboration pays under FCLUB."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import xarray as xr
from matplotlib.figure import Figure as Plot

from fedbandits.reproduce.engine import (
    Context,
    Measured,
    Outcome,
    Row,
    Verdict,
    draw_rows,
    grouped,
    panels,
    tick_values,
    where,
)
from fedbandits.reproduce.fclub import (
    CLUSTERS,
    DELTA,
    EPSILON,
    LOCAL,
    POINTS,
    SMALL_DELTA,
    Scale,
    drawn_world,
    experiment_of,
    total_regret,
)
from fedbandits.settings.experiment import Experiment, Variant, system


class Pays(NamedTuple):
    """The points at which collaboration is held against its absence."""

    #: Values of ε, played with 40 users for as many rounds as the scale has.
    epsilons: Sequence[float]
    rounds: Sequence[int]  # horizons T, played with 40 users
    users: Sequence[int]  # numbers of users in 5 clusters, with as many rounds a user as 40 have


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
    """Hold regret with private releases against regret of every server by itself."""
    points, scale = FULL if context.full else QUICK, Scale.of(context)
    sizes = [("epsilon", 40, scale.rounds, tuple(points.epsilons))]
    sizes += [("T", 40, rounds, (EPSILON,)) for rounds in points.rounds]
    sizes += [
        ("users a cluster", users, max(2, scale.rounds * users // 40), (EPSILON,))
        for users in points.users
    ]
    table = {size: _cell(*size, scale) for size in sizes}
    rows = [
        each for size, result in context.played(table).items() for each in _ratios(result, *size)
    ]
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
    for (over, of_one), delta in itertools.product(grouped(rows, "over").items(), _DELTAS):
        mine = where(of_one, delta=delta)
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
    for each, ((over,), of_one) in zip(axes, overs.items(), strict=True):
        for index, delta in enumerate(_DELTAS):
            draw_rows(
                each, where(of_one, delta=delta), "value", "ratio", "standard error", index,
                label=f"δ = {delta:g}", linewidth=1.8, **POINTS,
            )  # fmt: skip
        ticks = sorted({row["value"] for row in of_one})
        each.axhline(1.0, color="black", lw=1.0)
        each.set(xlabel=titles[over], ylabel=f"regret of fclub / {LOCAL}")
        each.set_ylim(bottom, top)
        shown = [f"{tick / 1e3:,.0f}k" if tick >= 1e4 else f"{tick:g}" for tick in ticks]
        tick_values(each, ticks, shown)
    axes[0].legend(frameon=False)
    return plot
