"""Costs of FCLUB after Liu et al. (2022): messages (Appendix E.3), running time (E.4)."""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import xarray as xr
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Clustered
from fedbandits.experiments.plots import draw_bounds, line_style
from fedbandits.reproduce.engine import (
    Context,
    Outcome,
    Row,
    Verdict,
    count_in_thousands,
    deviation,
    legend_beside,
    panels,
    where,
)
from fedbandits.reproduce.fclub import (
    ALONE,
    AS_RUN,
    BUDGET,
    CLUSTERS,
    DIMENSION,
    PUBLISHED,
    SERVERS,
    Scale,
    drawn_world,
    experiment_of,
    given_path,
    given_world,
)
from fedbandits.settings.experiment import Variant, system
from fedbandits.systems import find_system

_THRESHOLD = 1.01
_PLACEMENTS: tuple[Literal["together", "spread"], ...] = ("together", "spread")
#: Systems of Theorem 2.
_BOUNDED = (PUBLISHED, "fclub-dc")


def communication(context: Context) -> Outcome:
    """Compare messages of the published and the sound protocol with the bound."""
    scale, sharing = Scale.of(context), f"delayed({_THRESHOLD}, {_THRESHOLD})"
    systems = [
        system(PUBLISHED, **BUDGET, sharing=sharing),
        system("fclub-dc", sharing=sharing),
        system("fclub-sync"),
        system("fclub", **BUDGET),
    ]
    rows, bounds = [], {}
    a_log = DIMENSION * CLUSTERS * SERVERS / math.log(_THRESHOLD)
    bounded = [entry for entry in systems if entry.label in _BOUNDED]
    worlds = {placement: drawn_world(placement) for placement in _PLACEMENTS}
    results = context.played(
        {
            placement: (placement, experiment_of(world, systems, scale, 240))
            for placement, world in worlds.items()
        }
    )
    for placement, result in results.items():
        rows += [_traffic(result, placement, entry.label, a_log) for entry in systems]
        bounds[placement] = experiment_of(worlds[placement], bounded, scale).bounds()
    remarks = [
        f"The bound is d m L ln T / ln min(U, D) with the constant 1, U = D = {_THRESHOLD}; an "
        "upload and a download are one message each.",
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
    return Outcome(
        rows, _draw_messages(results, systems, bounds), remarks, _verdict_on_messages(rows, a_log)
    )


def _verdict_on_messages(rows: Sequence[Row], a_log: float) -> Verdict:
    """Judge by the theorem: below the bound, and growing no faster than ln T."""
    mine = [row for row in rows if row["system"] in _BOUNDED]
    shares = [row["share of the bound"] for row in mine]
    doubling, allowed = max(row["in the last doubling"] for row in mine), a_log * math.log(2.0)
    holds = max(shares) <= 1.0 and doubling <= allowed
    grows = "no faster" if doubling <= allowed else "FASTER"
    return Verdict(
        holds,
        f"the private and the non-private system take {min(shares):.2g} to {max(shares):.2g} of "
        f"Theorem 2's bound with constant 1, and grow {grows} than it at the end ({doubling:,} "
        f"messages in the last doubling of T, the bound {allowed:,.0f}); fclub takes "
        f"{max(row['messages'] for row in rows if row['system'] == 'fclub'):,} in all.",
    )


def _traffic(result: xr.Dataset, placement: str, label: str, a_log: float) -> Row:
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
    results: Mapping[Any, xr.Dataset], systems: list[Variant], bounds: Mapping[Any, Any]
) -> Plot:
    """Draw linear axes as in the paper, and logarithmic axes with the bound, for each placement."""
    plot, axes = panels(len(results), 2, width=5.8, height=3.9)
    for row, (placement, result) in enumerate(results.items()):
        linear, bounded = axes[2 * row : 2 * row + 2]
        sent = {
            entry.label: result.messages.sel(system=entry.label).mean("replicate")
            for entry in systems
        }
        steps: dict[str, Any] = {"drawstyle": "steps-post"}
        for index, (label, messages) in enumerate(sent.items()):
            linear.plot(result["round"], messages, label=label, **steps, **line_style(index))
        linear.set(xlabel="round", ylabel="messages so far", title=f"users {placement}")
        linear.set_ylim(0, 1.6 * float(max(sent[label].max() for label in _BOUNDED)))
        linear.tick_params(axis="x", labelsize=7)
        count_in_thousands(linear, "x", "y")
        legend_beside(linear)
        draw_bounds(bounded, result, bounds[placement], "messages")
        ours = sent["fclub"].where(sent["fclub"] > 0)
        bounded.plot(result["round"], ours, label="fclub", **steps, **line_style(3))
        bounded.set(xlabel="round", title=f"users {placement}, Theorem 2 dashed")
        legend_beside(bounded)
    return plot


