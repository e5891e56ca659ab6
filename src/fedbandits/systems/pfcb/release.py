"""How a buyer releases a report, with simulated noise or with secure noise.

Secure noise covers what is known before anything is computed from it, see
:mod:`fedbandits.privacy.running_sum`.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.kernels import TOEPLITZ, draw_slot
from fedbandits.privacy.running_sum import (
    NoiseSource,
    checked_noise,
    cover,
    encode,
)
from fedbandits.systems.pfcb.kernels.books import Books
from fedbandits.systems.pfcb.kernels.constants import CLEAR, RUNNING
from fedbandits.systems.pfcb.kernels.reports import write_report
from fedbandits.systems.pfcb.plan import PFCBPlan


class ReleaseState(NamedTuple):
    """What a buyer must save before a report leaves."""

    draws: Floats  # (slots, 2 m): noise in use, or covered values
    sums: Floats  # (slots, 2 m): earlier running sums, in capacities, before w and y are mixed

    @classmethod
    def empty(cls, plan: PFCBPlan) -> Self:
        """The state before the first report."""
        shape = (plan.slots, 2 * plan.constants.producers)
        return cls(np.zeros(shape), np.zeros(shape))


def release_report(
    plan: PFCBPlan,
    release: int,
    capacity: Ints,
    books: Books,
    state: ReleaseState,
    noise: NoiseSource,
) -> tuple[ReleaseState, Floats]:
    """Write a buyer's report; what it reports on is no longer fresh.

    Parameters
    ----------
    plan : PFCBPlan
        What all buyers go by.
    release : int
        The report's number, from 1.
    capacity : (m,) int64
        The most units that the buyer can buy.
    books : Books
        The buyer's; ``fresh`` is emptied.
    state : ReleaseState
        Where its releases stand; left as it is.
    noise
        The buyer's source; asked once, unless reports are in clear.

    Returns
    -------
    state, report
        The state to save, then the report (2, m).

    Raises
    ------
    NoiseError
        If the source did not give 2 m finite numbers.
    """
    constants, report = plan.constants, np.zeros((2, len(capacity)))
    if constants.reports == CLEAR:
        write_report(constants, release, capacity, state.draws, books, report)
        return state, report
    draws, sums = state.draws.copy(), state.sums.copy()
    slot = int(draw_slot(TOEPLITZ, release)) if constants.reports == RUNNING else 0
    written = books
    if hasattr(noise, "cover"):
        values = _values(plan, release, slot, capacity, books, sums)
        draws[slot] = cover(noise, release, values)
        written = books._replace(own=np.zeros_like(books.own), fresh=np.zeros_like(books.fresh))
    else:
        draws[slot] = checked_noise(noise(release), 2 * len(capacity))
    write_report(constants, release, capacity, draws, written, report)
    books.fresh[:] = 0.0
    return ReleaseState(draws, sums), report


def _values(
    plan: PFCBPlan, release: int, slot: int, capacity: Ints, books: Books, sums: Floats
) -> Floats:
    """What is covered, (2 m,): units in deviations of a draw, before w and y are mixed.

    The exact running sum, in capacities, is noted in its slot of ``sums``.
    """
    constants = plan.constants
    known = books.own if constants.reports == RUNNING else books.fresh
    units = np.divide(known, capacity, out=np.zeros_like(known), where=capacity > 0)
    sums[slot] = np.linalg.solve(constants.mixing, units).reshape(-1)
    if plan.continual is None:
        values: Floats = sums[slot] / plan.deviation(release)
        return values
    return encode(plan.continual, sums, release) / constants.scale
