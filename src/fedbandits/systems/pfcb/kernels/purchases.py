"""How a buyer decides what to buy: estimates from its books, then a purchase by the oracle."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.exact_purchasing import buy
from fedbandits.learners.kernels.purchasing import is_empty, total
from fedbandits.systems.pfcb.kernels.books import Books, error_variance, worth
from fedbandits.systems.pfcb.kernels.constants import Constants
from fedbandits.systems.pfcb.kernels.safely import buy_safely


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
    """Buffers for one buyer."""
    kinds: dict[str, Any] = dict.fromkeys(("order", "purchase", "good"), np.int64)
    return Scratch(
        **{name: np.zeros(producers, kinds.get(name, np.float64)) for name in Scratch._fields}
    )


@compiled
def radius_scale(constants: Constants, round_: int) -> float:
    """√(3 ln x / 2), which over √W is the confidence radius; x is the round, or n times it.

    As printed in Algorithm 1 it is √(3 ln x / 2n).
    """
    return math.sqrt(1.5 * math.log(constants.radius_factor * round_) / constants.radius_divisor)


@compiled
def estimate(
    constants: Constants, round_: int, books: Books, noise: float, cost: Floats, capacity: Ints,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Upper bounds of every producer's revenue, and its surplus of quality, into ``scratch``.

    A producer that nothing is known of may be perfect; whether it meets the constraint is then
    hoped for by an optimistic buyer and not counted on by a cautious one.

    A buyer that acts on reports alone does not learn within a batch, but it knows what it has
    decided to buy, which follows from reports: what the next one will tell narrows the radius
    beforehand (Desautels, Krause & Burdick 2014, for batches). Otherwise it would explore for a
    whole batch what a few rounds suffice for.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
    round_ : int
        The round that is decided on, from 1.
    books : Books
        The books of the buyer.
    noise : float
        Scale of the noise in its next report, in capacities.
    cost : (m,) float64
        The buyer's cost of a unit.
    capacity : (m,) int64
        The most units that the buyer can buy.
    scratch : Scratch
        Receives what is found.
    """
    combined = books.combined
    cautious = constants.caution >= 0.0
    scale = constants.exploration_scale * radius_scale(constants, round_)
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
    """Standard deviation of Σ l q̂."""
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
    """What a buyer buys in a round, into ``scratch.purchase``; parameters as for `estimate`."""
    if round_ <= constants.exploration:
        for i in range(capacity.size):
            scratch.purchase[i] = capacity[i] if constants.explores_whole else min(1, capacity[i])
        return
    estimate(constants, round_, books, noise, cost, capacity, scratch)
    if constants.caution >= 0.0:
        choose_cautiously(constants, capacity, scratch)
    else:
        _ask(constants, capacity, scratch)
