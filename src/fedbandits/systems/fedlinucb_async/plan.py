"""From a configuration to the numbers that the compiled loop and the parties go by."""

from __future__ import annotations

import math

from fedbandits.environments.facts import ContextualFacts
from fedbandits.systems.agents.config import FedUCB, Never, NoNoise
from fedbandits.systems.agents.plan import TRIGGERED, Constants, Plan
from fedbandits.systems.agents.plan import make_plan as plan_feducb
from fedbandits.systems.fedlinucb_async.config import AsyncFedLinUCB


def make_plan(config: AsyncFedLinUCB, facts: ContextualFacts, rounds: int) -> Plan:
    """Resolve a configuration: FedUCB's plan in clear, with this paper's trigger and radius.

    Raises
    ------
    ConfigError
        If the environment can exceed the bounds L or B and ``out_of_bounds`` is ``refuse``.
    """
    plan = plan_feducb(as_feducb(config), facts, rounds)
    growth = _growth(config, facts.parties)
    constants = plan.constants._replace(
        schedule=TRIGGERED, threshold=math.log1p(growth), shift=plan.constants.base
    )
    if config.confidence == "published":
        beta = published_radius(config, constants, growth, rounds)
        # A constant: all of it stands in the bias, nothing is left to the determinant.
        constants = constants._replace(
            published_confidence=True, published_bias=beta, reward_noise=0.0
        )
    return Plan(constants, plan.release, plan.record_norm, None)


def as_feducb(config: AsyncFedLinUCB) -> FedUCB:
    """What the two systems share, as a FedUCB variant in clear."""
    return FedUCB(
        schedule=Never(),
        privatizer=NoNoise(),
        exploration_scale=config.exploration_scale,
        context_bound=config.context_bound,
        reward_bound=config.reward_bound,
        parameter_bound=config.parameter_bound,
        out_of_bounds=config.out_of_bounds,
        noise_scale=config.noise_scale,
        alpha=config.alpha,
        regularization=_ridge(config),
    )


def published_radius(
    config: AsyncFedLinUCB, constants: Constants, growth: float, rounds: int
) -> float:
    """β of He et al. (2022), Theorem 5.1, which counts the rounds of all agents as T.

    β = √λ S + (√(1 + Mα) + M√(2α)) (σ √(d ln((1 + T L²/(min(α, 1) λ))/δ)) + √λ S), with δ shared
    by the models. See docs/baselines.md.
    """
    agents, ridge = constants.agents, constants.base
    size = math.sqrt(ridge) * config.parameter_bound
    records = agents * rounds * config.context_bound**2 / (min(growth, 1.0) * ridge)
    logarithm = math.log(1.0 + records) + math.log(constants.models / config.alpha)
    spread = config.noise_scale * math.sqrt(constants.dimension * logarithm)
    factor = math.sqrt(1.0 + agents * growth) + agents * math.sqrt(2.0 * growth)
    return size + factor * (spread + size)


def _growth(config: AsyncFedLinUCB, agents: int) -> float:
    return 1.0 / agents**2 if config.growth == "auto" else float(config.growth)


def _ridge(config: AsyncFedLinUCB) -> float:
    if config.regularization == "auto":
        return 1.0 / (config.parameter_bound * config.parameter_bound)
    return float(config.regularization)
