"""Exact sums of records, and the views of agents that act on an exact sum.

Nothing is noise here, so no eigenvalue is needed. Eigenvalues would cost ten times as much, and a
sum may come after every step.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import (
    apply_symmetric,
    copy_square,
    invert_statistic,
    unpack,
)
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.pools import NOT_POSITIVE, Pool
from fedbandits.systems.agents.kernels.views import (
    Views,
    explored_variance,
    refresh_view,
    view_radius,
)


@allocation_free
def take_over(constants: Constants, total: Floats, pool: Pool, view: Views) -> int:
    """Act from now on by an exact sum.

    Parameters
    ----------
    total : (models, d (d + 3) / 2) float64
        The sum of records, packed.
    pool : Pool
        Receives the estimates and the terms of the radius.
    view : Views
        The agent's view; left as it is if there is a fault.

    Returns
    -------
    int
        ``NO_FAULT``, or why ``total`` cannot be a sum of records.
    """
    fault = NO_FAULT
    for m in range(constants.models):
        gram, terms = pool.gram[m], pool.terms[m]
        log_det = _invert_sum(total[m], constants.base, gram, pool.inverse[m], pool.moment[m])
        if math.isnan(log_det):
            fault = NOT_POSITIVE
        terms[0], terms[1], terms[3] = 1.0, log_det, log_det
        terms[2] = constants.published_bias
        radius_is_proved = not (constants.published_confidence or constants.deviations)
        if radius_is_proved and fault == NO_FAULT:
            terms[2] = _ridge_bias(gram, constants.base, constants.parameter_bound)
    if fault == NO_FAULT:
        for m in range(constants.models):
            copy_square(pool.inverse, m, pool.trigger_inverse)
            copy_square(pool.inverse, m, view.inverse)
            copy_square(pool.inverse, m, view.trigger_inverse)
            apply_symmetric(pool.inverse, m, pool.moment[m], view.estimate[m])
            log_det = pool.terms[m, 1]
            pool.trigger_log_det[m] = log_det
            view.log_det[m], view.trigger_log_det[m] = log_det, log_det
            scale, noise = constants.exploration_scale, constants.reward_noise
            if constants.deviations:
                refresh_view(view, m, math.sqrt(explored_variance(scale, noise**2)))
            else:
                beta = view_radius(pool.terms, view.log_det, m, noise, constants.log_term)
                refresh_view(view, m, scale * beta)
    return fault


@allocation_free
def _invert_sum(
    statistic: Floats, ridge: float, gram: Floats, inverse: Floats, moment: Floats
) -> float:
    """Compute Σ = λI + G, its inverse and the moment, of one model's sum.

    Returns
    -------
    float
        ln det Σ, or NaN if Σ is not positive definite.
    """
    log_det = invert_statistic(statistic, ridge, gram, inverse, moment)
    unpack(statistic, gram, moment)
    for i in range(moment.size):
        gram[i, i] += ridge
    return log_det


@compiled
def _ridge_bias(gram: Floats, ridge: float, parameter_bound: float) -> float:
    """Return λS/√λ_min(Σ): how far the ridge can keep an estimate from θ*, in the norm of Σ."""
    return parameter_bound * ridge / math.sqrt(np.linalg.eigvalsh(gram)[0])


@compiled
def count_for_trigger(constants: Constants, sums: Floats, view: Views) -> None:
    """Count own records beside an exact sum for the trigger: an exchange comes nearer.

    Parameters
    ----------
    sums : (models, d (d + 3) / 2) float64
        The exact sum, and the own records.
    view : Views
        The agent's view, after :func:`take_over`.
    """
    d, shift = constants.dimension, constants.base + constants.trigger_shift
    factor, inverse, theta = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    for m in range(constants.models):
        log_det = invert_statistic(sums[m], shift, factor, inverse, theta)
        if not math.isnan(log_det):  # but for rounding there is one
            view.trigger_log_det[m] = log_det
            view.trigger_inverse[m] = inverse
