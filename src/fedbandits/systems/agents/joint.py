"""What agents with a joint view keep, and how they take up what others released."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.learners.kernels.joint import Joint, begin_joint, empty_joint, one_joint
from fedbandits.systems.agents.kernels.constants import Constants


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
