"""Views of agents that explore standard deviations of one estimate from all that they know.

Own records count in full. Releases of others count as far as their noise allows, direction by
direction; see :mod:`fedbandits.learners.kernels.released_sum`. So an agent acts as LinUCB alone
where noise drowns others' releases, and as LinUCB on all records where there is no noise.

A width is α · 2σ̂ √(xᵀP⁻¹x), where P counts records and the ridge parameter. For rewards between 0
and 1 that are as noisy as can be, 2σ is 1: that is LinUCB as published (Li et al. 2010). Rewards
that an agent finds less noisy need less exploration, and others' releases then say less beside its
own records. So σ̂ is the agent's own.

Where nothing is known, rewards that are less noisy tell nothing: there, a width stays as wide as it
was in the beginning. So the ridge parameter follows σ̂²; it is λ σ̂²/σ². It is set at every sync, and
between syncs once it is out by a factor of two.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import allocation_free, compiled, fma
from fedbandits._typing import Floats
from fedbandits.learners.kernels.linucb import shrink_with_width
from fedbandits.learners.kernels.partial_pooling import (
    HYPOTHESES,
    average,
    common_ridge,
    log_priors,
    normalised,
    posterior_under,
    precision_beyond,
    prior_of,
    turn,
)
from fedbandits.learners.kernels.released_sum import (
    Reading,
    find_directions,
    posterior_variance,
    read_sum,
)
from fedbandits.learners.kernels.ridge import add_to_diagonal, apply_symmetric
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.systems.agents.kernels.constants import Constants, Learning
from fedbandits.systems.agents.kernels.pools import NOT_POSITIVE, Pool, reading_of
from fedbandits.systems.agents.kernels.views import (
    Views,
    add_uncounted,
    explored_variance,
    load_view,
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
    residuals : (models, 4) float64
        Number of the agent's records, the sum of those squares, how far the ridge parameter of the
        view is below λ, and the precision that others' records added at the last sync.
    view : Views
        The agent's own, which takes up the record.
    m, context, reward
        The record: its model, (d,) context and reward.
    gain : (d,) float64
        Buffer that is overwritten.
    """
    apply_symmetric(view.inverse, m, context, gain)
    residual, quadratic = reward, 0.0
    for i in range(context.size):
        residual = fma(-view.estimate[m, i], context[i], residual)
        quadratic = fma(gain[i], context[i], quadratic)
    shrink = 1.0 / (1.0 + quadratic)
    residuals[m, 0] += 1.0
    residuals[m, 1] += residual * residual * shrink  # after it is taken up, the residual is less
    bound = learning.reward_noise**2
    variance = posterior_variance(residuals, m, bound)
    step, square = residual * shrink, explored_variance(learning.exploration_scale, variance)
    for i in range(context.size):
        view.estimate[m, i] = fma(step, gain[i], view.estimate[m, i])
        view.theta[m, i] = np.float32(view.estimate[m, i])
    shrink_with_width(view.inverse, m, gain, shrink, square, view.width)
    ridge, due = learning.base - residuals[m, 2], learning.base * variance / bound
    if not 0.5 * ridge <= due <= 2.0 * ridge:
        residuals[m, 2] = learning.base - due
        add_to_diagonal(view.inverse, m, due - ridge, view.estimate[m], gain)
        refresh_view(view, m, math.sqrt(square))


@compiled
def load_own_view(
    constants: Constants, own: Floats, residuals: Floats, others: Floats, deviation: float,
    view: Views,
) -> int:  # fmt: skip
    """Set an agent's view after a sync; see :func:`load_view_along`."""
    values = np.empty((constants.models, constants.dimension))
    directions = np.empty((constants.models, constants.dimension, constants.dimension))
    find_directions(others, values, directions)
    return load_view_along(constants, own, residuals, others, values, directions, deviation, view)


