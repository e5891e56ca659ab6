"""Purchases of most revenue with average quality at least α (Deva, Abhishek & Gujar 2021).

One unit of producer i earns its *revenue* rᵢ and adds its *surplus* dᵢ = qᵢ - α. Of at most kᵢ
units each, choose the whole numbers l that make Σ l r largest while Σ l d ≥ b; the *reserve* b is
0 where qualities are known, more where a purchase is to be on the safe side. Producers fall into

* S1, d ≥ 0 and r ≥ 0: bought whole, they leave a surplus;
* S2, d < 0 and r > 0: bought while the surplus lasts, the most revenue for it first;
* S3, d > 0 and r < 0: bought to pay for more of S2, the cheapest surplus first;
* the rest: never bought.

Buy all of S1 and S3, call the surplus less b the room, and let "a step" of S2 be buying a unit, of
S3 be *not* buying one: every step gains |r| and costs |d|, and what remains is a bounded knapsack
with the steps as its items. That is how both oracles see it. Without room nothing is feasible, and
nothing is bought.
"""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints

#: The average quality of a purchase may lie this far below α: room for rounding, no more.
TOLERANCE = 1e-9

#: Integer codes of the oracles, for compiled code.
GREEDY, EXACT = 0, 1


@compiled
def total(per_unit: Floats, purchase: Ints) -> float:
    """Compute Σ l x over all producers, always added in the same order."""
    value = 0.0
    for i in range(purchase.size):
        value += per_unit[i] * purchase[i]
    return value


@compiled
def meets_constraint(surplus: Floats, purchase: Ints) -> bool:
    """Tell whether the average quality of a purchase reaches α; buying nothing does."""
    units, value = 0, 0.0
    for i in range(purchase.size):
        units += purchase[i]
        value += surplus[i] * purchase[i]
    return value >= -TOLERANCE * units


@compiled
def sort_steps(
    revenue: Floats, surplus: Floats, capacity: Ints, order: Ints, ratio: Floats
) -> tuple[int, float]:
    """List the producers of S2 and S3, the most gain a unit of surplus first; ties by number.

    The arguments are those of :func:`buy_greedily`: ``order`` and ``ratio`` receive the producers
    listed, and their |r / d|. Returns how many there are, and the surplus of all of S1 and S3.
    """
    count, most = 0, 0.0
    for i in range(revenue.size):
        if surplus[i] > 0.0:
            most += surplus[i] * capacity[i]
        in_s2, in_s3 = surplus[i] < 0.0 < revenue[i], revenue[i] < 0.0 < surplus[i]
        if in_s2 or in_s3:
            value = -revenue[i] / surplus[i]
            place = count
            while place > 0 and ratio[place - 1] < value:
                ratio[place], order[place] = ratio[place - 1], order[place - 1]
                place -= 1
            ratio[place], order[place] = value, i
            count += 1
    return count, most


@compiled
def buy_before_steps(revenue: Floats, surplus: Floats, capacity: Ints, purchase: Ints) -> None:
    """Buy all of S1 and S3, nothing of the rest: the purchase before any step."""
    for i in range(revenue.size):
        wanted = surplus[i] > 0.0 or (surplus[i] == 0.0 and revenue[i] >= 0.0)
        purchase[i] = capacity[i] if wanted else 0


@compiled
def take_steps(surplus: float, steps: int, producer: int, purchase: Ints) -> None:
    """Buy units of S2, or give back units of S3."""
    purchase[producer] += steps if surplus < 0.0 else -steps


@compiled
def buy_greedily(
    revenue: Floats, surplus: Floats, capacity: Ints, reserve: float, order: Ints, ratio: Floats,
    purchase: Ints,
) -> None:  # fmt: skip
    """Buy by greedy SSA with capacities: steps in order of gain, the last one cut to whole units.

    Cutting rounds S2 down and S3 up, so that the constraint still holds. It is the optimum of the
    knapsack's linear relaxation, less part of one unit.

    All arrays are (m,), an entry a producer: r and d of a unit, and k. ``reserve`` is b ≥ 0, in
    units of surplus. ``order`` and ``ratio`` are buffers; ``purchase`` receives l.
    """
    buy_before_steps(revenue, surplus, capacity, purchase)
    count, most = sort_steps(revenue, surplus, capacity, order, ratio)
    room = most - reserve
    if room < -TOLERANCE:
        purchase[:] = 0
        return
    for place in range(count):
        i = order[place]
        cost = abs(surplus[i])
        steps = capacity[i]
        if cost * steps > room + TOLERANCE:
            steps = min(steps, np.int64((room + TOLERANCE) / cost))
        take_steps(surplus[i], steps, i, purchase)
        room -= cost * steps
        if steps < capacity[i]:
            break


@compiled
def is_empty(purchase: Ints) -> bool:
    """Tell whether nothing is bought."""
    bought = 0
    for i in range(purchase.size):
        bought += purchase[i]
    return bought == 0
