"""Figure 2 of Liu et al. (2022), and what FCLUB communicates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Clustered
from fedbandits.experiments.plots import line_style
from fedbandits.reproduce.context import Context, Outcome
from fedbandits.reproduce.fclub_worlds import (
    ALONE,
    CLUSTERS,
    DELTA,
    DIMENSION,
    EPSILON,
    SERVERS,
    SMALL_DELTA,
    Scale,
    drawn_world,
    given_path,
    given_world,
    mean_and_deviation,
    panels,
    play,
    total_regret,
)
from fedbandits.settings.experiment import Variant, system

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
#: More regret than learning alone by this factor is not accepted.
WORST = 1.05
_MEASURES = (
    "The adjusted Rand index of fclub compares users of one server at a time; that of the other "
    "systems compares all users, so the two cannot be held against each other."
)
_NO_NOISE = (
    "The authors' code does not add the noise that it draws, so their private curve is one without "
    "privacy; fclub-published adds it."
)
#: Drawn below a curve that runs along theirs.
_WIDE = ("fclub", "fclub-sync", ALONE, "homo")
_RATIO = "ratio"  # to learning alone
_SMALL = f"fclub, δ = {SMALL_DELTA:g}"


def _systems() -> list[Variant]:
    others = ("fclub-dc", "fclub-sync", "club", "sclub", ALONE, "homo", "homo-dc")
    return [
        system("fclub", epsilon=EPSILON, delta=DELTA),
        system("fclub", label=_SMALL, epsilon=EPSILON, delta=SMALL_DELTA),
        system("fclub-published", epsilon=EPSILON, delta=DELTA),
        *(system(preset) for preset in others),
    ]


def figure_2a(context: Context) -> Outcome:
    """Regret with synthetic users."""
    path = given_path(context)
    world = drawn_world() if path is None else given_world(path, whole=True)
    outcome = _regret(context, world, Scale.of(context))
    where = (
        "Users are drawn anew in every replicate; placed together, each server has one cluster, "
        "so no server's users have anything to learn from another's."
        if path is None
        else "The given users are the same in every replicate, on servers as they come."
    )
    remarks = [where, *outcome.remarks, *_beside_authors(outcome.rows, "synthetic")]
    return outcome._replace(remarks=remarks)


def figure_2b(context: Context) -> Outcome:
    """Regret with users of a file."""
    path, scale = given_path(context), Scale.of(context)
    if path is None:
        outcome = _regret(context, drawn_world("spread"), scale)
        where = (
            "No data was given, so this is NOT the paper's figure: users are drawn, in 5 clusters "
            "that lie on all servers. Give vectors (.npy) or ratings with --data."
        )
        return outcome._replace(remarks=[where, *outcome.remarks])
    if context.full:
        scale = scale._replace(rounds=2_000_000)
    world = given_world(path, whole=context.full)
    outcome = _regret(context, world, scale)
    where = (
        f"{world.parties} users in {world.cluster_count} clusters on {world.servers} servers, as "
        "they come."
    )
    beside = [] if context.full else _beside_authors(outcome.rows, "MovieLens")
    return outcome._replace(remarks=[where, *outcome.remarks, *beside])


def _regret(context: Context, world: Clustered, scale: Scale) -> Outcome:
    systems = _systems()
    result = play(context, "regret", world, systems, scale, _CHECKPOINTS)
    alone = mean_and_deviation(total_regret(result, ALONE).isel(round=-1))[0]
    rows = [_row(result, entry.label, alone) for entry in systems]
    remarks = [*_verdicts(rows), _NO_NOISE, _MEASURES]
    return Outcome(rows, _draw_regret(result, systems), remarks)


def _row(result: xr.Dataset, label: str, alone: float) -> dict[str, Any]:
    regret, last = total_regret(result, label), int(result["round"][-1])
    row: dict[str, Any] = {"system": label}
    for mark in [mark for mark in _MARKS if mark < last] + [last]:
        mean, deviation = mean_and_deviation(regret.interp(round=mark))
        row[f"{mark:,}"] = round(mean)
    end = result.sel(system=label).isel(round=-1)
    return row | {
        "deviation": round(deviation),
        _RATIO: round(mean / alone, 3),
        "Rand index": round(float(end.adjusted_rand_index.mean()), 3),
        "messages": round(float(end.messages.mean())),
        "MB": round(float(end.bytes.mean()) / 1e6, 1),
    }


def _verdicts(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Whether private systems keep up with learning alone."""
    ratio = {row["system"]: row[_RATIO] for row in rows}
    remarks = []
    for label in ("fclub", _SMALL, "fclub-published"):
        verdict = "at most" if ratio[label] <= WORST else "MORE THAN"
        remarks.append(f"{label}: {ratio[label]} × {ALONE}, {verdict} {WORST} ×.")
    return remarks


