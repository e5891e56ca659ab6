"""Secure sums: what a buyer adds to one, and what it makes of it."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.privacy.kernels import add_share, simulate_share
from fedbandits.systems.pfcb.kernels import Books, Constants
from fedbandits.systems.pfcb.kernels.reports import begin_exchange, take_report

#: Deviations of the noise of w and of 2y - w, in capacities and per unit of scale.
AXES = (math.sqrt(4.0 / 3.0), 2.0)


@compiled
def largest_capacities(capacities: Ints) -> Ints:
    """Return the most units that any buyer can buy of each producer, (m,), of (n, m)."""
    most = np.zeros(capacities.shape[1], np.int64)
    for j in range(capacities.shape[0]):
        for i in range(most.size):
            most[i] = max(most[i], capacities[j, i])
    return most


@compiled
def share_pattern(most: Ints) -> Floats:
    """Return deviations of the noise of w and 2y - w, (2 m,), per unit of scale.

    ``most`` (m,) is what :func:`largest_capacities` returns.
    """
    m = most.size
    pattern = np.empty(2 * m)
    for i in range(m):
        pattern[i], pattern[m + i] = AXES[0] * most[i], AXES[1] * most[i]
    return pattern


@compiled
def write_sums(own: Floats, sums: Floats) -> None:
    """Write w and 2y - w of all that was bought, (2, m), into ``sums`` (2 m,)."""
    m = own.shape[1]
    for i in range(m):
        sums[i] = own[0, i]
        sums[m + i] = 2.0 * own[1, i] - own[0, i]


@compiled
def add_own_share(
    constants: Constants, release: int, pattern: Floats, draws: Floats, own: Floats, share: Floats,
    total: Ints,
) -> None:  # fmt: skip
    """Write a buyer's share of a sum into ``share`` (2 m,), and add it to ``total`` (2 m,).

    ``draws`` (slots, 2 m) are whole numbers of earlier reports, and standard normals for this one,
    which become whole numbers. Shares and totals are in steps.
    """
    write_sums(own, share)
    simulate_share(
        constants.mechanism, constants.share, constants.step, constants.coefficients, pattern,
        draws, release, share,
    )  # fmt: skip
    add_share(share, total)


@compiled
def read_total(step: float, total: Ints, report: Floats) -> None:
    """Read a sum (2 m,), in steps, as units bought and good of all buyers, ``report`` (2, m)."""
    m = report.shape[1]
    for i in range(m):
        bought = step * total[i]
        report[0, i] = bought
        report[1, i] = 0.5 * (bought + step * total[m + i])


@compiled
def take_total(
    constants: Constants, release: int, round_: int, most: Ints, report: Floats, released: Floats,
    books: Books, judged: Ints,
) -> None:  # fmt: skip
    """Take what others bought from a sum, as one report that is judged and weighed.

    What the others bought is the sum less what the buyer itself has in it, exactly: its own noise
    stays in. So the noise is that of the whole sum.

    Parameters
    ----------
    most : (m,) int64
        Largest capacity of any buyer, which the noise is for.
    report : (2, m) float64
        Of all buyers, see :func:`read_total`.
    released : (2, m) float64
        The buyer's own units in the sum.
    books, judged
        See :func:`.take_report`.
    """
    others = report - released if constants.raw_view else report.copy()
    begin_exchange(constants, books)
    take_report(constants, release, round_, most, others, False, books, judged)
