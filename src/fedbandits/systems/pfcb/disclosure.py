"""How a buyer's report gets its noise, simulated or secure."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.continual import TOEPLITZ, draw_slot
from fedbandits.privacy.running_sum import CoveringNoise, NoiseSource, checked_noise, encode
from fedbandits.systems.pfcb.books import Books
from fedbandits.systems.pfcb.plan import CLEAR, RUNNING, Plan
from fedbandits.systems.pfcb.reports import draw_deviation, write_report


class Disclosed(NamedTuple):
    """What a buyer must save before a report leaves."""

    draws: Floats  # (slots, 2 m): noise in use, or covered values
    sums: Floats  # (slots, 2 m): earlier running sums, in capacities, before w and y are mixed

    @classmethod
    def empty(cls, resolved: Plan) -> Self:
        """Before the first report."""
        slots = resolved.continual.slots if resolved.continual else 1
        shape = (slots, 2 * resolved.rules.producers)
        return cls(np.zeros(shape), np.zeros(shape))


def disclose(
    resolved: Plan, release: int, capacity: Ints, books: Books, state: Disclosed, noise: NoiseSource
) -> tuple[Disclosed, Floats]:
    """Write a buyer's report; what it reports on is no longer fresh.

    Parameters
    ----------
    resolved : Plan
    release : int
        Its number, from 1.
    capacity : (m,) int64
    books : Books
        Its ``fresh`` is emptied.
    state : Disclosed
        Left as it is.
    noise
        Asked once, unless reports are in clear.

    Returns
    -------
    state, report
        The state to save, then the report (2, m).

    Raises
    ------
    NoiseError
        If the source did not give 2 m finite numbers.
    """
    rules, report = resolved.rules, np.zeros((2, len(capacity)))
    if rules.reports == CLEAR:
        write_report(rules, release, capacity, state.draws, books, report)
        return state, report
    draws, sums = state.draws.copy(), state.sums.copy()
    slot = int(draw_slot(TOEPLITZ, release)) if rules.reports == RUNNING else 0
    written = books
    if isinstance(noise, CoveringNoise):
        values = _values(resolved, release, slot, capacity, books, sums)
        draws[slot] = checked_noise(noise.cover(release, values), values.size)
        written = books._replace(own=np.zeros_like(books.own), fresh=np.zeros_like(books.fresh))
    else:
        draws[slot] = checked_noise(noise(release), 2 * len(capacity))
    write_report(rules, release, capacity, draws, written, report)
    books.fresh[:] = 0.0
    return Disclosed(draws, sums), report


def _values(
    resolved: Plan, release: int, slot: int, capacity: Ints, books: Books, sums: Floats
) -> Floats:
    """What is covered, (2 m,): units in deviations of a draw, before w and y are mixed."""
    rules = resolved.rules
    known = books.own if rules.reports == RUNNING else books.fresh
    units = np.divide(known, capacity, out=np.zeros_like(known), where=capacity > 0)
    sums[slot] = np.linalg.solve(rules.mixing, units).reshape(-1)
    if resolved.continual is None:
        values: Floats = sums[slot] / draw_deviation(rules, release)
        return values
    return encode(resolved.continual, sums, release) / rules.scale
