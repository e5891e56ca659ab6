"""Reports: how one is made, gets its noise, is judged and weighed; for the loop and the parties."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.privacy.continual import (
    TOEPLITZ,
    add_release_noise,
    draw_slot,
    release_deviation,
)
from fedbandits.privacy.running_sum import CoveringNoise, NoiseSource, checked_noise, encode
from fedbandits.systems.pfcb.kernels import Books, decorrelated_units, error_variance, worth
from fedbandits.systems.pfcb.plan import (
    ALWAYS,
    BATCHES,
    CLEAR,
    RUNNING,
    WITHIN_RADIUS,
    Constants,
    Plan,
    published_deviation,
)

_published_deviation = compiled(published_deviation)


@compiled
def next_exchange(constants: Constants, round_: int) -> int:
    """First round after ``round_`` at whose end buyers exchange reports."""
    if constants.every_round:
        return round_ + 1
    place = 0
    while constants.exchange_times[place] <= round_:
        place += 1
    return int(constants.exchange_times[place])


def batch_length(constants: Constants, release: int, round_: int) -> int:
    """How many rounds the report of an exchange in ``round_`` is about."""
    if constants.reports == RUNNING or release <= 1:
        return round_
    before = release - 1 if constants.every_round else int(constants.exchange_times[release - 2])
    return round_ - before


@compiled
def draw_deviation(constants: Constants, release: int) -> float:
    """Scale of a report's own noise, in capacities."""
    if constants.published_budgets:
        return float(_published_deviation(constants.budget, constants.log_horizon, release))
    return constants.scale


@compiled
def noise_deviation(constants: Constants, release: int) -> float:
    """Scale of all the noise in a report, in capacities."""
    if constants.reports == CLEAR:
        return 0.0
    if constants.reports == RUNNING:
        return float(release_deviation(TOEPLITZ, constants.scale, constants.coefficients, release))
    return draw_deviation(constants, release)


@compiled
def next_noise(constants: Constants, releases: int) -> float:
    """Scale of the noise in the next report, or in the last one when there is no next."""
    if constants.releases == 0:
        return 0.0
    return noise_deviation(constants, max(1, min(releases + 1, constants.releases)))


@compiled
def _unmixed_noise(constants: Constants, release: int, draws: Floats, noise: Floats) -> None:
    """The noise of a report in capacities, before w and y are mixed, into ``noise`` (2 m,)."""
    noise[:] = 0.0
    if constants.reports == RUNNING:
        ones = np.ones(noise.size)
        add_release_noise(
            TOEPLITZ, constants.scale, constants.coefficients, ones, draws, release, noise
        )
    elif constants.reports == BATCHES:
        noise += draw_deviation(constants, release) * draws[0]


@compiled
def write_report(
    constants: Constants, release: int, capacity: Ints, draws: Floats, books: Books, report: Floats
) -> None:
    """A buyer's report, into ``report`` (2, m); what it reports on is no longer fresh.

    Parameters
    ----------
    release : int
        Its number, from 1.
    capacity : (m,) int64
    draws : (slots, 2 m) float64
        Standard normals; for running sums those of all reports so far.
    """
    m = capacity.size
    noise, mixing = np.empty(2 * m), constants.mixing
    _unmixed_noise(constants, release, draws, noise)
    known = books.own if constants.reports == RUNNING else books.fresh
    for row in range(2):
        for i in range(m):
            mixed = mixing[row, 0] * noise[i] + mixing[row, 1] * noise[m + i]
            report[row, i] = known[row, i] + capacity[i] * mixed
    books.fresh[:] = 0.0


@compiled
def believes(
    constants: Constants, round_: int, pooled: float, counted: float, distance: float, error: float
) -> bool:
    """Whether a buyer takes a report on one producer.

    The answer depends on the size of the distance, not on its sign: a test of ỹ/w̃ would take more
    errors of one sign, as w̃ shares their noise.

    Parameters
    ----------
    pooled : float
        W > 0, what it knows.
    counted : float
        How many units the report is about, > 0.
    distance : float
        ỹ - q̂ w̃.
    error : float
        See :func:`error_variance`.
    """
    if constants.acceptance == ALWAYS:
        return True
    if constants.acceptance == WITHIN_RADIUS:  # Procedure 1, with ln(nt) as printed there
        radius = math.sqrt(1.5 * math.log(constants.agents * round_) / pooled)
        return abs(distance) <= constants.tolerance * radius * counted
    variance = 0.25 * counted * counted / pooled + 0.25 * counted + error
    return abs(distance) <= constants.tolerance * math.sqrt(variance)


