"""Noise that reports need: how far a purchase moves them, and calibration to a buyer's budget.

A purchase is a point (l, g) with 0 ≤ g ≤ l ≤ k. Where outcomes are late, neighbouring worlds may
differ in it, and in when it was inspected: it is v in batch i of one world, and v' in batch j of
the other, or in no batch at all. So a purchase moves from one report to another. Both v and v' are
as far from nothing as a replaced purchase can move at most.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import ConfigError
from fedbandits.facts import ProcurementFacts
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import GaussianRelease
from fedbandits.privacy.continual import (
    MOST_RELEASES,
    ContinualPlan,
    calibrated,
    encoder,
    toeplitz_coefficients,
)
from fedbandits.privacy.gaussian import ROUNDING_MARGIN
from fedbandits.privacy.shares import ShareNeeds, finest_grid, share_plan
from fedbandits.systems.aggregation import SecureTotals
from fedbandits.systems.pfcb.config import (
    PFCB,
    Continual,
    Correlated,
    Growing,
    Independent,
    NoNoise,
    Optimal,
    Published,
)
from fedbandits.systems.pfcb.kernels.sums import AXES, WEIGHT_STEP

_MOST_RUNNING_SUMS = 2**14
#: A schedule that grows faster has two reports at most, and their weights hardly matter.
_LEAST_DECAY = 1e-4
_ROOT_2 = math.sqrt(2.0)
#: More than rounding takes from a sum of so many squares.
_ROUNDING_ROOM = 1.0 + 1e-12

#: Noise of (w, y), in capacities and per unit of scale: one draw each. A purchase that is replaced
#: moves (w, y) by at most √2 k: from nothing to k good units.
_SEPARATE = np.eye(2)
#: A purchase is a point (l, g) with 0 ≤ g ≤ l ≤ k; replacing it moves the sums by a difference of
#: two such points, a hexagon. This is the noise whose covariance is the smallest ellipse around it
#: (Löwner & John): no difference is longer than k in its measure.
HEXAGONAL = np.array([[math.sqrt(4 / 3), 0.0], [math.sqrt(1 / 3), 1.0]])


class Noise(NamedTuple):
    """Noise of reports."""

    scale: float  # deviation of a draw, in capacities; 0 where reports differ, or are in clear
    mixing: Floats = _SEPARATE  # (2, 2): draws to noise of (w, y)
    sensitivity: float = _ROOT_2  # of a batch to one purchase, in capacities and in its measure
    continual: ContinualPlan | None = None  # of running sums; of a secure sum, that of the sum
    share: float = 0.0  # deviation of a draw of one buyer's share of a secure sum, in capacities
    step: float = 0.0  # q, of the whole numbers that secure sums add up, in units


def noise_of_reports(config: PFCB, releases: int) -> Noise:
    """Work out the noise of a buyer's ``releases`` reports; refuse too many running sums."""
    late = config.outcomes == "late"
    further = further_in_batches(releases) if late else 1.0
    match config.privatizer:
        case Independent():
            return Noise(_calibrated_scale(_ROOT_2 * further, config))
        case Correlated():
            return Noise(_calibrated_scale(further, config), HEXAGONAL, 1.0)
        case Continual() | Optimal():
            unit = running_sums(config, releases)
            further = further_when_moved(unit, releases) if late else 1.0
            found = calibrated_sums(unit, config, further)
            return Noise(found.scale, HEXAGONAL, 1.0, found)
        case NoNoise() | Published():
            return Noise(0.0)


def running_sums(config: PFCB, releases: int) -> ContinualPlan:
    """Return the mechanism of running sums, with noise of deviation 1; refuse too many of them.

    A report after t rounds counts as much as that after 1.5 t times √1.5: noise matters less and
    less beside what has been bought.
    """
    if isinstance(config.privatizer, Optimal) and releases <= MOST_RELEASES:
        schedule = config.schedule
        grows = schedule.factor if isinstance(schedule, Growing) else 1.0
        return ContinualPlan("optimal", releases, 1.0, max(1.0 / math.sqrt(grows), _LEAST_DECAY))
    if releases > _MOST_RUNNING_SUMS:
        raise ConfigError(
            f"schedule: {releases:,} running sums are more than the continual privatizer "
            f"keeps ({_MOST_RUNNING_SUMS:,}); exchange less often"
        )
    return ContinualPlan("toeplitz", releases, 1.0)


def calibrated_sums(unit: ContinualPlan, config: PFCB, reach: float) -> ContinualPlan:
    """Return the mechanism with the least noise for (ε, δ), by how far a purchase moves sums."""
    mu = gaussian.mu_of(config.epsilon, config.delta)
    return calibrated(unit.mechanism, unit.releases, mu, reach, unit.decay)


def _calibrated_scale(sensitivity: float, config: PFCB) -> float:
    """Return the least noise of (ε, δ)-private reports, by how far a purchase moves all of them."""
    return gaussian.least_deviation(sensitivity, gaussian.mu_of(config.epsilon, config.delta))


def further_in_batches(releases: int) -> float:
    """Return how many times as far as a replaced purchase a moved one moves equal reports.

    Two reports change, each by at most as much as one: √(1 + 1), if there are two.
    """
    return math.sqrt(2.0) if releases > 1 else 1.0


