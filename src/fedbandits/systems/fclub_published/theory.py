"""Theorems of Liu et al. (2022) on FCLUB: regret (Theorem 1) and communication (Theorem 2).

The paper hides constants in Õ and O; here they are 1. Its appendix, where they could be found, is
not in the text at hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from fedbandits._typing import Floats
from fedbandits.environments import Clustered
from fedbandits.random import replicate_key
from fedbandits.systems.fclub_published.declare import Delayed, Phased
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.theory import Bound

_PAPER = "Liu et al. 2022"
#: Rewards in [0, 1] are ½-sub-Gaussian.
_REWARD_NOISE = 0.5


class Clusters(NamedTuple):
    """Numbers of Theorem 1, beside the horizon."""

    users: int  # n
    clusters: int  # m
    servers: int  # L
    dimension: int  # d
    gap: float  # γ: least distance of different preference vectors
    regularity: float  # λₓ: least eigenvalue of E[x xᵀ]


def theorem_1(rounds: Floats, world: Clusters, epsilon: float, delta: float) -> Floats:
    """Return the regret of all users, with probability at least 1 - 1/T.

    n (ln T / λₓ² + σ₀² d ln T / (λₓ γ²) + ln(1/δ) ln T / (λₓ ε γ²))
    + d L √(m T ln(1/δ) / ε) ln^1.5 T

    (equation 10, σ₀ = ½.) The text at hand sets the second term ambiguously; the root holds
    ln(1/δ)/ε as in the papers that it is compared with in section 4.4. Horizons T (n,) are larger
    than 1.
    """
    log_rounds = np.log(rounds)
    lam, squared_gap = world.regularity, world.gap**2
    clustering = world.users * (
        log_rounds / lam**2
        + _REWARD_NOISE**2 * world.dimension * log_rounds / (lam * squared_gap)
        + math.log(1.0 / delta) * log_rounds / (lam * epsilon * squared_gap)
    )
    learned = np.sqrt(world.clusters * rounds * math.log(1.0 / delta) / epsilon)
    total: Floats = clustering + world.dimension * world.servers * learned * log_rounds**1.5
    return total


def theorem_2(
    rounds: Floats, dimension: int, clusters: int, servers: int, threshold: float
) -> Floats:
    """Return uploads and downloads together: d m L ln T / ln min(U, D) (equation 11).

    Horizons T (n,), and the threshold min(U, D), are larger than 1.
    """
    messages: Floats = dimension * clusters * servers * np.log(rounds) / math.log(threshold)
    return messages


def bounds(plan: PublishedFCLUBPlan, environment: Clustered) -> Sequence[Bound]:
    """Return Theorem 2 where clusters share with delay, and Theorem 1 under the paper's noise."""
    config, sharing = plan.config, plan.config.sharing
    if not (isinstance(config.clustering, Phased) and isinstance(sharing, Delayed)):
        return ()
    facts, theorems = plan.facts, []
    if config.is_private:
        world = clusters_of_world(plan, environment)
        theorems.append(
            Bound(
                theorem=f"{_PAPER}, Theorem 1",
                statement="regret of all users ≤ n (ln T/λₓ² + σ₀² d ln T/(λₓγ²) + "
                "ln(1/δ) ln T/(λₓεγ²)) + d L √(m T ln(1/δ)/ε) ln^1.5 T; the constants that Õ "
                "hides are taken as 1",
                quantity="regret",
                at=partial(theorem_1, world=world, epsilon=config.epsilon, delta=config.delta),
                largest=1.0,
                departs=tuple(_regret_departs(plan)),
            )
        )
    threshold = min(sharing.upload, sharing.download)
    if threshold > 1.0:
        theorems.append(
            Bound(
                theorem=f"{_PAPER}, Theorem 2",
                statement="messages ≤ d m L ln T/ln min(U, D); the constant that O hides is taken "
                "as 1",
                quantity="messages",
                at=partial(
                    theorem_2,
                    dimension=facts.dimension,
                    clusters=facts.clusters,
                    servers=facts.servers,
                    threshold=threshold,
                ),
                # An upload, a download for every other cluster, and a phase's reports and answers.
                largest=1.0 + facts.parties + 2.0 * facts.servers,
            )
        )
    return theorems


def clusters_of_world(plan: PublishedFCLUBPlan, environment: Clustered) -> Clusters:
    """Return the theorems' numbers of a world; where users are drawn, the gap is replicate 0's."""
    facts = plan.facts
    theta = environment.world(replicate_key(0, 0)).theta
    different = np.unique(theta, axis=0)
    gap = 1.0  # nobody is different
    if len(different) > 1:  # the nearest of each alone: all pairs would take n² numbers
        distances, _ = cKDTree(different).query(different, k=2)
        gap = float(distances[:, 1].min())
    return Clusters(
        facts.parties, facts.clusters, facts.servers, facts.dimension, gap,
        item_regularity(facts.dimension),
    )  # fmt: skip


def item_regularity(dimension: int) -> float:
    """Return λₓ of items: a direction of d - 1 coordinates and a constant, each 1/√2 long."""
    return 1.0 / (2.0 * max(dimension - 1, 1))


def item_variance(dimension: int) -> float:
    """Return the largest variance of (θᵀx)² over unit θ.

    θᵀx is (as + b)/√2, where s is a coordinate of a uniform direction of p coordinates and
    a² + b² = 1. s² is Beta(½, (p - 1)/2), of variance v. So (θᵀx)² has the variance
    (a⁴v + 4a²b²/p)/4, which is largest at a² = 2/(4 - pv).
    """
    p = max(dimension - 1, 1)
    spread = 2.0 * (p - 1.0) / (p**2 * (p + 2.0))
    square = min(2.0 / (4.0 - p * spread), 1.0)
    return (square**2 * spread + 4.0 * square * (1.0 - square) / p) / 4.0


def _regret_departs(plan: PublishedFCLUBPlan) -> list[str]:
    config, facts, departs = plan.config, plan.facts, []
    accurate = 1.0 / (8.0 * facts.clusters * facts.servers * plan.rounds)
    if config.failure_probability > accurate:
        departs.append(
            f"the theorem needs bounds on the noise that fail with probability {accurate:.2g}, "
            f"failure_probability is {config.failure_probability:g}."
        )
    allowed = item_regularity(facts.dimension) / (8.0 * math.log(4.0 * facts.items))
    if item_variance(facts.dimension) > allowed:
        departs.append(
            f"Assumption 2 needs (θᵀx)² to be sub-Gaussian with variance at most {allowed:.2g}; "
            f"with these items it has {item_variance(facts.dimension):.2g}."
        )
    if config.acts_on != "synchronized":
        departs.append("the theorem is for servers that act on S alone.")
    if config.exploration_scale != 1.0:
        departs.append(f"the radius is scaled by {config.exploration_scale:g}.")
    return departs
