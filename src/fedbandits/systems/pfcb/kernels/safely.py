"""Purchases whose surplus of quality is several standard deviations, as large as they can be made.

With q̂ of every producer, its deviation σ and d = q̂ - α, an order l is *safe* if
Σ l d ≥ z √(Σ l² σ²). Errors of different producers average out, and producers that are not in the
order do not count. So what is little known is bought too, as many units as the others' surplus
covers: a buyer that never bought it would never learn that it is better than it looked.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.purchasing import TOLERANCE


@compiled
def is_safe(caution: float, surplus: float, variance: float) -> bool:
    """Whether a purchase's surplus is at least z deviations.

    Parameters
    ----------
    caution : float
        z ≥ 0.
    surplus, variance : float
        Σ l d and Σ l² σ²; rounding may leave the latter just below 0.
    """
    return surplus + TOLERANCE >= caution * math.sqrt(max(0.0, variance))


@compiled
def most_units(
    caution: float, surplus: float, variance: float, step: float, spread: float, bought: int,
    most: int,
) -> int:  # fmt: skip
    """How many units of one producer a safe purchase can change by, and is still safe.

    The surplus less z deviations is concave in that number. So what is safe is an interval, and
    halving finds its end.

    Parameters
    ----------
    caution, surplus, variance : float
        See :func:`is_safe`; of the purchase as it is.
    step, spread : float
        The producer's d and σ.
    bought : int
        Its units in the purchase.
    most : int
        The largest change: more units if it is positive, fewer if it is negative.

    Returns
    -------
    change : int
        From 0 to ``most``.
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
    """The most producers of d ≥ 0, those of the largest d/σ first, that are safe when bought whole.

    One of d = 0 that does not earn is not among them: it would pay for nothing.

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
        Receives the purchase.

    Returns
    -------
    surplus, variance
        Those of the purchase, see :func:`is_safe`.
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
    """What a step gains a unit of surplus that it costs; endless where it costs none."""
    if revenue > 0.0 and surplus >= 0.0:
        return np.inf
    return -revenue / surplus


@compiled
def buy_safely(
    caution: float, revenue: Floats, surplus: Floats, spread: Floats, capacity: Ints, order: Ints,
    key: Floats, purchase: Ints,
) -> None:  # fmt: skip
    """A safe purchase: what is sure, then steps by their gain, each as far as it is safe.

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
