"""The truth about purchases: true qualities of a round, and the benchmark for these."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.drift import mixed, share_of_other
from fedbandits.learners.exact_purchasing import buy
from fedbandits.learners.purchasing import total


class Truth(NamedTuple):
    """What one buyer's purchases are judged by, as of the last round that was asked for."""

    unit_revenue: Floats  # (producers,) ρ q - c
    surplus: Floats  # (producers,) q - α
    ends: Floats  # (2,): r* of the benchmark, and L of a purchase that misses the constraint
    share: Floats  # (1,): of the second world
    order: Ints  # (producers,) scratch, as the two below
    ratio: Floats
    purchase: Ints


@compiled
def truth_of(world: Any, agent: int) -> Truth:
    """What the purchases of a buyer are judged by before the rewards drift."""
    m = world.quality.size
    return Truth(
        world.revenue * world.quality - world.cost[agent],
        world.quality - world.threshold,
        np.array([world.best[agent], world.worst[agent]]),
        np.zeros(1),
        np.zeros(m, np.int64),
        np.zeros(m),
        np.zeros(m, np.int64),
    )


@compiled
def keep_up(world: Any, agent: int, round_: int, truth: Truth) -> None:
    """Bring what purchases are judged by to a round; nothing is to do where nothing drifts."""
    if world.other.size == 0:
        return
    share = share_of_other(world.shares, round_)
    if share == truth.share[0]:
        return
    truth.share[0] = share
    for i in range(world.quality.size):
        quality = mixed(world.quality[i], world.other[i], share)
        truth.unit_revenue[i] = world.revenue * quality - world.cost[agent, i]
        truth.surplus[i] = quality - world.threshold
    truth.ends[0], truth.ends[1] = benchmark_of(
        world.oracle, truth.unit_revenue, truth.surplus, world.capacity[agent], truth.order,
        truth.ratio, truth.purchase,
    )  # fmt: skip


@compiled
def benchmark_of(
    oracle: int, unit_revenue: Floats, surplus: Floats, capacity: Ints, order: Ints,
    ratio: Floats, purchase: Ints,
) -> tuple[float, float]:  # fmt: skip
    """r* of one buyer, and L = max over l of r* - r(l), feasible or not.

    Parameters
    ----------
    oracle : int
        How the benchmark buys, ``GREEDY`` or ``EXACT``.
    unit_revenue, surplus : (producers,) float64
        ρ q - c and q - α, at the true qualities.
    capacity : (producers,) int64
        The buyer's.
    order, ratio, purchase : (producers,)
        Scratch.
    """
    buy(oracle, unit_revenue, surplus, capacity, 0.0, order, ratio, purchase)
    best, least = total(unit_revenue, purchase), 0.0
    for i in range(capacity.size):
        least += min(0.0, unit_revenue[i] * capacity[i])
    return best, best - least
