"""Noise of a variant, and the bounds on it that published confidence rests on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import ConfigError
from fedbandits.facts import ContextualFacts
from fedbandits.learners.confidence import (
    SpectralBounds,
    bias_norm_factor,
    operator_norm_factor,
    published_bounds,
    vector_norm_factor,
)
from fedbandits.privacy import gaussian
from fedbandits.privacy.continual import MOST_RELEASES, ContinualPlan, calibrated, noise_pattern
from fedbandits.privacy.rounding import coarseness, require_room, rounding_constant
from fedbandits.privacy.shares import ShareNeeds, plan_grid, share_plan
from fedbandits.systems.agents.config import AgentsConfig, Growing, Optimal, Tree
from fedbandits.systems.aggregation import SecureTotals

_MOST_TOEPLITZ_RELEASES = 2**14
#: A schedule that grows faster has two releases at most, and their weights hardly matter.
_LEAST_DECAY = 1e-4


def published_levels(releases: int) -> int:
    """Return the levels of the tree, m = 1 + ⌈log₂ n⌉ (Algorithm 2)."""
    return 1 + max(releases - 1, 0).bit_length()


class Releases(NamedTuple):
    """Releases of all agents: one mechanism, with the deviation that each one's ε asks for."""

    most_noise: ContinualPlan  # of the smallest ε: for bounds on the noise
    least_noise: ContinualPlan  # of the largest ε: for claims
    scales: Floats  # (agents,): every agent's s
    #: The mechanism that all noise in a secure sum comes to; None where agents release in clear.
    total: ContinualPlan | None = None

    @property
    def priced(self) -> ContinualPlan:
        """The mechanism that a record's price follows from."""
        return self.least_noise if self.total is None else self.total

    @property
    def relative_deviation(self) -> float:
        """Root mean square of the agents' deviations as a multiple of the largest; at most 1."""
        largest = self.most_noise.scale
        return math.sqrt(float(np.mean((self.scales / largest) ** 2))) if largest > 0.0 else 1.0


def budgets(config: AgentsConfig, agents: int) -> tuple[float, ...]:
    """Return ε of every agent.

    Raises
    ------
    ConfigError
        If there is a list of another length.
    """
    given = config.epsilon
    if not isinstance(given, tuple):
        return (given,) * agents
    if len(given) != agents:
        raise ConfigError(
            f"epsilon: given {len(given)} budgets, allowed: a number, or a list with one for each "
            f"of the {agents} agents"
        )
    return given


def gram_noise(config: AgentsConfig) -> float:
    """Return ρ, the deviation of the noise of Σ x xᵀ relative to that of Σ x y."""
    if config.gram_noise != "auto":
        return config.gram_noise
    if config.uses_published_noise:
        return 1.0
    return gaussian.best_gram_noise(
        config.context_bound, config.reward_bound, config.parameter_bound
    )


def record_norm(config: AgentsConfig) -> float:
    """Return how far one replaced record can move a running sum, in the norm of the noise."""
    return gaussian.record_sensitivity(
        config.context_bound, config.reward_bound, gram_noise(config)
    )


def largest_product(config: AgentsConfig) -> float:
    """Bound the numbers that a record adds to sums: max(L², L B)."""
    return config.context_bound * max(config.context_bound, config.reward_bound)


def record_grid(
    config: AgentsConfig, facts: ContextualFacts, rounds: int, releases: Releases,
    record_norm: float, secure: SecureTotals | None,
) -> float:  # fmt: skip
    """Return the constant that rounds records, so that sums of them are exact.

    Raises
    ------
    ConfigError
        If rounding needs more than its margin in calibrated noise.
    """
    if secure is None or releases.total is None:
        _require_exact_sums(config, facts.dimension, rounds, releases.most_noise.releases)
        return rounding_constant(rounds, largest_product(config))
    unequal = gram_noise(config)
    return plan_grid(
        ShareNeeds(
            total=releases.total,
            honest=secure.honest,
            parties=facts.parties,
            records=rounds,
            largest=largest_product(config),
            reach=record_norm,
            unrounded=(facts.dimension + 1.0)
            / (math.sqrt(2.0) * min(unequal, 1.0))
            * config.records_at_once,
            pattern=noise_pattern(facts.models, facts.dimension, unequal),
            delta=config.delta,
        )
    )


def _require_exact_sums(config: AgentsConfig, dimension: int, rounds: int, releases: int) -> None:
    if config.is_private and not config.uses_published_noise:
        coarse = coarseness(largest_product(config), record_norm(config), gram_noise(config))
        require_room(rounds, dimension, releases, coarse)


def releases_of_all(
    config: AgentsConfig, agents: int, releases: int, record_norm: float,
    secure: SecureTotals | None = None,
) -> Releases:  # fmt: skip
    """Plan how every agent's running sum is released, at most ``releases`` times.

    Where sums are ``secure``, each agent has a share of the noise of one.
    """
    if secure is not None:
        total = release_plan(config, releases, record_norm, budgets(config, agents)[0])
        share = share_plan(total, secure.honest)
        return Releases(share, share, np.full(agents, share.scale), total)
    epsilons = budgets(config, agents)
    plans = {
        epsilon: release_plan(config, releases, record_norm, epsilon)
        for epsilon in dict.fromkeys(epsilons)  # a million agents may have one
    }
    scales = np.array([plans[epsilon].scale for epsilon in epsilons])
    return Releases(plans[min(epsilons)], plans[max(epsilons)], scales)


