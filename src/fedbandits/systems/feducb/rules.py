"""From a configuration to the numbers that the compiled loop and the parties go by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.errors import ConfigError
from fedbandits.learners.confidence import (
    SpectralBounds,
    bias_norm_factor,
    least_eigenvalue_factor,
    operator_norm_factor,
    published_bounds,
    vector_norm_factor,
)
from fedbandits.privacy import gaussian
from fedbandits.privacy.continual import ContinualPlan, Mechanism, calibrated, noise_pattern
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.parts import (
    NEVER,
    Determinant,
    Every,
    Schedule,
    Toeplitz,
    first_useful_round,
    sync_rounds,
)

_MOST_TOEPLITZ_RELEASES = 2**14

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
    noise_deviation: float  # s
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
    norm_factor: float  # N ⪰ -norm_factor · deviation of one agent's noise
    bias_factor: float  # ‖Nθ* - h‖ ≤ bias_factor · deviation of one agent's noise
    published_bias: float  # S√(Mρ_max) + κ√M


class Plan(msgspec.Struct, frozen=True):
    """A resolved variant: what Python needs to know beside the compiled rules."""

    rules: Rules
    release: ContinualPlan
    record_norm: float  # L² + B²
    bounds: SpectralBounds | None  # of one agent's shifted noise, published confidence only

    def epsilon_spent(self, releases: int, delta: float) -> float:
        """ε that the contents of an agent's first ``releases`` releases cost, at the given δ."""
        return gaussian.epsilon_of(self.release.mu(self.record_norm, releases), delta)


def plan(config: FedUCB, environment: ContextualEnvironment, rounds: int) -> Plan:
    """Resolve a configuration for an environment and a horizon.

    Raises
    ------
    ConfigError
        If the environment can exceed the bounds L or B and ``out_of_bounds`` is ``refuse``.
    """
    _check_bounds(config, environment)
    record_norm = gaussian.record_sensitivity(config.context_bound, config.reward_bound)
    times = _sync_times(config, environment, rounds, record_norm)
    release = _release_plan(config, rounds if times is None else len(times), record_norm)
    bounds = _spectral_bounds(config, environment, release)
    threshold = _threshold(config.schedule, environment, rounds, config, bounds)
    rules = _rules(config, environment, release, bounds, times, threshold)
    return Plan(rules, release, record_norm, bounds)


def published_levels(releases: int) -> int:
    """Levels of the tree, m = 1 + ⌈log₂ n⌉ (Algorithm 2)."""
    return 1 + max(releases - 1, 0).bit_length()


def published_scale(config: FedUCB, releases: int) -> float:
    """The deviation of Algorithm 2, line 5: s² = 16 m (L² + 1)² ln²(2/δ) / ε²."""
    size = config.context_bound**2 + 1.0
    root = math.sqrt(16.0 * published_levels(releases))
    return root * size * math.log(2.0 / config.delta) / config.epsilon


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
    config: FedUCB, environment: ContextualEnvironment, rounds: int, record_norm: float
) -> Sequence[int] | None:
    """Sync rounds; what ``first = "auto"`` means follows from the noise of an eager schedule."""
    eager = sync_rounds(config.schedule, rounds)
    if eager is None or not len(eager) or not config.is_private:
        return eager
    noise = _release_plan(config, len(eager), record_norm)
    first = first_useful_round(
        environment.agents,
        environment.dimension,
        config.context_bound,
        noise.largest_deviation(),
        rounds,
    )
    return sync_rounds(config.schedule, rounds, first)


def _release_plan(config: FedUCB, releases: int, record_norm: float) -> ContinualPlan:
    if not config.is_private:
        return ContinualPlan("none", releases, 0.0)
    if config.uses_published_noise:
        return ContinualPlan("tree", releases, published_scale(config, releases))
    mechanism: Mechanism = "toeplitz" if isinstance(config.privatizer, Toeplitz) else "tree"
    mu = gaussian.mu_of(config.epsilon, config.delta)
    if mechanism == "toeplitz" and releases > _MOST_TOEPLITZ_RELEASES:
        raise ConfigError(
            f"schedule: {releases:,} releases are more than the toeplitz privatizer should keep "
            f"({_MOST_TOEPLITZ_RELEASES:,}: its state and time grow with their number); sync less "
            'often, or set privatizer = "tree"'
        )
    return calibrated(mechanism, releases, mu, record_norm)


