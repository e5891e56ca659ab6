"""Purchases of most revenue with average quality at least α (Deva, Abhishek & Gujar 2021).

One unit of producer i earns its *revenue* rᵢ and adds its *surplus* dᵢ = qᵢ - α. Of at most kᵢ
units each, choose whole numbers l with the largest Σ l r while Σ l d ≥ b; the *reserve* b is 0 for
known qualities, and larger for a purchase on the safe side. Producers fall into

* S1, d ≥ 0 and r ≥ 0: bought whole, they leave a surplus;
* S2, d < 0 and r > 0: bought while the surplus lasts, the most revenue for it first;
* S3, d > 0 and r < 0: bought to pay for more of S2, the cheapest surplus first;
* the rest: never bought.

Buy all of S1 and S3, call the surplus less b the room, and let "a step" of S2 be buying a unit, of
S3 be *not* buying a unit: every step gains |r| and costs |d|. The remaining problem is a bounded
knapsack with the steps as its items, for both oracles. Without room nothing is feasible, and
nothing is bought.

The exact oracle finds the best purchase by dynamic programming over a growing core of the knapsack.
Deva, Abhishek & Gujar's DPSS tries all subsets of S2 and S3. Here the same recursion keeps only
states that can still win (Pisinger 1997, "A minimal algorithm for the 0-1 knapsack problem"): steps
are in the order of their gain, the first fitting steps are taken, and then, alternately, the next
step may be added and the last step taken back. A *state* is a reachable cost and gain. A state is
dropped if another state costs no more and gains no less, or if even the best remaining ratio cannot
lift it above the best purchase so far.
"""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints

#: Largest distance of a purchase's average quality below α: room for rounding.
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
    """Tell whether the average quality of a purchase reaches α; an empty purchase does."""
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

    The arguments are those of :func:`buy_greedily`: ``order`` and ``ratio`` receive the listed
    producers and their |r / d|. Returns their number, and the surplus of all of S1 and S3.
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
    """Buy by greedy SSA with capacities: steps in order of gain, the last cut to whole units.

    Cutting rounds S2 down and S3 up, so that the constraint still holds. The purchase is the
    optimum of the knapsack's linear relaxation, less part of one unit.

    All arrays are (m,), an entry for each producer: r and d of a unit, and k. ``reserve`` is b ≥ 0,
    in units of surplus. ``order`` and ``ratio`` are buffers; ``purchase`` receives l.
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


#: Largest number of chunks of a capacity: powers of two, and the rest.
_CHUNKS = 64


@compiled
def _split(capacity: Ints, order: Ints, count: int) -> tuple[Ints, Ints]:
    """Split every producer's steps into chunks of 1, 2, 4, …: every number is a sum of chunks."""
    producers = np.empty(count * _CHUNKS, np.int64)
    sizes = np.empty(count * _CHUNKS, np.int64)
    filled = 0
    for place in range(count):
        left, size = capacity[order[place]], 1
        while left > 0:
            producers[filled], sizes[filled] = order[place], min(size, left)
            left -= sizes[filled]
            size *= 2
            filled += 1
    return producers[:filled], sizes[:filled]


@compiled
def _merge(
    costs: Floats, gains: Floats, trails: Ints, cost: float, gain: float, trail: Ints
) -> tuple[Floats, Floats, Ints]:
    """Merge all states with and without a further move, in order of cost, without dominated states.

    ``costs`` and ``gains`` of the states so far are (s,) and both rise. ``trails`` (s,) are the
    places of the states' last moves in the linked list; ``trail`` (s,) are the places of the new
    move.
    """
    size = costs.size
    new_costs, new_gains = np.empty(2 * size), np.empty(2 * size)
    new_trails = np.empty(2 * size, np.int64)
    stay, move, filled, best = 0, 0, 0, -np.inf
    while stay < size or move < size:
        if move >= size or (stay < size and costs[stay] <= costs[move] + cost):
            next_cost, next_gain, next_trail = costs[stay], gains[stay], trails[stay]
            stay += 1
        else:
            next_cost, next_gain, next_trail = costs[move] + cost, gains[move] + gain, trail[move]
            move += 1
        if next_gain > best:
            if filled > 0 and new_costs[filled - 1] == next_cost:
                filled -= 1  # equal cost, and less gain
            new_costs[filled], new_gains[filled], new_trails[filled] = (
                next_cost,
                next_gain,
                next_trail,
            )
            filled += 1
            best = next_gain
    return new_costs[:filled], new_gains[:filled], new_trails[:filled]


