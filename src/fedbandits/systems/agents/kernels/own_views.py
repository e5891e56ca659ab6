"""Views of agents that explore standard deviations of one estimate from all that they know.

Own records count in full. What others released counts as far as its noise allows, direction by
direction; see :mod:`fedbandits.learners.kernels.released_sum`. So an agent does as LinUCB does
alone where noise drowns what others released, and as LinUCB on all records where there is none.

A width is α · 2σ̂ √(xᵀP⁻¹x), where P counts records and the ridge parameter λ. For rewards between 0
and 1 that are as noisy as can be, 2σ is 1: that is LinUCB as published (Li et al. 2010). Rewards
that an agent finds less noisy need less exploration, and others' releases then say less beside its
own records. So σ̂ is the agent's own.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats
from fedbandits.learners.kernels.released_sum import (
    Reading,
    posterior_variance,
    read_released_sum,
)
from fedbandits.learners.kernels.ridge import invert_statistic, unpack
from fedbandits.systems.agents.kernels.constants import Constants, Learning
from fedbandits.systems.agents.kernels.pools import reading_of
from fedbandits.systems.agents.kernels.views import (
    Views,
    explored_deviations,
    observe_raw,
    refresh_view,
)


@allocation_free
def take_up_own(
    learning: Learning, residuals: Floats, view: Views, m: int, context: Floats, reward: float,
    gain: Floats,
) -> None:  # fmt: skip
    """Let a record of the agent's own count at once, in full.

    The residual before the record is taken up, times that after it, is a square with one degree of
    freedom, and the mean of all of them an estimate of σ² (recursive least squares; Plackett 1950).

    Parameters
    ----------
    residuals : (models, 2) float64
        Number of the agent's records, and the sum of those squares: both grow.
    view : Views
        The agent's own, which takes up the record.
    m, context, reward
        The record: its model, (d,) context and reward.
    gain : (d,) float64
        Buffer that is overwritten.
    """
    before, after = reward, reward
    for i in range(context.size):
        before -= view.estimate[m, i] * context[i]
    observe_raw(view, m, context, reward, False, gain)
    for i in range(context.size):
        after -= view.estimate[m, i] * context[i]
    residuals[m, 0] += 1.0
    residuals[m, 1] += before * after
    variance = posterior_variance(residuals, m, learning.reward_noise**2)
    refresh_view(view, m, explored_deviations(learning.exploration_scale, math.sqrt(variance)))


@compiled
def load_own_view(
    constants: Constants, own: Floats, residuals: Floats, others: Floats, deviation: float,
    view: Views,
) -> None:  # fmt: skip
    """Set an agent's view to what it knows after a sync.

    Parameters
    ----------
    own : (models, d (d + 3) / 2) float64
        Packed statistics of all its own records.
    residuals : (models, 2) float64
        See :func:`take_up_own`.
    others : (models, d (d + 3) / 2) float64
        The released sum without its own records.
    deviation : float
        Standard deviation of the noise in the moments of that sum.
    view : Views
        The agent's own.
    """
    dimension = constants.dimension
    work, theta = np.empty((1, dimension)), np.empty(dimension)
    gram, inverse = np.empty((dimension, dimension)), np.empty((dimension, dimension))
    moment, total = np.empty(dimension), np.empty(own.shape[1])
    bounds = reading_of(constants, deviation)
    for m in range(constants.models):
        variance = posterior_variance(residuals, m, bounds.reward)
        reading = Reading(bounds.gram, bounds.moment, variance, bounds.parameter_bound)
        unpack(others[m], gram, moment)
        read_released_sum(gram, moment, reading)
        place = 0
        for i in range(dimension):
            for j in range(i, dimension):
                total[place] = own[m, place] + gram[i, j]
                place += 1
        for i in range(dimension):
            total[place + i] = own[m, place + i] + moment[i]
        invert_statistic(total, constants.base, work, inverse, theta)
        for i in range(dimension):
            view.estimate[m, i] = theta[i]
            for j in range(dimension):
                view.inverse[m, i, j] = inverse[i, j]
        explored = explored_deviations(constants.exploration_scale, math.sqrt(variance))
        refresh_view(view, m, explored)