def in_two_batches(sensitivity: float, deviations: Sequence[float]) -> GaussianRelease:
    """Return the price of a moved purchase: that of the two least noisy reports, as one.

    One purchase can move a batch by ``sensitivity``; the deviations of reports are rising.
    """
    least = deviations[0]
    other = least / deviations[1] if len(deviations) > 1 else 0.0
    return GaussianRelease(sensitivity * math.hypot(1.0, other), least)


def further_when_moved(plan: ContinualPlan, releases: int) -> float:
    """Return how many times as far as a replaced purchase a moved one moves running sums.

    See :func:`further_in_running_sums`, for Toeplitz. Of the optimal mechanism all pairs of batches
    are looked at; its C has no negative numbers either.
    """
    if plan.mechanism != "optimal":
        return further_in_running_sums(releases)
    if not releases:
        return 1.0
    rows = encoder(plan.releases, plan.decay)[:releases, :releases]
    together = rows.T @ rows
    alone = np.diag(together)
    worst = float(np.max(alone[:, None] + alone - together))
    return math.sqrt(worst) / plan.sensitivity(releases) * _ROUNDING_ROOM


def further_in_running_sums(releases: int) -> float:
    """Return how many times as far as a replaced purchase a moved one moves running sums.

    The mechanism encodes batches by C, lower triangular and Toeplitz with c₀, c₁, … > 0. In the
    measure of the noise that fits a purchase, 0 ≤ ⟨v, v'⟩, and |v|, |v'| ≤ 1. The square of
    |c₍ᵢ₎ v - c₍ⱼ₎ v'| is convex in each of the two, so it is largest at corners of the triangle
    (0, 0), (k, 0), (k, k), of which the last two are at an angle of 60°: it is at most

        Gᵢᵢ + Gⱼⱼ - Gᵢⱼ,   G = Cᵀ C

    or Gᵢᵢ, where the purchase is in one world alone. All depends on the lag j - i and on how many
    reports come after batch i, each of which adds to it. So the worst first batch is the first of
    all, and the worst lag is looked for. It is less than √2 times as far, as Gᵢⱼ > 0.
    """
    return float(_further(1 << (releases - 1).bit_length())[releases - 1]) if releases else 1.0


@functools.lru_cache(maxsize=32)  # lengths are powers of two: there are no more than that
def _further(count: int) -> Floats:
    """Return :func:`further_in_running_sums` of 1 … ``count`` releases."""
    coefficients = toeplitz_coefficients(count)
    alone = np.cumsum(coefficients**2)
    more, found = np.zeros(count), np.empty(count)  # by lag: Gⱼⱼ - Gᵢⱼ
    for k in range(count):
        later = coefficients[k::-1]
        more[: k + 1] += later * (later - coefficients[k])
        found[k] = math.sqrt(1.0 + max(0.0, float(more[: k + 1].max())) / alone[k])
    return found * _ROUNDING_ROOM


#: Beyond it rounding is not a matter of small corrections any more.
_MOST_ROOM = 0.1


def noise_of_shares(
    config: PFCB, facts: ProcurementFacts, rounds: int, releases: int, secure: SecureTotals
) -> Noise:
    """Work out the noise of a secure sum, and of each buyer's share of it.

    Raises
    ------
    ConfigError
        If no grid of 64-bit whole numbers is fine enough for so many purchases.
    """
    unit = running_sums(config, releases)
    reach = further_in_batches(releases) if config.outcomes == "late" else 1.0
    total = calibrated_sums(unit, config, reach)
    needs = _needs(config, facts, rounds, secure, total, reach)
    grid, room = finest_grid(needs), 1.0
    if grid.moved > ROUNDING_MARGIN:
        # With more noise rounding moves a purchase less, so there is room for what it does now.
        room += grid.moved
        total = calibrated_sums(unit, config, reach * room)
    grid.require(_MOST_ROOM, needs)
    if grid.step > WEIGHT_STEP:
        raise ConfigError(
            f"rounds: purchases of {rounds:,} rounds of {facts.parties:,} buyers do not fit into a "
            "secure sum of 64-bit whole numbers; use fewer rounds, or fewer buyers"
        )
    share = share_plan(total, secure.honest).scale
    read = math.sqrt(facts.parties) * share  # all have sent, so all of their noise is in it
    return Noise(read, HEXAGONAL, room, total, share, grid.step)


def _needs(
    config: PFCB, facts: ProcurementFacts, rounds: int, secure: SecureTotals, total: ContinualPlan,
    reach: float,
) -> ShareNeeds:  # fmt: skip
    """Return the needs that the grid depends on: two numbers of one producer.

    The part of other producers is the same in both worlds. Capacities may be drawn later than a
    plan is made, so producers of the largest and of the smallest capacity are counted.
    """
    axes, largest = np.array(AXES), max(facts.largest_capacity, 1)
    return ShareNeeds(
        total=total, honest=secure.honest, parties=facts.parties, records=rounds,
        largest=float(largest), reach=reach, unrounded=0.0,
        pattern=np.concatenate([axes, largest * axes]), delta=config.delta,
    )  # fmt: skip
