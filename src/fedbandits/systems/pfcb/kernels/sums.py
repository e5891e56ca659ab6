"""Secure sums: what a buyer adds to one, and what it makes of it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.privacy.kernels import add_share, simulate_share
from fedbandits.systems.pfcb.kernels import Books, Constants
from fedbandits.systems.pfcb.kernels.reports import begin_exchange, take_noisy

#: Deviations of the noise of w and of 2y - w, in capacities and per unit of scale.
AXES = (math.sqrt(4.0 / 3.0), 2.0)
#: A unit of a buyer with a small capacity counts as so many units at most.
MOST_WEIGHT = 2.0
#: Weights of units are whole multiples of it, so sums of weighed units are exact.
WEIGHT_STEP = 2.0**-10


class Measures(NamedTuple):
    """Public facts of a sum that follow from everybody's capacities, (m,) each."""

    most: Floats  # largest capacity of any buyer, which noise is for
    typical: Floats  # units that an effective one stands for


@compiled
def unit_weight(capacity: int, most: float) -> float:
    """Return what a unit counts for in a sum, of a buyer that can buy so many.

    The largest capacity ``most`` over its own: an order that takes all counts as much as one of
    the largest buyer, and is hidden as well. But it is at most :data:`MOST_WEIGHT`: weights that
    differ much make a sum of few units.
    """
    found = most / max(float(capacity), most / MOST_WEIGHT) if most > 0.0 else 1.0
    return math.floor(found / WEIGHT_STEP) * WEIGHT_STEP


@compiled
def measures(capacities: Ints) -> Measures:
    """Return the measures of all buyers' ``capacities``, (n, m).

    Units of weights a have the information of (Σ a w)² / Σ a² w units. With orders in proportion to
    capacities that is Σ a w / ρ, where ρ = Σ a² k / Σ a k is typical.
    """
    n, m = capacities.shape
    most, typical = np.zeros(m), np.ones(m)
    for i in range(m):
        for j in range(n):
            most[i] = max(most[i], float(capacities[j, i]))
        weighed = squares = 0.0
        for j in range(n):
            weight = unit_weight(capacities[j, i], most[i])
            weighed += weight * capacities[j, i]
            squares += weight * weight * capacities[j, i]
        if weighed > 0.0:
            typical[i] = squares / weighed
    return Measures(most, typical)


@compiled
def write_sums(capacity: Ints, most: Floats, own: Floats, sums: Floats) -> None:
    """Write w and 2y - w of all that was bought, (2, m), weighed, into ``sums`` (2 m,)."""
    m = capacity.size
    for i in range(m):
        weight = unit_weight(capacity[i], most[i])
        sums[i] = weight * own[0, i]
        sums[m + i] = weight * (2.0 * own[1, i] - own[0, i])


@compiled
def add_own_share(
    constants: Constants, release: int, most: Floats, draws: Floats, share: Floats, total: Ints
) -> None:
    """Turn a buyer's sums into its share, in place: ``share`` (2 m,); add it to ``total`` (2 m,).

    ``draws`` (slots, 2 m) are whole numbers of earlier reports, and standard normals for this one,
    which become whole numbers. Shares and totals are in steps.
    """
    simulate_share(
        constants.mechanism, constants.share, constants.step, constants.coefficients,
        share_pattern(most), draws, release, share,
    )  # fmt: skip
    add_share(share, total)


@compiled
def share_pattern(most: Floats) -> Floats:
    """Return deviations of the noise of w and 2y - w, (2 m,), per unit of scale."""
    m = most.size
    pattern = np.empty(2 * m)
    for i in range(m):
        pattern[i], pattern[m + i] = AXES[0] * most[i], AXES[1] * most[i]
    return pattern


@compiled
def take_total(
    constants: Constants, scale: float, round_: int, known: Measures, total: Ints, released: Floats,
    books: Books, judged: Ints,
) -> None:  # fmt: skip
    """Take what others bought from a sum, as one report that is judged and weighed.

    What the others bought is the sum less what the buyer itself has in it, exactly: its own noise
    stays in. So the noise is that of the whole sum.

    Parameters
    ----------
    scale : float
        Scale of all the noise in the sum, in capacities.
    known : Measures
        See :func:`measures`.
    total : (2 m,) int64
        The sum, in steps.
    released : (2 m,) float64
        The buyer's own part of the sum, see :func:`write_sums`; zeros if it acts on sums alone.
    books, judged
        See :func:`.take_noisy`.
    """
    m = known.most.size
    report, noise_for = np.empty((2, m)), np.empty(m)
    for i in range(m):
        bought = constants.step * total[i] - released[i]
        better = constants.step * total[m + i] - released[m + i]
        report[0, i] = bought / known.typical[i]
        report[1, i] = 0.5 * (bought + better) / known.typical[i]
        noise_for[i] = known.most[i] / known.typical[i]
    begin_exchange(constants, books)
    take_noisy(constants, scale, round_, noise_for, report, False, books, judged)
