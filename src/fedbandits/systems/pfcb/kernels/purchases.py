"""Decisions of a buyer: estimates from its books, then a purchase by the oracle, or a safe one.

With q̂ of every producer, its deviation σ and d = q̂ - α, an order l is *safe* if
Σ l d ≥ z √(Σ l² σ²). Errors of different producers average out, and producers that are not in the
order do not count. So what is little known is bought too, as many units as the others' surplus
covers: a buyer that never bought it would never learn that it is better than it looked.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.purchasing import TOLERANCE, buy, is_empty, total
from fedbandits.systems.pfcb.kernels import Books, Constants
from fedbandits.systems.pfcb.kernels.reports import error_variance, worth


class Scratch(NamedTuple):
    """Buffers of a decision; nothing in them outlives it."""

    revenue: Floats  # (m,) optimistic, a unit
    surplus: Floats  # (m,)
    high: Floats  # (m,) upper bound of the quality
    spread: Floats  # (m,) deviation of the quality's estimate
    ratio: Floats  # (m,)
    order: Ints  # (m,)
    purchase: Ints  # (m,)
    good: Ints  # (m,)


def new_scratch(producers: int) -> Scratch:
    """Make buffers for one buyer."""
    kinds: dict[str, Any] = dict.fromkeys(("order", "purchase", "good"), np.int64)
    return Scratch(
        **{name: np.zeros(producers, kinds.get(name, np.float64)) for name in Scratch._fields}
    )


@compiled
def estimate(
    constants: Constants, round_: int, books: Books, noise: float, cost: Floats, capacity: Ints,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Estimate every producer's greatest revenue, and its surplus of quality, into ``scratch``.

    A producer that nothing is known of may be perfect; whether it meets the constraint is then
    hoped for by an optimistic buyer and not counted on by a cautious one.

    A buyer that acts on reports alone does not learn within a batch, but it knows what it has
    decided to buy, which follows from reports: what the next one will tell narrows the radius
    beforehand (Desautels, Krause & Burdick 2014, for batches). Otherwise it would explore for a
    whole batch what a few rounds suffice for.

    Parameters
    ----------
    round_ : int
        The round that is decided on, from 1.
    noise : float
        Scale of the noise in the buyer's next report, in capacities.
    cost, capacity : (m,) float64, int64
        The buyer's cost of a unit, and the most units that it can buy.
    """
    combined = books.combined
    cautious = constants.caution >= 0.0
    # Over √W that is the radius √(3 ln x / 2W), or √(3 ln x / 2nW) as printed in Algorithm 1.
    inside = 1.5 * math.log(constants.radius_factor * round_) / constants.radius_divisor
    scale = constants.exploration_scale * math.sqrt(inside)
    for i in range(cost.size):
        units = combined[0, i]
        if units > 0.0:
            root = 1.0 / math.sqrt(units)
            mean = combined[1, i] / units
            sure, coming = units, books.fresh[0, i]
            if not constants.raw_view and coming > 0.0:
                quality = min(1.0, max(0.0, mean))
                error = error_variance(constants.covariance, noise * capacity[i], quality)
                sure += coming * worth(coming, error)
            high = mean + scale / math.sqrt(sure)
            low = mean if cautious else high
        else:
            root, high = 2.0, 1.0
            low = 0.0 if cautious else 1.0
        scratch.high[i] = high
        scratch.revenue[i] = constants.revenue * high - cost[i]
        scratch.surplus[i] = low - constants.target
        # A unit's variance is at most 1/4.
        scratch.spread[i] = 0.5 * root


@compiled
def purchase_spread(spread: Floats, purchase: Ints) -> float:
    """Return the standard deviation of Σ l q̂."""
    variance = 0.0
    for i in range(purchase.size):
        part = spread[i] * purchase[i]
        variance += part * part
    return math.sqrt(variance)


@compiled
def _ask(constants: Constants, capacity: Ints, scratch: Scratch) -> None:
    """Have the oracle buy at the estimates in ``scratch``."""
    buy(
        constants.oracle, scratch.revenue, scratch.surplus, capacity, 0.0, scratch.order,
        scratch.ratio, scratch.purchase,
    )  # fmt: skip


@compiled
def choose_cautiously(constants: Constants, capacity: Ints, scratch: Scratch) -> None:
    """Buy so that Σ l (q̂ - α) ≥ z times its own standard deviation: nominal, and per round.

    What the oracle buys is taken if it is safe. If not, a purchase is put together that is. Where
    nothing is safe, the optimistic purchase is made: nothing else would ever teach better, and
    where no producer may reach α it is empty too.
    """
    _ask(constants, capacity, scratch)
    if not is_empty(scratch.purchase):
        needed = constants.caution * purchase_spread(scratch.spread, scratch.purchase)
        if total(scratch.surplus, scratch.purchase) >= needed:
            return
        buy_safely(
            constants.caution, scratch.revenue, scratch.surplus, scratch.spread, capacity,
            scratch.order, scratch.ratio, scratch.purchase,
        )  # fmt: skip
    if is_empty(scratch.purchase):
        for i in range(capacity.size):
            scratch.surplus[i] = scratch.high[i] - constants.target
        _ask(constants, capacity, scratch)