#: Systems of the authors' code.
_THEIRS = (AS_RUN, "fclub-dc", "fclub-sync", "club", "sclub", ALONE, "homo", "homo-dc")
#: The paper's systems, then ours.
_PRESETS = (PUBLISHED, *_THEIRS, "fclub")
#: µs a round that the authors' code takes, by number of users: the fastest and the slowest of its
#: systems, measured once on a machine such as this.
AUTHORS = {40: (89, 5_000), 1000: (1_500, 39_000)}
_ROUNDS = {40: 131_071, 1000: 100_000}


def running_time(context: Context) -> Outcome:
    """Measure processor time a round of every system, with 40 and with 1,000 users."""
    path, repetitions = given_path(context), 10 if context.full else 3
    rows = []
    for users in AUTHORS:
        world = _world_of(path, users)
        rounds = _ROUNDS[users]
        table = {
            preset: (f"{preset}-{users}", functools.partial(_cpu_seconds, preset, world, rounds))
            for preset in _PRESETS
        }
        for preset, seconds in context.measured(table, repetitions).items():
            rows.append(_time(users, preset, [1e6 * second / rounds for second in seconds]))
    remarks = [
        "Processor time a round, compilation left out, the ends of phases included; mean and "
        f"deviation of {repetitions} repetitions, taken in turn.",
        "Users are drawn." if path is None else "Users as they come in the file.",
        "Appendix E.4 is not in the text at hand. The authors' code was measured once, on a "
        "machine such as this: "
        + "; ".join(
            f"{low:,} to {high:,} µs a round with {users:,} users"
            for users, (low, high) in AUTHORS.items()
        )
        + ".",
    ]
    return Outcome(rows, _draw_time(rows), remarks, _verdict_on_time(rows))


def _world_of(path: str | None, users: int) -> Clustered:
    clusters = 5 if users == 40 else 10
    if path is None:
        return Clustered(users=users, clusters=clusters, dim=10, servers=SERVERS)
    return given_world(path, whole=users > 40)


def _cpu_seconds(preset: str, world: Clustered, rounds: int, replicate: int) -> float:
    entry = system(preset)
    declared = find_system(entry.system)
    plan = declared.plan(entry.config, world.facts, rounds)
    run = declared.simulate(plan, world, 0, replicate)
    began = time.thread_time()
    run.advance(rounds)
    return time.thread_time() - began


def _time(users: int, preset: str, micros: Sequence[float]) -> Row:
    return {
        "users": users,
        "system": preset,
        "µs a round": round(statistics.fmean(micros), 2),
        "deviation": round(deviation(micros), 2),
    }


def _verdict_on_time(rows: Sequence[Row]) -> Verdict:
    """Judge by the times of the authors' code; the paper has times of other code."""
    gains = {}
    for users, (low, high) in AUTHORS.items():
        theirs = [row for row in where(rows, users=users) if row["system"] in _THEIRS]
        mine = [row["µs a round"] for row in theirs]  # their code adds no noise
        gains[users] = (low / min(mine), high / max(mine))
    said = "; ".join(
        f"{users:,} users: the fastest system {fast:,.0f} times, the slowest {slow:,.0f} times as "
        "fast"
        for users, (fast, slow) in gains.items()
    )
    agrees = all(0.5 < gain < 2.0 for pair in gains.values() for gain in pair)
    why = "" if agrees else "; here rounds are compiled, and sums kept up to date"
    return Verdict(agrees, f"beside the authors' code, {said}{why}.")


def _draw_time(rows: Sequence[Row]) -> Plot:
    plot, axes = panels(1, len(AUTHORS), width=5.4, height=4.2)
    for panel, users in zip(axes, AUTHORS, strict=True):
        mine = where(rows, users=users)
        colours = [line_style(3 if row["system"] == "fclub" else 0)["color"] for row in mine]
        panel.barh(
            [row["system"] for row in mine], [row["µs a round"] for row in mine],
            xerr=[row["deviation"] for row in mine], color=colours, capsize=3,
        )  # fmt: skip
        panel.invert_yaxis()
        panel.set(xlabel="µs of processor time a round", title=f"{users:,} users")
    return plot
