"""Figure 8(a), (b) and (d) of Ciucanu et al. (2022): time, and who spends it."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Bernoulli
from fedbandits.experiments.plots import line_style
from fedbandits.reproduce.context import Context, Outcome
from fedbandits.reproduce.samba_data import (
    ALGORITHMS,
    MEANS,
    WHAT,
    bernoulli_world,
    data_name,
    data_panels,
)
from fedbandits.settings.experiment import system
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.loop import Replicate
from fedbandits.systems.samba.plan import make_plan
from fedbandits.systems.samba.sealed_steps import ROLES


def _time(context: Context, budgets: Sequence[int], arm_counts: Sequence[int]) -> Outcome:
    """CPU seconds of every algorithm, secure and plain, over budgets or numbers of arms."""
    paths = context.need_data(MEANS, WHAT)
    rows = [
        row
        for path in paths
        for budget in budgets
        for arms in arm_counts
        for row in _timings(context, path, budget, arms)
    ]
    over = "budget N" if len(budgets) > 1 else "arms K"
    return Outcome(rows, _draw_time(rows, over), _slopes(rows, over))


def _timings(context: Context, path: str, budget: int, arms: int) -> list[dict[str, Any]]:
    world = bernoulli_world(path, arms)
    presets = [f"{kind}-{algorithm}" for kind in ("samba", "plain") for algorithm in ALGORITHMS]
    return [
        {
            "data": data_name(path),
            "budget N": budget,
            "arms K": arms,
            "system": preset,
            "seconds": context.measure(
                f"{data_name(path)}-N{budget}-K{arms}-{preset}",
                functools.partial(_cpu_seconds, preset, world, budget),
            ),
        }
        for preset in presets
    ]


def _cpu_seconds(preset: str, world: Bernoulli, budget: int) -> float:
    """Of one whole run without compilation; processor time, which other work disturbs little."""
    run = _replicate(system(preset, paillier_bits=2048).config, world, budget)
    began = time.thread_time()
    run.advance(budget)
    return round(time.thread_time() - began, 4)


def _replicate(config: Samba, world: Bernoulli, budget: int) -> Replicate:
    return Replicate(make_plan(config, world.facts, budget), world, 0, 0)


def _draw_time(rows: list[dict[str, Any]], over: str) -> Plot:
    plot, panels = data_panels(rows)
    for axes, data in panels:
        for index, algorithm in enumerate(ALGORITHMS):
            for prefix, style in (("samba", "-"), ("plain", ":")):
                points = [
                    (row[over], row["seconds"])
                    for row in rows
                    if row["data"] == data and row["system"] == f"{prefix}-{algorithm}"
                ]
                label = algorithm if prefix == "samba" else None
                look = line_style(index) | {"linestyle": style}
                axes.plot(*zip(*points, strict=True), marker=".", label=label, **look)
        axes.set(xlabel=over, ylabel="CPU seconds", yscale="log", title=data)
    panels[0][0].legend(frameon=False, title="SAMBA (dotted: plain)")
    return plot


def _slopes(rows: list[dict[str, Any]], over: str) -> list[str]:
    """Least-squares lines through each algorithm's seconds."""
    remarks = []
    for algorithm in ALGORITHMS:
        points = [(r[over], r["seconds"]) for r in rows if r["system"] == f"samba-{algorithm}"]
        x, y = np.array(points, dtype=np.float64).T
        slope, offset = np.polyfit(x, y, 1)
        spread = 1.0 - np.var(y - slope * x - offset) / np.var(y)
        remarks.append(
            f"{algorithm}: {slope:.3g} s for each unit of {over}, {offset:.2g} s beside; a line "
            f"explains {100 * spread:.1f}% of the variance"
        )
    remarks.append(
        "The paper's times (about 840 s at N = 10⁵, K = 100) are of another machine and code; its "
        "shapes are lines in N and K, Pursuit with twice the slope of the others."
    )
    return remarks


def figure_8a(context: Context) -> Outcome:
    """Time over the budget."""
    if context.full:
        return _time(context, range(50_000, 100_001, 10_000), [100])
    return _time(context, range(2000, 10_001, 2000), [20])


def figure_8b(context: Context) -> Outcome:
    """Time over the number of arms."""
    if context.full:
        return _time(context, [100_000], range(10, 101, 10))
    return _time(context, [4000], range(10, 51, 10))


def figure_8d(context: Context) -> Outcome:
    """Who works how long: one UCB run each, every packet sealed by itself."""
    budget = 100_000 if context.full else 3000
    rows = []
    for path in context.need_data(MEANS, WHAT):
        for arms in (10, 50, 100):
            seconds = context.measure(
                f"{data_name(path)}-N{budget}-K{arms}",
                functools.partial(_seconds_by_role, bernoulli_world(path, arms), budget),
            )
            total = sum(seconds.values())
            rows.append(
                {"data": data_name(path), "arms K": arms, "seconds": round(total, 2)}
                | {role: round(seconds[role] / total, 4) for role in ROLES}
                | {"one data owner": round(seconds["data owners"] / total / arms, 5)}
            )
    most = all(row["comp"] > max(row["one data owner"], row["controller"]) for row in rows)
    remarks = [
        "As in the paper Comp works most of all single parties."
        if most
        else "Unlike in the paper Comp does not work most of all single parties.",
        "Owners share their work equally. Key generation and decryption are the customer's and do "
        "not grow with N.",
        "Times are of one process that plays all roles; messages are not wrapped for a network.",
    ]
    return Outcome(rows, _draw_shares(rows), remarks)


def _seconds_by_role(world: Bernoulli, budget: int) -> dict[str, float]:
    run = _replicate(Samba(paillier_bits=2048), world, budget)
    run.advance(budget)
    return run.seconds


def _draw_shares(rows: list[dict[str, Any]]) -> Plot:
    plot, panels = data_panels(rows)
    for axes, data in panels:
        mine = [row for row in rows if row["data"] == data]
        base = np.zeros(len(mine))
        for index, role in enumerate(ROLES):
            heights = np.array([100 * row[role] for row in mine])
            colour = line_style(index)["color"]
            labels = [f"K = {row['arms K']}" for row in mine]
            axes.bar(labels, heights, bottom=base, label=role, color=colour)
            base += heights
        axes.set(ylabel="share of time (%)", title=data)
    panels[0][0].legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return plot
