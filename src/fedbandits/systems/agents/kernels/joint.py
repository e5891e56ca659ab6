"""How agents with a joint view take up what others released, compiled."""

from __future__ import annotations

import math

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats, Floats32
from fedbandits.learners.kernels.joint import Joint, load_joint
from fedbandits.learners.kernels.joint_release import Noise
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.views import Views

#: The widest second bound that counts once it is narrower, as a multiple of S; and how much
#: narrower a still wider one must be.
_WIDEST, _MUCH_NARROWER = 1.2, 0.8


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
