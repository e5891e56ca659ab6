"""From a configuration to the numbers that the compiled loop and the parties go by."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np
from scipy.special import ndtri

from fedbandits._typing import Floats, Ints
from fedbandits.environments.procurement import Procurement
from fedbandits.errors import ConfigError
from fedbandits.learners.purchasing import EXACT, GREEDY
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Clear, ContinualSum, Event, GaussianRelease, Parallel
from fedbandits.privacy.continual import ContinualPlan, calibrated
from fedbandits.systems.pfcb.config import (
    PFCB,
    Constant,
    Continual,
    Correlated,
    Every,
    Independent,
    NoNoise,
    Published,
    WithinDeviations,
    WithinRadius,
    exchange_rounds,
)

#: What a report holds: batches in clear, noisy batches, noisy running sums.
CLEAR, BATCHES, RUNNING = 0, 1, 2
#: How a report is judged.
ALWAYS, WITHIN_RADIUS, WITHIN_DEVIATIONS = 0, 1, 2
#: Later than any round.
_NEVER = 2**62

#: Later published budgets are the same in float64: ε/2^(z+1) is nothing beside ε/(2 log₂ T).
_DIFFERENT = 64

#: Buyers that act on reports alone know nothing before the first ones.
_FIRST_RELEASED = 10
_MOST_RUNNING_SUMS = 2**14
#: Beyond it the exact oracle may take minutes for a purchase.
_MOST_EXACT_CAPACITY = 1000
_ROOT_2 = math.sqrt(2.0)

#: Noise of (w, y), in capacities and per unit of scale: one draw each. A purchase that is replaced
#: moves (w, y) by at most √2 k: from nothing to k good units.
_SEPARATE = np.eye(2)
#: A purchase is a point (l, g) with 0 ≤ g ≤ l ≤ k; replacing it moves the sums by a difference of
#: two such points, a hexagon. This is the noise whose covariance is the smallest ellipse around it
#: (Löwner & John): no difference is longer than k in its measure.
_HEXAGONAL = np.array([[math.sqrt(4 / 3), 0.0], [math.sqrt(1 / 3), 1.0]])


class Constants(NamedTuple):
    """Everything constant in a run, as compiled code takes it."""

    agents: int
    producers: int
    exploration: int  # rounds
    explores_whole: bool  # all that capacities allow, or a unit each
    every_round: bool
    exchange_times: Ints
    releases: int
    raw_view: bool
    reports: int  # CLEAR, BATCHES or RUNNING
    published_budgets: bool
    scale: float  # noise of a draw, in capacities; published noise has one of its own a release
    budget: float  # √(2 ln(1.25/δ))/ε
    log_horizon: float  # log₂ T
    coefficients: Floats  # of the running sums
    mixing: Floats  # (2, 2): draws to noise of (w, y)
    covariance: Floats  # (2, 2)
    acceptance: int
    tolerance: float  # ω₁, or deviations
    omega2: float  # 0: by inverse variance
    caution: float  # standard deviations of a purchase's quality; negative: optimistic
    oracle: int
    radius_factor: float  # n or 1
    exploration_scale: float
    target: float  # α + γ
    revenue: float  # ρ


class Plan(msgspec.Struct, frozen=True):
    """What Python needs to know of a variant beside what compiled code takes."""

    constants: Constants
    continual: ContinualPlan | None
    sensitivity: float  # of (w, y) to one purchase, in capacities and in the noise's measure

    def mu(self, releases: int) -> float:
        """μ of the first so many reports of a buyer, for one of its purchases.

        Every purchase is in one batch alone, so the costliest one is charged, not their sum.
        """
        constants = self.constants
        if releases == 0:
            return 0.0
        if constants.reports == CLEAR:
            return math.inf
        if self.continual is not None:
            return self.continual.mu(self.sensitivity, releases)
        return self.sensitivity / min(self.deviation(z) for z in (1, releases))

    def event(self, releases: int) -> Event:
        """What one purchase is charged for after so many reports; lengths are in capacities."""
        if self.constants.reports == CLEAR:
            return Clear()
        if self.continual is not None:
            return ContinualSum(self.continual, self.sensitivity, releases)
        # Reports alike in noise cost the same, however many there are.
        reports = range(1, min(releases, _DIFFERENT) + 1)
        deviations = sorted({self.deviation(z) for z in reports})
        return Parallel(tuple(GaussianRelease(self.sensitivity, d) for d in deviations))

    def deviation(self, release: int) -> float:
        """Scale of a report's noise, in capacities."""
        constants = self.constants
        if constants.published_budgets:
            return published_deviation(constants.budget, constants.log_horizon, release)
        return constants.scale

    def epsilon_spent(self, releases: int, delta: float) -> float:
        """ε that the contents of a buyer's first ``releases`` reports cost, at the given δ."""
        return gaussian.epsilon_of(self.mu(releases), delta)


def published_deviation(budget: float, log_horizon: float, release: int) -> float:
    """Deviation of equations 10 and 11, in capacities: √(2 ln(1.25/δ))/ε_z.

    With ε_z = ε/(2 log₂ T) + ε/2^(z+1), section 5.3; also called from compiled code.
    """
    return budget / (0.5 / log_horizon + 0.5 ** (release + 1))