def _spectral_bounds(
    config: FedUCB, environment: ContextualEnvironment, release: ContinualPlan
) -> SpectralBounds | None:
    """Published confidence rests on ρ_min, ρ_max, κ: the paper's, or those of the actual noise."""
    if config.confidence == "adaptive":
        return None
    agents, releases = environment.agents, max(release.releases, 1)
    if not config.is_private:
        share = _ridge(config) / agents
        return SpectralBounds(share, share, 0.0)
    if config.uses_published_noise:
        return published_bounds(
            published_levels(releases),
            releases,
            agents,
            environment.dimension,
            config.context_bound,
            config.epsilon,
            config.delta,
            config.alpha,
        )
    # Half of α goes to noise, half of that to each of two events an agent, release and model.
    alpha = config.alpha / (4.0 * releases * agents * environment.models)
    worst = release.largest_deviation()
    norm = worst * operator_norm_factor(environment.dimension, alpha)
    vector = worst * vector_norm_factor(environment.dimension, alpha)
    return SpectralBounds(norm, 3.0 * norm, vector / math.sqrt(norm))


def _threshold(
    schedule: Schedule,
    environment: ContextualEnvironment,
    rounds: int,
    config: FedUCB,
    bounds: SpectralBounds | None,
) -> float:
    """D: given, by Theorem 1, or such that about n syncs happen.

    With the published shifts the trigger's left side sits near d ln 2 whatever the data, so a
    sync comes about every D/(d ln 2) rounds: D = d ln 2 · T/n.
    """
    if not isinstance(schedule, Determinant):
        return 0.0
    dimension = environment.dimension * environment.models
    if schedule.threshold == "theory":
        low = bounds.rho_min if bounds else _ridge(config) / environment.agents
        high = bounds.rho_max if bounds else low
        growth = math.log(high / low + rounds * config.context_bound**2 / (dimension * low))
        return 2.0 * rounds * dimension / (growth + 1.0)
    if isinstance(schedule.threshold, str):
        syncs = {
            "M log T": math.ceil(math.log2(max(rounds, 2))),
            "M^1.5": math.ceil(math.sqrt(environment.agents)),
            "MT": rounds,
        }[schedule.threshold]
        return dimension * math.log(2.0) * rounds / syncs
    return schedule.threshold


def _rules(
    config: FedUCB,
    environment: ContextualEnvironment,
    release: ContinualPlan,
    bounds: SpectralBounds | None,
    times: Sequence[int] | None,
    threshold: float,
) -> Rules:
    agents, models, dimension = environment.agents, environment.models, environment.dimension
    releases = max(release.releases, 1)
    raw = config.local_view == "raw"
    share = config.alpha / (4.0 * releases * models)
    norm_factor = least_eigenvalue_factor(dimension, share) * math.sqrt(agents)
    if bounds is not None:
        base = agents * bounds.rho_min
        log_term = 2.0 * math.log(2.0 / config.alpha) - dimension * math.log(base)
        bias = config.parameter_bound * math.sqrt(agents * bounds.rho_max)
        bias += bounds.kappa * math.sqrt(agents)
        trigger_shift = agents * (bounds.rho_max - bounds.rho_min)
    else:
        base = _ridge(config, norm_factor * release.largest_deviation())
        martingales = models * (agents if raw else 1)
        log_term = 2.0 * math.log(2.0 * martingales / config.alpha) - dimension * math.log(base)
        bias, trigger_shift = 0.0, 0.0
    period = config.schedule.rounds if isinstance(config.schedule, Every) else 0
    return Rules(
        agents=agents,
        models=models,
        dimension=dimension,
        raw_view=raw,
        schedule=TRIGGERED if times is None else FIXED,
        period=period,
        sync_times=np.array([*([] if times is None or period else times), NEVER], np.int64),
        threshold=float(threshold),
        mechanism=release.code,
        releases=release.releases,
        noise_deviation=release.scale,
        coefficients=release.coefficients(),
        pattern=noise_pattern(models, dimension),
        published_confidence=bounds is not None,
        exploration_scale=float(config.exploration_scale),
        reward_noise=float(config.noise_scale),
        context_bound=float(config.context_bound),
        reward_bound=float(config.reward_bound),
        parameter_bound=float(config.parameter_bound),
        clip=config.out_of_bounds == "clip",
        base=float(base),
        shift=_pooled_shift(config, agents, bounds),
        trigger_shift=float(trigger_shift),
        log_term=log_term,
        norm_factor=norm_factor,
        bias_factor=bias_norm_factor(dimension, config.parameter_bound, share) * math.sqrt(agents),
        published_bias=float(bias),
    )


def _pooled_shift(config: FedUCB, agents: int, bounds: SpectralBounds | None) -> float:
    """What the paper adds: 2Λ an agent. Without noise, the ridge parameter."""
    if bounds is None or not config.is_private:
        return _ridge(config)
    return 2.0 * bounds.rho_min * agents


def _ridge(config: FedUCB, noise_norm: float = 0.0) -> float:
    """λ₁; ``auto`` follows the noise."""
    if config.regularization == "auto":
        return max(1.0, noise_norm)
    return float(config.regularization)