@compiled
def load_view_along(
    constants: Constants, own: Floats, residuals: Floats, others: Floats, values: Floats,
    directions: Floats, deviation: float, view: Views,
) -> int:  # fmt: skip
    """Set an agent's view after a sync, from sums with known directions.

    Others' records count as far as own records agree with them; see
    :mod:`fedbandits.learners.kernels.partial_pooling`. That is for all models of an agent together.

    Parameters
    ----------
    own : (models, d (d + 3) / 2) float64
        Packed statistics of all its own records.
    residuals : (models, 4) float64
        See :func:`take_up_own`; the ridge parameter and the precision of others are set anew.
    others : (models, d (d + 3) / 2) float64
        The released sum without its own records.
    values, directions : (models, d) and (models, d, d) float64
        Of the released sum; see :func:`~fedbandits.learners.kernels.released_sum.find_directions`.
    deviation : float
        Standard deviation of the noise in the moments of the released sum.
    view : Views
        The agent's own; it stays where there is a fault.

    Returns
    -------
    int
        ``NO_FAULT``, or ``NOT_POSITIVE`` if contexts are so long that rounding hides λ.
    """
    d, models = constants.dimension, constants.models
    bounds = reading_of(constants, deviation)
    priors = np.empty((models, HYPOTHESES, d))
    factors = np.zeros((models, HYPOTHESES, d, d))
    estimates = np.empty((models, HYPOTHESES, d))
    precisions, moments, common, mean = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    gram, moment, lower = np.empty((d, d)), np.empty(d), np.empty((d, d))
    logs = log_priors(models)
    for m in range(models):
        variance = posterior_variance(residuals, m, bounds.reward)
        reading = Reading(bounds.gram, bounds.moment, variance, bounds.parameter_bound)
        read_sum(others[m], reading, values[m], directions[m], precisions, moments)
        ridge = constants.base * variance / bounds.reward
        common_ridge(precisions, moments, ridge, variance, models == 1, common)
        turn(own[m], directions[m], gram, moment)
        for k in range(HYPOTHESES):
            prior_of(k, precisions, moments, common, ridge, priors[m, k], mean)
            log = posterior_under(
                priors[m, k], mean, gram, moment, variance, lower, factors[m, k], estimates[m, k]
            )
            if math.isnan(log):
                return NOT_POSITIVE
            logs[k] += log
    weights = normalised(logs)
    for m in range(models):
        variance = posterior_variance(residuals, m, bounds.reward)
        ridge = constants.base * variance / bounds.reward
        residuals[m, 2] = constants.base - ridge
        residuals[m, 3] = precision_beyond(weights, priors[m], ridge)
        average(weights, factors[m], estimates[m], directions[m], view.inverse[m], view.estimate[m])
        square = explored_variance(constants.exploration_scale, variance)
        refresh_view(view, m, math.sqrt(square))
    return NO_FAULT


@compiled
def take_over(
    constants: Constants, log_term: float, pool: Pool, uncounted: Floats, own: Floats,
    residuals: Floats, others: Floats, deviation: float, view: Views,
) -> int:  # fmt: skip
    """Set an agent's view after a sync: the one transition of loops and parties.

    Parameters
    ----------
    log_term : float
        The part of the radius beside the determinant.
    pool : Pool
        The estimates from the sum that the agent goes on from.
    uncounted : (models, d (d + 3) / 2) float64
        See :func:`.views.add_uncounted`.
    own, residuals, others, deviation
        See :func:`load_view_along`; read only where own records count beside others' releases.
    view : Views
        The agent's own; it stays where there is a fault.

    Returns
    -------
    int
        ``NO_FAULT``, or the fault of :func:`load_view_along`.
    """
    if constants.own_view:
        return load_own_view(constants, own, residuals, others, deviation, view)
    load_view(constants, log_term, pool, view)
    add_uncounted(constants, log_term, pool, uncounted, view)
    return NO_FAULT
