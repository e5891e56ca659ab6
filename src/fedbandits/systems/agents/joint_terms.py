"""What the bound of a joint view rests on, from the configuration of a variant."""

from __future__ import annotations

import math

from fedbandits.environments.facts import ContextualFacts
from fedbandits.learners.confidence import bias_norm_factor, least_eigenvalue_factor
from fedbandits.learners.joint_release import MARTINGALE_RIDGE, RIDGE, JointTerms
from fedbandits.systems.agents.config import AgentsConfig

#: Parts of α: of the bound on own records, of that on the sum of all releases, and of that on
#: others' releases. Where nothing is released, the first has all of α.
OWN_SHARE, POOLED_SHARE, OTHERS_SHARE = 0.45, 0.5, 0.05


def joint_terms(
    config: AgentsConfig, facts: ContextualFacts, gram_noise: float, releases: int, sums: int
) -> JointTerms:
    """Split α and choose the ridge parameters; see docs/confidence.md.

    Parameters
    ----------
    config
        Configuration of the variant.
    facts
        What every party may know of the world.
    gram_noise
        Deviation of the noise of Gram matrices, relative to that of moments.
    releases
        How often an agent releases.
    sums
        Number of different sums of others' releases that follow one release of everybody.
    """
    # One martingale of own rewards for each agent and model. Others' rewards have one for each
    # sum, because every sum has a ridge parameter of its own.
    martingales, summed = facts.parties * facts.models, max(releases * sums, 1) * facts.models
    own = config.alpha * (OWN_SHARE if releases else 1.0)
    others = config.alpha * OTHERS_SHARE
    noise = others / (4.0 * summed)
    square = config.context_bound**2
    ridge, larger = RIDGE * square, MARTINGALE_RIDGE * square
    if config.regularization != "auto":
        ridge = larger = config.regularization
    return JointTerms(
        ridge=float(ridge),
        martingale_ridge=float(larger),
        own_log_term=2.0 * math.log(martingales / own),
        others_log_term=2.0 * math.log(2.0 * summed / others),
        reward_noise=float(config.noise_scale),
        parameter_bound=float(config.parameter_bound),
        scale=float(config.exploration_scale),
        gram_noise=gram_noise,
        norm_factor=gram_noise * least_eigenvalue_factor(facts.dimension, noise),
        bias_factor=bias_norm_factor(facts.dimension, config.parameter_bound, noise, gram_noise),
    )
