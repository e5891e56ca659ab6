"""Joint views: the terms of their bounds, what agents know before the first round, and errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.facts import ContextualFacts
from fedbandits.learners.confidence import least_eigenvalue_factor
from fedbandits.learners.kernels.joint import Joint, begin_joint, empty_joint, one_joint
from fedbandits.learners.kernels.joint_release import MARTINGALE_RIDGE, RIDGE, JointTerms
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.noise import bias_factor

if TYPE_CHECKING:  # plans are made from what is here
    from fedbandits.systems.agents.plan import Pooling

#: Parts of α: of the bound on own records, of that on the sum of all releases, and of that on
#: others' releases. Where the second does not count, the first has its part; where nothing is
#: released, all of α.
OWN_SHARE, POOLED_SHARE, OTHERS_SHARE = 0.45, 0.5, 0.05

#: The second bound counts only where released records could outweigh this share of the bound on
#: the noise of their sum.
_LEAST_SAID = 1.0 / 3.0


def joint_terms(
    config: AgentsConfig, facts: ContextualFacts, release: ContinualPlan, gram_noise: float,
    pooling: Pooling, rounds: int,
) -> JointTerms:  # fmt: skip
    """Split α and choose the ridge parameters; see docs/confidence.md.

    Parameters
    ----------
    gram_noise
        Deviation of the noise of Gram matrices, relative to that of moments.
    """
    releases, sums = release.releases, pooling.others
    # One martingale of own rewards for each agent and model. Others' rewards have one for each
    # sum, because every sum has a ridge parameter of its own.
    martingales, summed = facts.parties * facts.models, max(releases * sums, 1) * facts.models
    others = config.alpha * OTHERS_SHARE
    noise = others / (4.0 * summed)
    norm_factor = gram_noise * least_eigenvalue_factor(facts.dimension, noise)
    second = _could_say(config, facts, release, pooling, rounds, norm_factor)
    share = OWN_SHARE if second else OWN_SHARE + POOLED_SHARE
    own = config.alpha * (share if releases else 1.0)
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
        norm_factor=norm_factor,
        bias_factor=bias_factor(config, facts.dimension, noise, gram_noise),
        second_bound=second,
    )


def _could_say(
    config: AgentsConfig, facts: ContextualFacts, release: ContinualPlan, pooling: Pooling,
    rounds: int, norm_factor: float,
) -> bool:  # fmt: skip
    """Tell whether released records could stand out from noise, by public facts alone.

    All records that a sum can have by the end, spread evenly over models and directions, are
    compared with the bound b on its noise.
    """
    if not release.releases:
        return False
    records = pooling.typical * rounds / pooling.estimators
    if config.protects_persons and facts.persons is not None:
        visits = facts.persons * (facts.most_parties or facts.parties) * config.records_at_once
        records = min(records, visits)
    said = records * config.context_bound**2 / (facts.models * facts.dimension)
    noise = norm_factor * math.sqrt(pooling.typical) * release.largest_deviation()
    return bool(said > _LEAST_SAID * noise)


def first_joints(constants: Constants, count: int) -> Joint | None:
    """Make what so many agents know before the first round; None without joint views."""
    if not constants.joint_view:
        return None
    joint = empty_joint(count, constants.models, constants.dimension)
    for agent in range(count):
        begin_joint(constants.joint, one_joint(joint, agent))
    return joint


def first_joint(constants: Constants) -> Joint:
    """Make what one agent knows before the first round; arrays of no size without a joint view."""
    joints = first_joints(constants, 1)
    if joints is None:
        joints = empty_joint(1, constants.models, 0)
    return Joint(*(array[0] for array in joints))


def others_of(values: Floats, own: Floats) -> Floats:
    """Return the sum of others' releases: all but one's own release, which may be missing."""
    return values - own if own.size else values


def no_release() -> Floats:
    """Return what stands for an own release that is not needed, or was not made."""
    return np.zeros(0)


def joint_ratio(constants: Constants, joints: Joint, truth: Floats) -> float:
    """Return the largest error of joint estimates, as a multiple of their bounds at scale 1.

    That |⟨x, θ̂ - θ*⟩| ≤ √(xᵀWx) for all x is ‖θ̂ - θ*‖ ≤ 1 in the norm of W⁻¹.

    Parameters
    ----------
    truth : (models, d) float64
        The true parameters θ*.
    """
    worst = 0.0
    for agent, m in np.ndindex(joints.growth.shape):
        entries = np.triu(joints.width[agent, m].astype(np.float64))
        widths = 0.5 * (entries + entries.T) / constants.exploration_scale**2
        error = truth[m] - joints.estimate[agent, m]
        worst = max(worst, math.sqrt(error @ np.linalg.solve(widths, error)))
    return worst
