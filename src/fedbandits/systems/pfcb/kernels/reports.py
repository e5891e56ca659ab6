"""Reports: when one is due, how it is made, and how one is judged, weighed and taken."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.privacy.kernels import add_release_noise, release_deviation
from fedbandits.systems.pfcb.kernels import (
    ALWAYS,
    BATCHES,
    CLEAR,
    RUNNING,
    WITHIN_RADIUS,
    Books,
    Constants,
    draw_deviation,
)

_draw_deviation = compiled(draw_deviation)

#: By so many deviations of its noise a reported number of units is lowered before it is weighed.
_DOUBT = 2.0


@compiled
def next_exchange(constants: Constants, round_: int) -> int:
    """Return the first round after ``round_`` at whose end buyers exchange reports."""
    if constants.every_round:
        return round_ + 1
    place = 0
    while constants.exchange_times[place] <= round_:
        place += 1
    return int(constants.exchange_times[place])


@compiled
def noise_deviation(constants: Constants, release: int) -> float:
    """Return the scale of all the noise in a report, in capacities."""
    if constants.reports == CLEAR:
        return 0.0
    if constants.reports == RUNNING:
        mechanism, coefficients = constants.mechanism, constants.coefficients
        return float(release_deviation(mechanism, constants.scale, coefficients, release))
    return float(_draw_deviation(constants, release))


@compiled
def next_noise(constants: Constants, releases: int) -> float:
    """Return the scale of the noise in the next report, or in the last one if there is none."""
    if constants.releases == 0:
        return 0.0
    return noise_deviation(constants, max(1, min(releases + 1, constants.releases)))


@compiled
def write_report(
    constants: Constants, release: int, capacity: Ints, draws: Floats, books: Books, report: Floats
) -> None:
    """Write a buyer's report, into ``report`` (2, m); what it reports on is no longer fresh.

    ``draws`` (slots, 2 m) are standard normals; for running sums those of all reports so far.
    """
    m, mixing = capacity.size, constants.mixing
    noise = np.zeros(2 * m)  # in capacities, before w and y are mixed
    if constants.reports == RUNNING:
        ones = np.ones(2 * m)
        add_release_noise(
            constants.mechanism, constants.scale, constants.coefficients, ones, draws, release,
            noise,
        )  # fmt: skip
    elif constants.reports == BATCHES:
        noise += _draw_deviation(constants, release) * draws[0]
    known = books.own if constants.reports == RUNNING else books.fresh
    for row in range(2):
        for i in range(m):
            mixed = mixing[row, 0] * noise[i] + mixing[row, 1] * noise[m + i]
            report[row, i] = known[row, i] + capacity[i] * mixed
    books.fresh[:] = 0.0


@compiled
def believes(
    constants: Constants, round_: int, known: float, counted: float, distance: float, error: float
) -> bool:
    """Tell whether a buyer takes a report on ``counted`` > 0 units of one producer.

    It is judged by W = ``known`` > 0 units and the ``distance`` ỹ - q̂ w̃, in units; ``error`` is
    what :func:`.error_variance` returns. The answer depends on the size of the distance, not on its
    sign: a test of ỹ/w̃ would take more errors of one sign, as w̃ shares their noise.
    """
    if constants.acceptance == ALWAYS:
        return True
    if constants.acceptance == WITHIN_RADIUS:
        radius = math.sqrt(1.5 * math.log(constants.judging_factor * round_) / known)
        return abs(distance) <= constants.tolerance * radius * counted
    variance = 0.25 * counted * counted / known + 0.25 * counted + error
    return abs(distance) <= constants.tolerance * math.sqrt(variance)


@compiled
def take_report(
    constants: Constants, release: int, round_: int, capacity: Ints, report: Floats, mine: bool,
    books: Books, judged: Ints,
) -> None:  # fmt: skip
    """Judge a report by its number, and add what is believed; see :func:`take_noisy`."""
    scale = noise_deviation(constants, release)
    take_noisy(constants, scale, round_, capacity, report, mine, books, judged)


@compiled
def take_noisy(
    constants: Constants, scale: float, round_: int, capacity: Any, report: Floats, mine: bool,
    books: Books, judged: Ints,
) -> None:  # fmt: skip
    """Judge a report producer by producer, and add what is believed (Procedure 1).

    A report of no units says nothing and is refused. With a constant weight units are w̃, as
    printed; by inverse variance they are those of :func:`.decorrelated_units`, taken at q̂, or at
    ½ where nothing is known yet. To a buyer with purchases of its own to go by, the weight is that
    of as many units as there are with some certainty: noise alone must not count as evidence for
    q̂, by which the units are computed.

    Parameters
    ----------
    scale : float
        Scale of its noise, in capacities.
    capacity : (m,) int64 or float64
        The most units that its sender can buy, which its noise is for.
    report : (2, m) float64
        The reported w̃ and ỹ, in units.
    mine : bool
        Whether the buyer made it itself; then it is not judged.
    books : Books
        Of the buyer that takes it; ``combined`` is added to.
    judged : (2,) int64
        Counts what was accepted and refused; added to.
    """
    constant = constants.omega2 > 0.0
    combined, evidence = books.combined, books.own if constants.judged_by_own else books.combined
    for i in range(capacity.size):
        if capacity[i] == 0:
            continue
        reported, good, known = report[0, i], report[1, i], combined[0, i]
        quality = combined[1, i] / known if known > 0.0 else 0.5
        clipped, noise = min(1.0, max(0.0, quality)), scale * capacity[i]
        error = error_variance(constants.covariance, noise, clipped)
        counted = sure = reported
        if not constant:
            counted = decorrelated_units(
                constants.covariance, noise, clipped, error, reported, good
            )
            sure = counted
            if constants.raw_view:
                sure -= _DOUBT * noise * math.sqrt(constants.covariance[0, 0])
        taken, judge = sure > 0.0, evidence[0, i]
        if taken and judge > 0.0 and not mine:
            distance = good - evidence[1, i] / judge * reported
            taken = believes(constants, round_, judge, counted, distance, error)
        if taken:
            weight = constants.omega2 if constant else worth(sure, error)
            combined[0, i] += weight * reported
            combined[1, i] += weight * good
        if not mine:
            judged[0 if taken else 1] += 1


@compiled
def begin_exchange(constants: Constants, books: Books) -> None:
    """Begin to take the reports of an exchange: running sums replace earlier ones."""
    if constants.reports == RUNNING:
        books.combined[:] = 0.0
        if constants.raw_view:
            books.combined[:] = books.own


@compiled
def error_variance(covariance: Floats, noise: float, quality: float) -> float:
    """Return the variance of y - q w by the noise of (w, y) alone.

    ``covariance`` (2, 2) is the noise's, for a scale of one unit; ``noise`` is its scale in units.
    """
    mixed = covariance[1, 1] - 2.0 * quality * covariance[0, 1]
    return float(noise * noise * (mixed + quality * quality * covariance[0, 0]))


@compiled
def decorrelated_units(
    covariance: Floats, noise: float, quality: float, error: float, units: float, good: float
) -> float:
    """Return reported units w̃, less what the error in ỹ - q w̃ tells of their own noise.

    What is left is uncorrelated with that error, so a weight that is made of it does not favour
    errors of one sign. See :func:`error_variance`, which returned ``error``.
    """
    variance = error + 0.25 * max(units, 0.0)
    if variance == 0.0:
        return units
    shared = noise * noise * (covariance[0, 1] - quality * covariance[0, 0])
    return float(units - shared / variance * (good - quality * units))


@compiled
def worth(units: float, error: float) -> float:
    """Return what a reported unit counts for, where all ``units`` have an error in y - q w.

    Sampling adds a variance of at most w/4, the noise ``error``. Weighed by w / (w + 4 error),
    combined sums have Var(Y/W) ≤ 1/(4W), as if W were units bought by oneself: these are the
    weights by inverse variance. That is exact for a weight that is fixed beforehand, and
    approximate for one made of what was reported.
    """
    return units / (units + 4.0 * error)
