"""From a configuration to the numbers that the compiled loop and the parties go by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.errors import ConfigError
from fedbandits.learners.confidence import (
    SpectralBounds,
    bias_norm_factor,
    least_eigenvalue_factor,
)
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Clear, ContinualSum, Event
from fedbandits.privacy.continual import ContinualPlan, noise_pattern
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.noise import Releases, releases_of_all, ridge, spectral_bounds
from fedbandits.systems.feducb.parts import (
    NEVER,
    Determinant,
    first_useful_round,
    settled,
    sync_rounds,
)

#: How a sync is due: at rounds fixed in advance, or when a determinant has grown.
FIXED, TRIGGERED = 0, 1


class Rules(NamedTuple):
    """Everything constant in a run, as compiled code takes it."""

    agents: int
    models: int
    dimension: int
    raw_view: bool
    schedule: int  # FIXED or TRIGGERED
    period: int  # sync every so many rounds, or 0: see sync_times
    sync_times: Ints
    threshold: float  # D
    mechanism: int
    releases: int  # n
    noise_deviation: Floats  # (agents,): s
    coefficients: Floats
    pattern: Floats
    published_confidence: bool
    exploration_scale: float
    reward_noise: float  # σ
    context_bound: float
    reward_bound: float
    parameter_bound: float
    clip: bool
    base: float  # λ₁, or Mρ_min
    shift: float  # added to the pooled Gram matrix; adaptive confidence chooses its own
    trigger_shift: float  # M(ρ_max - ρ_min)
    log_term: float
    norm_factor: float  # N ⪰ -norm_factor · deviation of a sum's noise
    bias_factor: float  # ‖Nθ* - h‖ ≤ bias_factor · deviation of a sum's noise
    published_bias: float  # S√(Mρ_max) + κ√M


class Pooling(NamedTuple):
    """How releases are brought together, by a controller or over a graph."""

    typical: float  # agents in a pooled sum
    sums: int  # different pooled sums that one release of every agent leads to
    orders: int  # different orders in which records enter pooled sums: one martingale each
    estimators: int = 1  # to which rounds are dealt in turn
    divisor: float = 1.0  # of the trigger's threshold


class Plan(msgspec.Struct, frozen=True):
    """A resolved variant: what Python needs to know beside the compiled rules."""

    rules: Rules
    release: ContinualPlan  # of the agent with the largest ε, where budgets differ
    record_norm: float  # L² + B²
    bounds: SpectralBounds | None  # of one agent's shifted noise, published confidence only

    def event(self, releases: int | None = None) -> Event:
        """What a record is charged for after so many releases; after all of them if not given."""
        if self.release.mechanism == "none":
            return Clear()
        return ContinualSum(self.release, self.record_norm, releases)

    def epsilon_spent(self, releases: int, delta: float) -> float:
        """ε that the contents of an agent's first ``releases`` releases cost, at the given δ."""
        return gaussian.epsilon_of(self.release.mu(self.record_norm, releases), delta)

    def of_agent(self, agent: int) -> Self:
        """The plan that one agent goes by: the same, with the noise of its own budget."""
        scale = float(self.rules.noise_deviation[agent])
        own = msgspec.structs.replace(self.release, scale=scale)
        return msgspec.structs.replace(self, release=own)


