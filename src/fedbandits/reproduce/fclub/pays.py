"""Values from which on private collaboration pays under FCLUB."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import xarray as xr
from matplotlib.figure import Figure as Plot

from fedbandits.experiments.plots import line_style
from fedbandits.reproduce.engine import Context, Measured, Outcome, Verdict, panels
from fedbandits.reproduce.fclub.runs import (
    CLUSTERS,
    DELTA,
    EPSILON,
    LOCAL,
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

    @classmethod
    def of(cls, context: Context) -> Pays:
        """Choose the points; there are more of them at the full scale."""
        if context.full:
            return cls(
                (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
                (10_000, 20_000, 50_000, 131_071, 300_000, 1_000_000),
                (20, 40, 80, 160, 320),
            )
        return cls(
            (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (20_000, 50_000, 131_071, 300_000), (20, 40, 80, 160)
        )


_DELTAS = (SMALL_DELTA, DELTA)


def _private(epsilon: float, delta: float) -> Variant:
    label = f"fclub, ε = {epsilon:g}, δ = {delta:g}"
    return system("fclub", label=label, epsilon=epsilon, delta=delta)


def pays(context: Context) -> Outcome:
    """Hold regret with private releases against regret of every server by itself."""
    points, scale = Pays.of(context), Scale.of(context)
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


def _verdict(rows: Sequence[dict[str, Any]]) -> Verdict:
    """Judge the paper's message, that private collaboration pays, at its own ε, δ and T."""
    papers = next(
        row
        for row in rows
        if row["over"] == "epsilon" and row["epsilon"] == EPSILON and row["delta"] == DELTA
    )
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
) -> Iterator[dict[str, Any]]:
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


def _thresholds(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Find the value from which on all ratios are clearly below 1, by two standard errors."""
    remarks = []
    for over in dict.fromkeys(row["over"] for row in rows):
        for delta in _DELTAS:
            mine = [row for row in rows if row["over"] == over and row["delta"] == delta]
            start = len(mine)
            while start and mine[start - 1]["ratio"] + 2.0 * mine[start - 1]["standard error"] < 1:
                start -= 1
            worst = max(mine, key=lambda row: row["ratio"])
            where = f"from {mine[start]['value']:,g} on" if start < len(mine) else "NOWHERE here"
            remarks.append(
                f"{over}, δ = {delta:g}: clearly pays (two standard errors) {where}; "
                f"{mine[-1]['ratio']} at {mine[-1]['value']:,g}; at worst {worst['ratio']} at "
                f"{worst['value']:,g}."
            )
    return remarks


def _draw_pays(rows: Sequence[dict[str, Any]]) -> Plot:
    overs = dict.fromkeys(row["over"] for row in rows)
    titles = {"epsilon": "privacy budget ε", "T": "rounds T", "users a cluster": "users a cluster"}
    plot, axes = panels(1, len(overs), height=3.9)
    bottom = min(0.8, *(row["ratio"] - 2 * row["standard error"] - 0.05 for row in rows))
    top = max(1.1, *(row["ratio"] + 2 * row["standard error"] + 0.05 for row in rows))
    for each, over in zip(axes, overs, strict=True):
        for index, delta in enumerate(_DELTAS):
            mine = [row for row in rows if row["over"] == over and row["delta"] == delta]
            each.errorbar(
                [row["value"] for row in mine], [row["ratio"] for row in mine],
                [row["standard error"] for row in mine],
                marker="o", markersize=4, capsize=3, label=f"δ = {delta:g}",
                **(line_style(index) | {"linewidth": 1.8}),
            )  # fmt: skip
        ticks = sorted({row["value"] for row in rows if row["over"] == over})
        each.axhline(1.0, color="black", lw=1.0)
        each.set(xlabel=titles[over], ylabel=f"regret of fclub / {LOCAL}", xscale="log")
        each.set_ylim(bottom, top)
        each.set_xticks(ticks, [_short(tick) for tick in ticks])
        each.minorticks_off()
    axes[0].legend(frameon=False)
    return plot


def _short(value: float) -> str:
    """Shorten round numbers to thousands."""
    if value >= 1e4:
        return f"{value / 1e3:,.0f}k"
    return f"{value:g}"