def make_plan(config: PFCB, environment: Procurement, rounds: int) -> Plan:
    """Resolve a configuration for an environment and a horizon.

    Raises
    ------
    ConfigError
        If the window does not lie within the horizon, or parts do not fit each other or the world.
    """
    _check_target_and_oracle(config, environment)
    n, m = environment.parties, environment.producer_count
    every = isinstance(config.schedule, Every) and n > 1
    first, last = _window(config, rounds)
    times = exchange_rounds(config.schedule, first, min(last, rounds - 1)) if n > 1 else []
    releases = rounds - 1 if every else len(times)
    exploration = _exploration(config, n, rounds)
    if config.local_view == "released":
        if n == 1:
            raise ConfigError('local_view: a single buyer hears no reports; set it to "raw"')
        if releases == 0:
            raise ConfigError(
                f"window: no exchange falls into rounds {first:,} to {min(last, rounds - 1):,}, "
                "and with a released local_view nothing is learned without"
            )
        exploration = max([exploration, *times[:1]])  # nothing is known before the first reports
    noise = _noise(config, releases)
    tolerance, acceptance = _acceptance(config)
    constants = Constants(
        agents=n,
        producers=m,
        exploration=exploration,
        explores_whole=config.exploration_units == "capacity",
        every_round=every,
        exchange_times=np.array([*times, _NEVER], np.int64),
        releases=releases,
        raw_view=config.local_view == "raw",
        reports=_reports(config),
        published_budgets=isinstance(config.privatizer, Published),
        scale=noise.scale,
        budget=math.sqrt(2.0 * math.log(1.25 / config.delta)) / config.epsilon,
        log_horizon=max(1.0, math.log2(rounds)),
        coefficients=np.zeros(0) if noise.continual is None else noise.continual.coefficients(),
        mixing=noise.mixing.copy(),
        covariance=noise.mixing @ noise.mixing.T,
        acceptance=acceptance,
        tolerance=tolerance,
        omega2=config.weighting.omega2 if isinstance(config.weighting, Constant) else 0.0,
        caution=_caution(config),
        oracle=EXACT if config.oracle == "exact" else GREEDY,
        radius_factor=float(n if config.radius == "shared" else 1),
        exploration_scale=config.exploration_scale,
        target=environment.quality_threshold + config.quality_margin,
        revenue=environment.revenue,
    )
    return Plan(constants, noise.continual, noise.sensitivity)


def _check_target_and_oracle(config: PFCB, environment: Procurement) -> None:
    target = environment.quality_threshold + config.quality_margin
    if target >= 1.0:
        raise ConfigError(
            f"quality_margin: given {config.quality_margin:g}, which makes α + γ = {target:g}; "
            "allowed: less than 1 - α"
        )
    if config.oracle == "exact" and environment.largest_capacity > _MOST_EXACT_CAPACITY:
        raise ConfigError(
            f'oracle: given "exact", but capacities go up to {environment.largest_capacity:,}; it '
            f'is for capacities up to {_MOST_EXACT_CAPACITY:,}; set "greedy", or '
            "environment.max_capacity"
        )


def _window(config: PFCB, rounds: int) -> tuple[int, int]:
    if config.window == "auto":
        first = max(1, round(rounds / 500))
        if config.local_view == "released":
            first = min(first, _FIRST_RELEASED)
        return first, max(1, round(0.4 * rounds))
    first, last = config.window
    if not first <= last <= rounds:
        raise ConfigError(
            f"window: given [{first}, {last}], allowed: two rounds of the horizon, 1 ≤ t̲ ≤ t̄ ≤ "
            f'{rounds:,}, or "auto"'
        )
    return first, last


def _exploration(config: PFCB, agents: int, rounds: int) -> int:
    """Rounds t with t ≤ 3 ln(yT) / (2nζ²), at least one."""
    y = float(agents) if config.y == "agents" else float(config.y)
    length = 1.5 * math.log(max(1.0, y * rounds)) / (agents * config.zeta**2)
    return max(1, math.floor(min(length, rounds / 4)))


class _Noise(NamedTuple):
    """How reports are made noisy."""

    scale: float
    mixing: Floats = _SEPARATE
    sensitivity: float = _ROOT_2
    continual: ContinualPlan | None = None


def _noise(config: PFCB, releases: int) -> _Noise:
    match config.privatizer:
        case Independent():
            return _Noise(_calibrated_scale(_ROOT_2, config))
        case Correlated():
            return _Noise(_calibrated_scale(1.0, config), _HEXAGONAL, 1.0)
        case Continual():
            if releases > _MOST_RUNNING_SUMS:
                raise ConfigError(
                    f"schedule: {releases:,} running sums are more than the continual privatizer "
                    f"keeps ({_MOST_RUNNING_SUMS:,}); exchange less often"
                )
            mu = gaussian.mu_of(config.epsilon, config.delta)
            found = calibrated("toeplitz", releases, mu, 1.0)
            return _Noise(found.scale, _HEXAGONAL, 1.0, found)
        case NoNoise() | Published():
            return _Noise(0.0)


def _calibrated_scale(sensitivity: float, config: PFCB) -> float:
    """The least noise whose reports are (ε, δ)-private, a purchase being in one of them alone."""
    return gaussian.least_deviation(sensitivity, gaussian.mu_of(config.epsilon, config.delta))


def _reports(config: PFCB) -> int:
    if isinstance(config.privatizer, NoNoise):
        return CLEAR
    return RUNNING if isinstance(config.privatizer, Continual) else BATCHES


def _acceptance(config: PFCB) -> tuple[float, int]:
    match config.acceptance:
        case WithinRadius():
            return config.acceptance.omega1, WITHIN_RADIUS
        case WithinDeviations():
            return config.acceptance.deviations, WITHIN_DEVIATIONS
        case _:
            return 0.0, ALWAYS


def _caution(config: PFCB) -> float:
    return float(ndtri(config.quality_confidence)) if config.purchases == "cautious" else -1.0