def _beside_authors(rows: Sequence[dict[str, Any]], world: str) -> list[str]:
    """Numbers of the authors' code, where this run is long enough to be held against them."""
    found = {row["system"]: row for row in rows}
    remarks = []
    for label, stated in AUTHORS[world].items():
        pairs = [
            f"{found[label][f'{mark:,}']:,.0f} ({theirs:,})"
            for mark, theirs in zip(_MARKS, stated, strict=False)
            if f"{mark:,}" in found[label]
        ]
        remarks.append(
            f"{label}, here (authors' code, one seed, their {world} file): " + ", ".join(pairs)
        )
    return remarks


def _draw_regret(result: xr.Dataset, systems: Sequence[Variant]) -> Plot:
    """Means with one deviation; the legend in the order in which curves end."""
    plot, [axes] = panels(1, 1, height=4.8)
    plot.set_figwidth(8.4)
    curves = {entry.label: total_regret(result, entry.label) for entry in systems}
    ends = {label: float(curve.isel(round=-1).mean()) for label, curve in curves.items()}
    for index, (label, curve) in enumerate(curves.items()):
        mean = curve.mean("replicate")
        spread = curve.std("replicate", ddof=1 if curve.sizes["replicate"] > 1 else 0)
        look = line_style(index) | {"linewidth": 3.2 if label in _WIDE else 1.5}
        axes.plot(result["round"], mean, label=label, zorder=2 if label in _WIDE else 3, **look)
        axes.fill_between(
            result["round"], np.maximum(mean - spread, 1e-3), mean + spread,
            color=look["color"], alpha=0.18, linewidth=0,
        )  # fmt: skip
    early = result["round"][-1] / 100
    lowest = min(float(c.mean("replicate").interp(round=early)) for c in curves.values())
    axes.set(xlabel="round", ylabel="cumulative regret of all users", yscale="log")
    axes.set_ylim(bottom=0.7 * max(lowest, 1e-2))
    axes.set_xlim(0, float(result["round"][-1]))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    lines = dict(zip(curves, axes.lines, strict=True))
    order = sorted(lines, key=lambda label: -ends[label])
    axes.legend(
        [lines[label] for label in order], order,
        frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0),
    )  # fmt: skip
    return plot


def communication(context: Context) -> Outcome:
    """Messages of the published protocol and of the sound one, beside the bound."""
    scale, threshold = Scale.of(context), 1.01
    systems = [
        system("fclub-sync"),
        system("fclub-dc", sharing=f"delayed({threshold}, {threshold})"),
        system("fclub", epsilon=EPSILON, delta=DELTA),
    ]
    rows, results = [], {}
    a_log = DIMENSION * CLUSTERS * SERVERS / math.log(threshold)
    for placement in ("together", "spread"):
        world = drawn_world(placement)
        result = results[placement] = play(context, placement, world, systems, scale, _CHECKPOINTS)
        rows += [_traffic(result, placement, entry.label, a_log) for entry in systems]
    remarks = [
        f"The bound is d m L ln T / ln min(U, D) with the constant 1, U = D = {threshold}.",
        *(
            f"{row['users']}, {row['system']}: {row['messages']:,} messages, "
            f"{row['share of the bound']:.2g} of the bound; the last doubling of T took "
            f"{row['in the last doubling']:,}, the bound's takes {round(a_log * math.log(2.0)):,}."
            for row in rows
        ),
        "fclub's servers speak in rounds fixed in advance, an upload and a download each, so "
        "when they speak says nothing about data. One message holds the sums of all of a server's "
        "users.",
    ]
    return Outcome(rows, _draw_messages(results, systems, a_log), remarks)


def _traffic(result: xr.Dataset, placement: str, label: str, a_log: float) -> dict[str, Any]:
    mine, last = result.sel(system=label), int(result["round"][-1])
    end = mine.isel(round=-1)
    messages = float(end.messages.mean())
    doubling = messages - float(mine.messages.interp(round=last / 2).mean())
    return {
        "users": placement,
        "system": label,
        "messages": round(messages),
        "bound": round(a_log * math.log(last)),
        "share of the bound": round(messages / (a_log * math.log(last)), 4),
        "in the last doubling": round(doubling),
        "bytes": round(float(end.bytes.mean())),
    }


def _draw_messages(
    results: dict[str, xr.Dataset], systems: Sequence[Variant], a_log: float
) -> Plot:
    plot, axes = panels(1, len(results), height=4.2)
    for each, (placement, result) in zip(axes, results.items(), strict=True):
        rounds = result["round"].values[result["round"].values > 1]
        each.plot(
            rounds, a_log * np.log(rounds), color="black", linestyle=":",
            label="d m L ln T / ln min(U, D)",
        )  # fmt: skip
        for index, entry in enumerate(systems):
            messages = result.messages.sel(system=entry.label).mean("replicate")
            each.plot(
                result["round"], messages.where(messages > 0), label=entry.label,
                drawstyle="steps-post", **line_style(index),
            )  # fmt: skip
        each.set(
            xlabel="round", ylabel="messages so far", xscale="log", yscale="log",
            title=f"users {placement}",
        )  # fmt: skip
    axes[-1].legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    plot.set_figwidth(5.6 * len(results))
    return plot
