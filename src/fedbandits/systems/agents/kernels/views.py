"""Views of linear agents, made from sums of releases, as compiled functions on arrays.

The simulations' loops and the parties call these same functions. An agent acts on its *view*: the
inverse of V, the estimate θ̃ = V⁻¹ũ, and float32 copies to score arms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats, Floats32
from fedbandits.learners.kernels.confidence import radius
from fedbandits.learners.kernels.linucb import set_width
from fedbandits.learners.kernels.ridge import (
    add_rank_one,
    add_record,
    apply_symmetric,
    copy_square,
    invert_spectrum,
    is_zero,
    log_determinant,
    unpack,
)
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants, Learning
from fedbandits.systems.agents.kernels.pools import Pool, empty_pool, initial_pool


class Views(NamedTuple):
    """Views that agents act on; those that are alike may be kept once.

    Without the first axis, as :func:`one_view` cuts it, it is one view.
    """

    inverse: Floats  # (views, models, d, d)
    estimate: Floats  # (views, models, d): θ̃ = V⁻¹ũ
    log_det: Floats  # (views, models): ln det(V + cI)
    trigger_inverse: Floats  # (views, models, d, d)
    trigger_log_det: Floats  # (views, models)
    theta: Floats32  # (views, models, d)
    width: Floats32  # (views, models, d, d): see linucb.set_width


def empty_views(views: int, models: int, dimension: int) -> Views:
    """Make arrays for :class:`Views`."""
    square = (views, models, dimension, dimension)
    return Views(
        np.zeros(square),
        np.zeros(square[:3]),
        np.zeros(square[:2]),
        np.zeros(square),
        np.zeros(square[:2]),
        np.zeros(square[:3], np.float32),
        np.zeros(square, np.float32),
    )


@compiled
def one_view(views: Views, v: int) -> Views:
    """Return the ``v``-th view, as arrays that share memory with ``views``."""
    return Views(
        views.inverse[v],
        views.estimate[v],
        views.log_det[v],
        views.trigger_inverse[v],
        views.trigger_log_det[v],
        views.theta[v],
        views.width[v],
    )


def empty_view(constants: Constants) -> Views:
    """Make arrays for one view."""
    return one_view(empty_views(1, constants.models, constants.dimension), 0)


def copied(view: Views) -> Views:
    """Copy a view, to write to the copy."""
    copies: Any = [array.copy() for array in view]
    return Views(*copies)


@compiled
def begin_view(constants: Constants, base: float, log_term: float, pool: Pool, view: Views) -> None:
    """Set an agent's own view before any release."""
    initial_pool(constants, base, pool)
    load_view(constants, log_term, pool, view)


def first_view(constants: Constants, base: float, log_term: float) -> tuple[Pool, Views]:
    """Make the pool and the view of one agent before any release, in arrays of its own."""
    pool = empty_pool(constants.models, constants.dimension)
    view = empty_view(constants)
    begin_view(constants, base, log_term, pool, view)
    return pool, view


@compiled
def load_view(constants: Constants, log_term: float, pool: Pool, view: Views) -> None:
    """Set a view by a pool; ``log_term`` is of the radius."""
    for m in range(constants.models):
        copy_square(pool.inverse, m, view.inverse)
        apply_symmetric(pool.inverse, m, pool.moment[m], view.estimate[m])
        view.log_det[m] = pool.terms[m, 1]
        if constants.schedule == TRIGGERED:
            copy_square(pool.trigger_inverse, m, view.trigger_inverse)
            view.trigger_log_det[m] = pool.trigger_log_det[m]
        if constants.deviations:
            square = explored_variance(constants.exploration_scale, constants.reward_noise**2)
            refresh_view(view, m, math.sqrt(square))
        else:
            beta = view_radius(pool.terms, view.log_det, m, constants.reward_noise, log_term)
            refresh_view(view, m, constants.exploration_scale * beta)


@allocation_free
def explored_variance(scale: float, variance: float) -> float:
    """Return the factor of xᵀP⁻¹x: the square of α times two deviations of a reward."""
    return (2.0 * scale) ** 2 * variance


@allocation_free
def view_radius(
    terms: Floats, log_det: Floats, m: int, reward_noise: float, log_term: float
) -> float:
    """Return the theorem's β for model ``m``, before ``exploration_scale``."""
    return radius(terms[m, 0], reward_noise, log_term, log_det[m], terms[m, 2])