@compiled
def take_report(
    constants: Constants, release: int, round_: int, capacity: Ints, report: Floats, mine: bool,
    pool: Floats, judged: Ints,
) -> None:  # fmt: skip
    """Judge a report producer by producer and pool what is believed (Procedure 1).

    A report of no units says nothing and is refused. With a constant weight units are w̃, as
    printed; by inverse variance they are those of :func:`.decorrelated_units`, taken at q̂, or at
    ½ where nothing is known yet.

    Parameters
    ----------
    release, round_ : int
        Of the report.
    capacity : (m,) int64
        Of its sender.
    report : (2, m) float64
    mine : bool
        Whether the buyer made it itself; then it is not judged.
    pool : (2, m) float64
    judged : (2,) int64
        Counts what was accepted and refused.
    """
    scale, constant = noise_deviation(constants, release), constants.omega2 > 0.0
    for i in range(capacity.size):
        if capacity[i] == 0:
            continue
        reported, good, pooled = report[0, i], report[1, i], pool[0, i]
        quality = pool[1, i] / pooled if pooled > 0.0 else 0.5
        clipped, noise = min(1.0, max(0.0, quality)), scale * capacity[i]
        error = error_variance(constants.covariance, noise, clipped)
        counted = reported
        if not constant:
            counted = decorrelated_units(
                constants.covariance, noise, clipped, error, reported, good
            )
        taken = counted > 0.0
        if taken and pooled > 0.0 and not mine:
            taken = believes(constants, round_, pooled, counted, good - quality * reported, error)
        if taken:
            weight = constants.omega2 if constant else worth(counted, error)
            pool[0, i] += weight * reported
            pool[1, i] += weight * good
        if not mine:
            judged[0 if taken else 1] += 1


@compiled
def open_pool(constants: Constants, books: Books) -> None:
    """Before the reports of an exchange are taken: running sums replace earlier ones."""
    if constants.reports == RUNNING:
        for row in range(2):
            for i in range(books.pool.shape[1]):
                books.pool[row, i] = books.own[row, i] if constants.raw_view else 0.0


class Disclosed(NamedTuple):
    """What a buyer must save before a report leaves."""

    draws: Floats  # (slots, 2 m): noise in use, or covered values
    sums: Floats  # (slots, 2 m): earlier running sums, in capacities, before w and y are mixed

    @classmethod
    def empty(cls, plan: Plan) -> Self:
        """Before the first report."""
        slots = plan.continual.slots if plan.continual else 1
        shape = (slots, 2 * plan.constants.producers)
        return cls(np.zeros(shape), np.zeros(shape))


def disclose(
    plan: Plan, release: int, capacity: Ints, books: Books, state: Disclosed, noise: NoiseSource
) -> tuple[Disclosed, Floats]:
    """Write a buyer's report; what it reports on is no longer fresh.

    Parameters
    ----------
    plan : Plan
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
    constants, report = plan.constants, np.zeros((2, len(capacity)))
    if constants.reports == CLEAR:
        write_report(constants, release, capacity, state.draws, books, report)
        return state, report
    draws, sums = state.draws.copy(), state.sums.copy()
    slot = int(draw_slot(TOEPLITZ, release)) if constants.reports == RUNNING else 0
    written = books
    if isinstance(noise, CoveringNoise):
        values = _values(plan, release, slot, capacity, books, sums)
        draws[slot] = checked_noise(noise.cover(release, values), values.size)
        written = books._replace(own=np.zeros_like(books.own), fresh=np.zeros_like(books.fresh))
    else:
        draws[slot] = checked_noise(noise(release), 2 * len(capacity))
    write_report(constants, release, capacity, draws, written, report)
    books.fresh[:] = 0.0
    return Disclosed(draws, sums), report


def _values(
    plan: Plan, release: int, slot: int, capacity: Ints, books: Books, sums: Floats
) -> Floats:
    """What is covered, (2 m,): units in deviations of a draw, before w and y are mixed."""
    constants = plan.constants
    known = books.own if constants.reports == RUNNING else books.fresh
    units = np.divide(known, capacity, out=np.zeros_like(known), where=capacity > 0)
    sums[slot] = np.linalg.solve(constants.mixing, units).reshape(-1)
    if plan.continual is None:
        values: Floats = sums[slot] / draw_deviation(constants, release)
        return values
    return encode(plan.continual, sums, release) / constants.scale