@compiled
def _promising(
    costs: Floats, gains: Floats, room: float, best: float, up: float, down: float
) -> Ints:
    """Return states that can still beat ``best``; ``up`` and ``down`` are remaining ratios."""
    kept, filled = np.empty(costs.size, np.int64), 0
    for s in range(costs.size):
        rest = room - costs[s]
        bound = gains[s] + rest * (up if rest >= 0.0 else down)
        if bound > best:
            kept[filled] = s
            filled += 1
    return kept[:filled]


@compiled
def _choose_chunks(costs: Floats, gains: Floats, room: float) -> tuple[Ints, int]:
    """Choose the chunks with the most gain within ``room``, the bound on their total cost.

    ``costs`` and ``gains`` are (c,), all positive, in order of gain by cost. Returns ``moves`` and
    ``first``: the chunks before ``first`` are chosen, and the chunks in ``moves`` are switched.
    """
    first, cost, gain = 0, 0.0, 0.0
    while first < costs.size and cost + costs[first] <= room:
        cost += costs[first]
        gain += gains[first]
        first += 1
    best, best_trail = gain, 0
    # A trail is a linked list of moves: entry 0 ends it.
    chunk_of, parent_of = np.zeros(1, np.int64), np.zeros(1, np.int64)
    state_costs, state_gains = np.array([cost]), np.array([gain])
    trails = np.zeros(1, np.int64)
    last, step = first, first  # chunks from last to step - 1 were open to moves
    adding = True
    while state_costs.size > 0 and (step < costs.size or last > 0):
        up = gains[step] / costs[step] if step < costs.size else 0.0
        down = gains[last - 1] / costs[last - 1] if last > 0 else np.inf
        kept = _promising(state_costs, state_gains, room, best, up, down)
        state_costs, state_gains, trails = state_costs[kept], state_gains[kept], trails[kept]
        if state_costs.size == 0:
            break
        if (adding and step < costs.size) or last == 0:
            chunk, sign = step, 1.0
            step += 1
        else:
            last -= 1
            chunk, sign = last, -1.0
        adding = not adding
        trail = chunk_of.size + np.arange(state_costs.size)
        chunk_of = np.append(chunk_of, np.full(state_costs.size, chunk))
        parent_of = np.append(parent_of, trails)
        if sign > 0.0:
            state_costs, state_gains, trails = _merge(
                state_costs, state_gains, trails, costs[chunk], gains[chunk], trail
            )
        else:  # states with the move are cheaper, so they come first
            state_costs, state_gains, trails = _merge(
                state_costs - costs[chunk], state_gains - gains[chunk], trail,
                costs[chunk], gains[chunk], trails,
            )  # fmt: skip
        for s in range(state_costs.size):
            if state_costs[s] <= room and state_gains[s] > best:
                best, best_trail = state_gains[s], trails[s]
    moves, filled = np.empty(costs.size, np.int64), 0
    while best_trail > 0:
        moves[filled] = chunk_of[best_trail]
        best_trail = parent_of[best_trail]
        filled += 1
    return moves[:filled], first


@compiled
def buy_exactly(
    revenue: Floats, surplus: Floats, capacity: Ints, reserve: float, order: Ints, ratio: Floats,
    purchase: Ints,
) -> None:  # fmt: skip
    """Buy the purchase with the most revenue; arguments as of :func:`.buy_greedily`."""
    buy_before_steps(revenue, surplus, capacity, purchase)
    count, most = sort_steps(revenue, surplus, capacity, order, ratio)
    room = most - reserve
    if room < -TOLERANCE:
        purchase[:] = 0
        return
    producers, sizes = _split(capacity, order, count)
    costs: Floats = np.abs(surplus[producers]) * sizes
    gains: Floats = np.abs(revenue[producers]) * sizes
    moves, first = _choose_chunks(costs, gains, room + TOLERANCE)
    for chunk in range(first):
        take_steps(surplus[producers[chunk]], sizes[chunk], producers[chunk], purchase)
    for chunk in moves:
        i = producers[chunk]
        take_steps(surplus[i], sizes[chunk] if chunk >= first else -sizes[chunk], i, purchase)


@compiled
def buy(
    oracle: int, revenue: Floats, surplus: Floats, capacity: Ints, reserve: float, order: Ints,
    ratio: Floats, purchase: Ints,
) -> None:  # fmt: skip
    """Buy by the oracle with this code."""
    if oracle == EXACT:
        buy_exactly(revenue, surplus, capacity, reserve, order, ratio, purchase)
    else:
        buy_greedily(revenue, surplus, capacity, reserve, order, ratio, purchase)