@compiled
def decide(
    constants: Constants, round_: int, books: Books, noise: float, cost: Floats, capacity: Ints,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Decide what a buyer buys, into ``scratch.purchase``; parameters as for :func:`estimate`."""
    if round_ <= constants.exploration:
        for i in range(capacity.size):
            scratch.purchase[i] = capacity[i] if constants.explores_whole else min(1, capacity[i])
        return
    estimate(constants, round_, books, noise, cost, capacity, scratch)
    if constants.caution >= 0.0:
        choose_cautiously(constants, capacity, scratch)
    else:
        _ask(constants, capacity, scratch)


@compiled
def is_safe(caution: float, surplus: float, variance: float) -> bool:
    """Tell whether a purchase's surplus Σ l d is at least z = ``caution`` ≥ 0 deviations.

    Rounding may leave the variance Σ l² σ² just below 0.
    """
    return surplus + TOLERANCE >= caution * math.sqrt(max(0.0, variance))


@compiled
def most_units(
    caution: float, surplus: float, variance: float, step: float, spread: float, bought: int,
    most: int,
) -> int:  # fmt: skip
    """Return by how many units of one producer a safe purchase can change, and is still safe.

    The surplus less z deviations is concave in that number. So what is safe is an interval, and
    halving finds its end. ``step`` and ``spread`` are the producer's d and σ; ``most`` is the
    largest change, negative for fewer units than are ``bought``.
    """
    sign = 1 if most > 0 else -1
    safe, unsafe = 0, abs(most) + 1
    tried = abs(most)
    while unsafe - safe > 1:
        change = sign * tried
        further = spread * spread * change * (2 * bought + change)
        if is_safe(caution, surplus + step * change, variance + further):
            safe = tried
        else:
            unsafe = tried
        # After the whole a single unit: often not even that fits.
        tried = (safe + unsafe) // 2 if safe > 0 or unsafe < abs(most) else 1
    return sign * safe


@compiled
def _insert(order: Ints, key: Floats, count: int, producer: int, value: float) -> int:
    """Put a producer in its place among ``count``, the largest value first; ties by number."""
    place = count
    while place > 0 and key[place - 1] < value:
        key[place], order[place] = key[place - 1], order[place - 1]
        place -= 1
    key[place], order[place] = value, producer
    return count + 1


@compiled
def buy_what_is_sure(
    caution: float, revenue: Floats, surplus: Floats, spread: Floats, capacity: Ints, order: Ints,
    key: Floats, purchase: Ints,
) -> tuple[float, float]:  # fmt: skip
    """Buy whole the most producers of d ≥ 0, the largest d/σ first, that are safe together.

    One of d = 0 that does not earn is not among them: it would pay for nothing. Return the
    purchase's surplus and variance; see :func:`buy_safely` and :func:`is_safe`.
    """
    count = 0
    for i in range(capacity.size):
        purchase[i] = 0
        if surplus[i] > 0.0 or (surplus[i] == 0.0 and revenue[i] >= 0.0):
            count = _insert(order, key, count, i, surplus[i] / spread[i])
    total, variance, sure = 0.0, 0.0, 0
    sure_total, sure_variance = 0.0, 0.0
    for place in range(count):
        i = order[place]
        units = spread[i] * capacity[i]
        total += surplus[i] * capacity[i]
        variance += units * units
        if is_safe(caution, total, variance):
            sure, sure_total, sure_variance = place + 1, total, variance
    for place in range(sure):
        purchase[order[place]] = capacity[order[place]]
    return sure_total, sure_variance


@compiled
def _gain(revenue: float, surplus: float) -> float:
    """Return what a step gains a unit of surplus that it costs; infinite where it costs none."""
    if revenue > 0.0 and surplus >= 0.0:
        return np.inf
    return -revenue / surplus


@compiled
def buy_safely(
    caution: float, revenue: Floats, surplus: Floats, spread: Floats, capacity: Ints, order: Ints,
    key: Floats, purchase: Ints,
) -> None:  # fmt: skip
    """Buy safely: first what is sure, then steps by their gain, each as far as it is safe.

    A step buys units that earn, or gives back units that were bought for their quality alone. One
    that is not safe is left out, and later ones are tried all the same.

    Parameters
    ----------
    caution : float
        z.
    revenue, surplus, spread : (m,) float64
        Revenue r of a unit, d and σ > 0 of every producer.
    capacity : (m,) int64
        The most units that can be bought.
    order, key : (m,) int64, float64
        Buffers that are overwritten.
    purchase : (m,) int64
        Receives the purchase; empty if nothing is sure.
    """
    total, variance = buy_what_is_sure(
        caution, revenue, surplus, spread, capacity, order, key, purchase
    )
    count = 0
    for i in range(capacity.size):
        more = revenue[i] > 0.0 and purchase[i] < capacity[i]
        if more or (revenue[i] < 0.0 and purchase[i] > 0):
            count = _insert(order, key, count, i, _gain(revenue[i], surplus[i]))
    for place in range(count):
        i = order[place]
        most = capacity[i] if revenue[i] > 0.0 else -purchase[i]
        change = most_units(caution, total, variance, surplus[i], spread[i], purchase[i], most)
        total += surplus[i] * change
        variance += spread[i] * spread[i] * change * (2 * purchase[i] + change)
        purchase[i] += change