def plan(
    config: FedUCB,
    environment: ContextualEnvironment,
    rounds: int,
    pooling: Pooling | None = None,
) -> Plan:
    """Resolve a configuration for an environment and a horizon; by default with a controller.

    Raises
    ------
    ConfigError
        If the environment can exceed the bounds L or B and ``out_of_bounds`` is ``refuse``, or
        budgets are not one an agent.
    """
    _check_bounds(config, environment)
    schedule = settled(config.schedule, rounds, environment.agents)
    config = msgspec.structs.replace(config, schedule=schedule)
    pooling = pooling or _with_controller(config, environment)
    record_norm = gaussian.record_sensitivity(config.context_bound, config.reward_bound)
    times = _sync_times(config, environment, rounds, record_norm, pooling)
    uses = -(-rounds // pooling.estimators)  # of one estimator
    count = uses if times is None else len(times)
    release = releases_of_all(config, environment.agents, count, record_norm)
    bounds = spectral_bounds(config, environment, release.loudest, pooling.estimators)
    rules = _rules(config, environment, release, bounds, times, pooling)
    rules = rules._replace(threshold=_threshold(config, environment, uses, bounds, pooling))
    return Plan(rules, release.quietest, record_norm, bounds)


def _with_controller(config: FedUCB, environment: ContextualEnvironment) -> Pooling:
    orders = environment.agents if config.local_view == "raw" else 1
    return Pooling(environment.agents, 1, orders)


def _check_bounds(config: FedUCB, environment: ContextualEnvironment) -> None:
    if config.out_of_bounds == "clip":
        return
    low, high = environment.reward_range
    for name, limit, reach, what in (
        ("context_bound", config.context_bound, environment.context_norm, "contexts of norm up to"),
        ("reward_bound", config.reward_bound, max(abs(low), abs(high)), "rewards of size up to"),
    ):
        if reach > limit:
            raise ConfigError(
                f"{name}: {limit:g} is too small for this environment, which has {what} "
                f'{reach:g}; raise {name} or set out_of_bounds = "clip"'
            )


def _sync_times(
    config: FedUCB,
    environment: ContextualEnvironment,
    rounds: int,
    record_norm: float,
    pooling: Pooling,
) -> Sequence[int] | None:
    """Sync rounds; what ``first = "auto"`` means follows from the noise of an eager schedule."""
    eager = sync_rounds(config.schedule, rounds)
    if eager is None or not len(eager) or not config.is_private:
        return eager
    noise = releases_of_all(config, environment.agents, len(eager), record_norm)
    first = first_useful_round(
        pooling.typical,
        environment.dimension,
        config.context_bound,
        noise.loudness * noise.loudest.largest_deviation(),
        rounds,
    )
    return sync_rounds(config.schedule, rounds, first)


def _threshold(
    config: FedUCB,
    environment: ContextualEnvironment,
    uses: int,
    bounds: SpectralBounds | None,
    pooling: Pooling,
) -> float:
    """D: given, by Theorem 1, or such that about n syncs happen in ``uses`` rounds.

    With the published shifts the trigger's left side sits near d ln 2 whatever the data, so a
    sync comes about every D/(d ln 2) rounds: D = d ln 2 · T/n.
    """
    if not isinstance(config.schedule, Determinant):
        return 0.0
    threshold = config.schedule.threshold
    dimension = environment.dimension * environment.models
    if threshold == "theory":
        low = bounds.rho_min if bounds else ridge(config) / environment.agents
        high = bounds.rho_max if bounds else low
        growth = math.log(high / low + uses * config.context_bound**2 / (dimension * low))
        return 2.0 * uses * dimension / (growth + 1.0) / pooling.divisor
    if threshold == "wang":
        pooled = environment.agents * uses
        return uses * math.log(pooled) / (dimension * environment.agents) / pooling.divisor
    if isinstance(threshold, str):
        syncs = {
            "M log T": math.ceil(math.log2(max(uses, 2))),
            "M^1.5": math.ceil(math.sqrt(environment.agents)),
            "MT": uses,
        }[threshold]
        return dimension * math.log(2.0) * uses / syncs
    return float(threshold) / pooling.divisor


def _rules(
    config: FedUCB,
    environment: ContextualEnvironment,
    release: Releases,
    bounds: SpectralBounds | None,
    times: Sequence[int] | None,
    pooling: Pooling,
) -> Rules:
    agents, models, dimension = environment.agents, environment.models, environment.dimension
    loudest = release.loudest
    share = config.alpha / (4.0 * max(loudest.releases, 1) * pooling.sums * models)
    bias = shift = trigger_shift = 0.0
    if bounds is not None:
        bias = config.parameter_bound * math.sqrt(agents * bounds.rho_max)
        bias += bounds.kappa * math.sqrt(agents)
        trigger_shift = agents * (bounds.rho_max - bounds.rho_min)
        # The paper adds 2Λ an agent. Without noise, the ridge parameter.
        shift = 2.0 * bounds.rho_min * agents if config.is_private else ridge(config)
    period = times.step if isinstance(times, range) and len(times) else 0
    rules = Rules(
        agents=agents,
        models=models,
        dimension=dimension,
        raw_view=config.local_view == "raw",
        schedule=TRIGGERED if times is None else FIXED,
        period=period,
        sync_times=np.array([*([] if times is None or period else times), NEVER], np.int64),
        threshold=0.0,
        mechanism=loudest.code,
        releases=loudest.releases,
        noise_deviation=release.scales,
        coefficients=loudest.coefficients(),
        pattern=noise_pattern(models, dimension),
        published_confidence=bounds is not None,
        exploration_scale=float(config.exploration_scale),
        reward_noise=float(config.noise_scale),
        context_bound=float(config.context_bound),
        reward_bound=float(config.reward_bound),
        parameter_bound=float(config.parameter_bound),
        clip=config.out_of_bounds == "clip",
        base=0.0,
        shift=float(shift),
        trigger_shift=float(trigger_shift),
        log_term=0.0,
        norm_factor=least_eigenvalue_factor(dimension, share),
        bias_factor=bias_norm_factor(dimension, config.parameter_bound, share),
        published_bias=float(bias),
    )
    pooled = agents * release.loudness**2
    base, log_term = radius_base(config, rules, loudest, bounds, pooling, pooled)
    return rules._replace(base=base, log_term=log_term)


def radius_base(
    config: FedUCB,
    rules: Rules,
    release: ContinualPlan,
    bounds: SpectralBounds | None,
    pooling: Pooling,
    pooled: float,
) -> tuple[float, float]:
    """λ₁ (or Mρ_min) and the log term of the radius, for sums of ``pooled`` such releases."""
    if bounds is not None:
        base = rules.agents * bounds.rho_min
        return base, 2.0 * math.log(2.0 / config.alpha) - rules.dimension * math.log(base)
    noise = rules.norm_factor * math.sqrt(pooled) * release.largest_deviation()
    base = ridge(config, noise)
    martingales = rules.models * pooling.orders
    log_term = 2.0 * math.log(2.0 * martingales / config.alpha) - rules.dimension * math.log(base)
    return base, log_term