def published_scale(config: AgentsConfig, releases: int, epsilon: float) -> float:
    """Return the deviation of Algorithm 2, line 5: s² = 16 m (L² + 1)² ln²(2/δ) / ε².

    For k records of a person it is k times as large.
    """
    size = config.context_bound**2 + 1.0
    root = math.sqrt(16.0 * published_levels(releases))
    budget = epsilon / config.records_at_once
    return root * size * math.log(2.0 / config.delta) / budget


def release_plan(
    config: AgentsConfig, releases: int, record_norm: float, epsilon: float
) -> ContinualPlan:
    """Plan how one running sum is released for a budget, at most ``releases`` times."""
    if not config.is_private:
        return ContinualPlan("none", releases, 0.0)
    if config.uses_published_noise:
        return ContinualPlan("tree", releases, published_scale(config, releases, epsilon))
    mu, norm = gaussian.mu_of(epsilon, config.delta), record_norm
    if isinstance(config.privatizer, Tree):
        return calibrated("tree", releases, mu, norm)
    if isinstance(config.privatizer, Optimal) and releases <= MOST_RELEASES:
        return calibrated("optimal", releases, mu, norm, release_decay(config))
    require_few(releases, 'sync less often, or set privatizer = "tree"')
    return calibrated("toeplitz", releases, mu, norm)


def release_decay(config: AgentsConfig) -> float:
    """Return how much the noise of a release counts, relative to the release before.

    A release after t rounds weighs 1/√t. If regret grew with the width of confidence, all
    variances of growing batches would weigh alike; if it grew with its square, 1/t. Batches of
    equal length count alike.
    """
    schedule = config.schedule
    if not isinstance(schedule, Growing):
        return 1.0
    return max(1.0 / math.sqrt(schedule.factor), _LEAST_DECAY)


def require_few(releases: int, remedy: str) -> None:
    """Refuse more releases than a Toeplitz mechanism should make.

    Raises
    ------
    ConfigError
        If there are more; the message ends with the remedy.
    """
    if releases > _MOST_TOEPLITZ_RELEASES:
        raise ConfigError(
            f"schedule: {releases:,} releases are more than the toeplitz privatizer should keep "
            f"({_MOST_TOEPLITZ_RELEASES:,}: its state and time grow with their number); {remedy}"
        )


def spectral_bounds(
    config: AgentsConfig, facts: ContextualFacts, release: ContinualPlan, estimators: int
) -> SpectralBounds | None:
    """Return ρ_min, ρ_max, κ of published confidence: the paper's, or those of the actual noise.

    ``release`` is that of the agent with the most noise. Where budgets differ its bounds hold for
    all of them: the paper (section 4.1) asks for a lower bound on the budgets, no more.
    ``estimators`` have a running sum each: the failure probability is split over all of them.
    """
    if config.confidence != "published":
        return None
    agents, releases = facts.parties, max(release.releases, 1)
    worst = release.largest_deviation()
    if worst == 0.0:  # nothing is released, or in clear
        share = ridge(config) / agents
        return SpectralBounds(share, share, 0.0)
    if config.uses_published_noise:
        return published_bounds(
            published_levels(releases),
            releases * estimators,
            agents,
            facts.dimension,
            config.context_bound,
            min(budgets(config, agents)) / config.records_at_once,
            config.delta,
            config.alpha,
        )
    # Half of α goes to noise, half of that to each of two events an agent, release and model.
    alpha = config.alpha / (4.0 * releases * estimators * agents * facts.models)
    norm = worst * gram_noise(config) * operator_norm_factor(facts.dimension, alpha)
    vector = worst * vector_norm_factor(facts.dimension, alpha)
    return SpectralBounds(norm, 3.0 * norm, vector / math.sqrt(norm))


def bias_factor(config: AgentsConfig, dimension: int, share: float, unequal: float) -> float:
    """Return :func:`.bias_norm_factor`; 0 where there is no noise, or no bound that needs it.

    It takes an integral, and half of the memory of a party would be for what integrates.
    """
    if not config.is_private or config.confidence != "adaptive":
        return 0.0
    return bias_norm_factor(dimension, config.parameter_bound, share, unequal)


def prior_ridge(config: AgentsConfig) -> float:
    """Return λ of agents that explore standard deviations.

    ``auto`` makes two standard deviations of the mean reward of a context x that nothing is known
    of S‖x‖: σ² / λ = (S/2)².
    """
    if config.regularization == "auto":
        return (2.0 * config.noise_scale / config.parameter_bound) ** 2
    return float(config.regularization)


def ridge(config: AgentsConfig, noise_norm: float = 0.0) -> float:
    """Return λ₁; ``auto`` follows the noise."""
    if config.regularization == "auto":
        return max(1.0, noise_norm)
    return float(config.regularization)