@allocation_free
def refresh_view(view: Views, m: int, scaled_radius: float) -> None:
    """Rewrite the float32 estimate and width of one model, which arms are scored with."""
    for i in range(view.theta.shape[1]):
        view.theta[m, i] = view.estimate[m, i]
    set_width(view.inverse, m, scaled_radius, view.width)


@allocation_free
def observe_raw(
    view: Views, m: int, context: Floats, reward: float, triggered: bool, gain: Floats
) -> None:
    """Let an own record count at once in a raw view: V += x xᵀ, ũ += x y."""
    view.log_det[m] += add_rank_one(view.inverse, m, context, gain)
    residual = reward
    for i in range(context.size):
        residual -= view.estimate[m, i] * context[i]
    for i in range(context.size):
        view.estimate[m, i] += residual * gain[i]
    if triggered:
        observe_growth(view, m, context, gain)


@allocation_free
def observe_growth(view: Views, m: int, context: Floats, gain: Floats) -> None:
    """Let an own record count for the trigger alone."""
    view.trigger_log_det[m] += add_rank_one(view.trigger_inverse, m, context, gain)


@allocation_free
def take_up(
    learning: Learning, log_term: float, terms: Floats, view: Views, statistic: Floats,
    uncounted: Floats, counts: bool, m: int, context: Floats, reward: float, gain: Floats,
) -> None:  # fmt: skip
    """Enter a record of the agent's own: in a running sum, and in its view as far as that is due.

    A raw view takes up every record at once. Any other view takes up none; where a sync is
    triggered, a record that counts brings the next sync nearer.

    Parameters
    ----------
    log_term : float
        The part of the radius beside the determinant.
    terms : (models, 4) float64
        Terms of the pool that the view was made from.
    view : Views
        The agent's own.
    statistic : (models, d (d + 3) / 2) float64
        Packed statistics of the records that count for releases.
    uncounted : (models, d (d + 3) / 2) float64
        Packed statistics of the other records; only a raw view needs them.
    m, context, reward
        The record: its model, (d,) context and reward.
    gain : (d,) float64
        Buffer that is overwritten.
    """
    if counts:
        add_record(statistic, m, context, reward, learning.rounding)
    elif learning.raw_view or learning.own_view:
        add_record(uncounted, m, context, reward, learning.rounding)
    triggering = learning.triggered and counts
    if learning.raw_view:
        observe_raw(view, m, context, reward, triggering, gain)
        beta = view_radius(terms, view.log_det, m, learning.reward_noise, log_term)
        refresh_view(view, m, learning.exploration_scale * beta)
    elif triggering:
        observe_growth(view, m, context, gain)


@compiled
def add_uncounted(
    constants: Constants, log_term: float, pool: Pool, uncounted: Floats, view: Views
) -> None:
    """Add own records that count for no release to a view just made from a pool.

    They are in no pooled sum. For the radius they are like any other own record: the pool's terms
    hold for every larger Gram matrix.

    Parameters
    ----------
    log_term : float
        The part of the radius beside the determinant.
    uncounted : (models, d (d + 3) / 2) float64
        Packed statistics of the records; nothing where records are protected.
    view : Views
        The agent's own. The trigger's part stays: these records make no release due.
    """
    if uncounted.size == 0:
        return
    dimension = constants.dimension
    gram, moment = np.empty((dimension, dimension)), np.empty(dimension)
    for m in range(constants.models):
        if is_zero(uncounted[m]):
            continue
        unpack(uncounted[m], gram, moment)
        before = np.linalg.eigvalsh(pool.gram[m])
        for i in range(dimension):
            moment[i] += pool.moment[m, i]
            for j in range(dimension):
                gram[i, j] += pool.gram[m, i, j]
        values, vectors = np.linalg.eigh(gram)
        invert_spectrum(values, vectors, view.inverse[m])
        apply_symmetric(view.inverse, m, moment, view.estimate[m])
        view.log_det[m] += log_determinant(values, 0.0) - log_determinant(before, 0.0)
        beta = view_radius(pool.terms, view.log_det, m, constants.reward_noise, log_term)
        refresh_view(view, m, constants.exploration_scale * beta)
