"""What agents with a joint view keep, and how they take up what others released."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats, Floats32
from fedbandits.learners.joint import (
    Joint,
    begin_joint,
    empty_joint,
    load_joint,
    one_joint,
)
from fedbandits.learners.joint_release import Noise
from fedbandits.systems.agents.plan import Constants
from fedbandits.systems.agents.views import Views

#: The widest second bound that counts once it is narrower, as a multiple of S; and how much
#: narrower a still wider one must be.
_WIDEST, _MUCH_NARROWER = 1.2, 0.8


def first_joints(constants: Constants, count: int) -> Joint | None:
    """What so many agents know before the first round; None without joint views."""
    if not constants.joint_view:
        return None
    joint = empty_joint(count, constants.models, constants.dimension)
    for agent in range(count):
        begin_joint(constants.joint, one_joint(joint, agent))
    return joint


def first_joint(constants: Constants) -> Joint:
    """What one agent knows before the first round; without a joint view, arrays of no size."""
    joints = first_joints(constants, 1)
    if joints is None:
        joints = empty_joint(1, constants.models, 0)
    return Joint(*(array[0] for array in joints))


@inlined
def load_others(
    constants: Constants, sums: Floats, variance: float, view: Views, joint: Joint
) -> None:
    """Take up the sum of what others released.

    The bound of the sum of all releases begins to count beside the joint one when it is narrower,
    for a random direction, and not much wider than ‖θ*‖ ≤ S alone allows. A wider one makes arms
    alike, whatever is yet to be learned of them. That helps only an agent that knows much less.
    Where noise hides all that releases could ever say, it never counts.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
    sums : (models, d (d + 3) / 2) float64
        The sum.
    variance : float
        Variance of an entry of its moments' noise.
    view : Views
        What the sum of all releases says.
    joint : Joint
        What the agent knows; its own records stay.
    """
    deviation = math.sqrt(max(variance, 0.0))
    norm, bias = deviation * constants.joint.norm_factor, deviation * constants.joint.bias_factor
    load_joint(constants.joint, joint, sums, Noise(deviation, norm, bias))
    for m in range(constants.models):
        pooled, own = _typical_width(view.width, m), _typical_width(joint.width, m)
        limit = max(min(own, _WIDEST * constants.parameter_bound), _MUCH_NARROWER * own)
        if constants.joint.second_bound and pooled < limit:
            joint.cuts[m] = True


@compiled
def _typical_width(widths: Floats32, m: int) -> float:
    """Root mean square of the width over contexts of length 1."""
    total, dimension = 0.0, widths.shape[1]
    for i in range(dimension):
        total += widths[m, i, i]
    return math.sqrt(total / dimension)


def others_of(values: Floats, own: Floats) -> Floats:
    """The sum of what others released: all but one's own release, which may be missing."""
    return values - own if own.size else values


def no_release() -> Floats:
    """In place of an own release that is not needed, or was not made."""
    return np.zeros(0)


def joint_ratio(constants: Constants, joints: Joint, truth: Floats) -> float:
    """The largest error of joint estimates, as a multiple of their bounds at scale 1.

    That |⟨x, θ̂ - θ*⟩| ≤ √(xᵀWx) for all x is ‖θ̂ - θ*‖ ≤ 1 in the norm of W⁻¹.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
    joints : Joint
        What all agents know.
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
