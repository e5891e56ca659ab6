"""Outcomes of purchases, and their evaluation by the true qualities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.kernels.drift import NO_SHARES, Shares, mixed, share_of_other
from fedbandits.learners.kernels.purchasing import buy, meets_constraint, total
from fedbandits.random import Key, Purpose, binomial

_REWARD = int(Purpose.REWARD)
#: Qualities of an absent second world.
NO_OTHER: Floats = np.zeros(0)


class ProcurementWorld(NamedTuple):
    """One replicate of a procurement."""

    quality: Floats  # (producers,) qᵢ, unknown to the buyers
    cost: Floats  # (agents, producers) cᵢⱼ, each buyer's own
    capacity: Ints  # (agents, producers) kᵢⱼ, public
    threshold: float  # α
    revenue: float  # ρ
    best: Floats  # (agents,) r*, revenue of the benchmark's purchase
    worst: Floats  # (agents,) L, regret of a purchase that misses the constraint
    oracle: int  # code of the benchmark's oracle
    other: Floats = NO_OTHER  # (producers,) qualities of the second world; empty without drift
    shares: Shares = NO_SHARES


class Truth(NamedTuple):
    """Values for evaluating one buyer's purchases, as of the last requested round."""

    unit_revenue: Floats  # (producers,) ρ q - c
    surplus: Floats  # (producers,) q - α
    ends: Floats  # (2,): r* of the benchmark, and L of a purchase that misses the constraint
    share: Floats  # (1,): share of the second world
    order: Ints  # (producers,) scratch, as the next two fields
    ratio: Floats
    purchase: Ints


@compiled
def truth_of(world: ProcurementWorld, agent: int) -> Truth:
    """Return the values for evaluating a buyer's purchases before the rewards drift."""
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
def keep_up(world: ProcurementWorld, agent: int, round_: int, truth: Truth) -> None:
    """Update the values for evaluating purchases to a round, if qualities drift."""
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
    """Compute r* of one buyer, and L = max over l of r* - r(l), feasible or not.

    ``oracle`` is ``GREEDY`` or ``EXACT``. All arrays are (producers,): ρ q - c and q - α at the
    true qualities, and the buyer's capacity; the last three are scratch.
    """
    buy(oracle, unit_revenue, surplus, capacity, 0.0, order, ratio, purchase)
    best, least = total(unit_revenue, purchase), 0.0
    for i in range(capacity.size):
        least += min(0.0, unit_revenue[i] * capacity[i])
    return best, best - least


@compiled
def draw_good_units(
    world: ProcurementWorld, key: Key, agent: int, round_: int, purchase: Ints, good: Ints
) -> None:
    """Draw the numbers of good units, into ``good`` (producers,).

    The first l units that a buyer buys from a producer in a round are the same units in every
    system.
    """
    # Once a round: handing a world over for each producer would cost more than its draw.
    drifts = world.other.size > 0
    share = share_of_other(world.shares, round_) if drifts else 0.0
    for i in range(purchase.size):
        if purchase[i] > 0:
            quality = world.quality[i]
            if drifts:
                quality = mixed(quality, world.other[i], share)
            good[i] = binomial(purchase[i], quality, key, agent, round_, _REWARD, i)
        else:
            good[i] = 0


@compiled
def purchase_regret(
    unit_revenue: Floats, surplus: Floats, best: float, worst: float, purchase: Ints
) -> tuple[float, bool]:
    """Return the regret of one purchase, and whether it misses the constraint.

    ``unit_revenue`` and ``surplus`` are ρ q - c and q - α at the true qualities, (producers,).
    ``best`` is the benchmark's revenue r*, and ``worst`` the regret L of a purchase that misses.
    """
    if meets_constraint(surplus, purchase):
        return best - total(unit_revenue, purchase), False
    return worst, True


@compiled
def earned(world: ProcurementWorld, agent: int, purchase: Ints, good: Ints) -> float:
    """Return the revenue of a purchase: ρ for each good unit, less the cost of all units."""
    value = 0.0
    for i in range(purchase.size):
        value += world.revenue * good[i] - world.cost[agent, i] * purchase[i]
    return value


@compiled
def fill_benchmark(world: ProcurementWorld, oracle: int) -> None:
    """Fill r* and L = max over l of r* - r(l), feasible or not."""
    agents, m = world.cost.shape
    order, ratio, purchase = np.zeros(m, np.int64), np.zeros(m), np.zeros(m, np.int64)
    surplus = world.quality - world.threshold
    for j in range(agents):
        unit_revenue = world.revenue * world.quality - world.cost[j]
        world.best[j], world.worst[j] = benchmark_of(
            oracle, unit_revenue, surplus, world.capacity[j], order, ratio, purchase
        )
