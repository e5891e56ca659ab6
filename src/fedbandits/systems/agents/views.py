"""What a linear agent makes of a sum of releases, and acts on, as compiled functions on arrays.

The simulations' loops and the parties call these same functions. A *view* is what an agent acts
on: the inverse of V, the estimate θ̃ = V⁻¹ũ, and the float32 copies that arms are scored with.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import borrowing, compiled
from fedbandits._typing import Floats, Floats32
from fedbandits.learners.assign import copy_square, fill, fill_diagonal
from fedbandits.learners.confidence import adaptive_terms, choose_shift, radius
from fedbandits.learners.linucb import set_width
from fedbandits.learners.ridge import (
    add_rank_one,
    apply_symmetric,
    invert_spectrum,
    log_determinant,
    unpack,
)
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.privacy.kernels import release_deviation
from fedbandits.systems.agents.plan import TRIGGERED, Constants

#: Why a run cannot go on, beside what is wrong with a record.
NOT_POSITIVE = 4


class Basis(NamedTuple):
    """What turns a sum of releases into estimates and their radius."""

    base: float  # λ₁, or Mρ_min
    log_term: float
    shift: float  # added to the Gram matrix; adaptive confidence chooses its own
    deviation: float  # of the sum's noise, off the diagonal


class Pool(NamedTuple):
    """What an agent knows after a sync, made from a sum of releases."""

    inverse: Floats  # (models, d, d): V⁻¹
    gram: Floats  # (models, d, d): V
    moment: Floats  # (models, d): ũ
    terms: Floats  # (models, 4): inflation, ln det(V + cI), bias, ln det S of line 12
    trigger_inverse: Floats  # (models, d, d): (S + M(ρ_max - ρ_min)I)⁻¹
    trigger_log_det: Floats  # (models,)
    trigger_smallest: Floats  # (models,): smallest eigenvalue of S + M(ρ_max - ρ_min)I


class Views(NamedTuple):
    """What agents act on; views that are alike may be kept once.

    Without the first axis, as :func:`one_view` cuts it, it is one view.
    """

    inverse: Floats  # (views, models, d, d)
    estimate: Floats  # (views, models, d): θ̃ = V⁻¹ũ
    log_det: Floats  # (views, models): ln det(V + cI)
    trigger_inverse: Floats  # (views, models, d, d)
    trigger_log_det: Floats  # (views, models)
    theta: Floats32  # (views, models, d)
    width: Floats32  # (views, models, d, d): see linucb.set_width


def empty_pool(models: int, dimension: int) -> Pool:
    """Arrays for a :class:`Pool`."""
    square = (models, dimension, dimension)
    return Pool(
        np.zeros(square),
        np.zeros(square),
        np.zeros((models, dimension)),
        np.zeros((models, 4)),
        np.zeros(square),
        np.zeros(models),
        np.zeros(models),
    )


def empty_views(views: int, models: int, dimension: int) -> Views:
    """Arrays for :class:`Views`."""
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
    """The ``v``-th view, as arrays that share memory with ``views``."""
    return Views(
        views.inverse[v],
        views.estimate[v],
        views.log_det[v],
        views.trigger_inverse[v],
        views.trigger_log_det[v],
        views.theta[v],
        views.width[v],
    )


@compiled
def initial_pool(constants: Constants, base: float, pool: Pool) -> None:
    """Before any release: V = λ₁I, or S = Mρ_min I as published."""
    terms = pool.terms
    for m in range(constants.models):
        fill(pool.moment[m], 0.0)
        fill_diagonal(pool.gram, m, base)
        fill_diagonal(pool.inverse, m, 1.0 / base)
        terms[m, 1] = constants.dimension * math.log(base)
        terms[m, 3] = terms[m, 1]
        if constants.published_confidence:
            terms[m, 0], terms[m, 2] = 1.0, constants.published_bias
        else:
            terms[m, 0] = 1.0
            terms[m, 2] = constants.parameter_bound * math.sqrt(base)
        shifted = base + constants.trigger_shift
        fill_diagonal(pool.trigger_inverse, m, 1.0 / shifted)
        pool.trigger_log_det[m] = constants.dimension * math.log(shifted)
        pool.trigger_smallest[m] = shifted


@compiled
def begin_view(constants: Constants, base: float, log_term: float, pool: Pool, view: Views) -> None:
    """Before any release, a view that is one agent's own."""
    initial_pool(constants, base, pool)
    load_view(constants, log_term, pool, view)


def own_view(constants: Constants, base: float, log_term: float) -> tuple[Pool, Views]:
    """What one agent knows before any release, in arrays of its own."""
    pool = empty_pool(constants.models, constants.dimension)
    view = one_view(empty_views(1, constants.models, constants.dimension), 0)
    begin_view(constants, base, log_term, pool, view)
    return pool, view


@compiled
def noise_variance(constants: Constants, agent: int, k: int) -> float:
    """Off-diagonal variance of the noise in an agent's k-th release."""
    scale = constants.noise_deviation[agent]
    deviation = release_deviation(constants.mechanism, scale, constants.coefficients, k)
    return float(deviation * deviation)


@compiled
def basis_of_all(constants: Constants, k: int) -> Basis:
    """The basis of the sum of all agents' k-th releases."""
    variance = 0.0
    for agent in range(constants.agents):
        variance += noise_variance(constants, agent, k)
    return Basis(constants.base, constants.log_term, constants.shift, math.sqrt(variance))


@compiled
def pool_release(constants: Constants, basis: Basis, released: Floats, pool: Pool) -> int:
    """Turn a sum of releases into estimates and their radius.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
    basis : Basis
        What goes with this sum.
    released : (models, d (d + 3) / 2) float64
        The sum of released statistics, unshifted.
    pool : Pool
        Receives the estimates and what the radius is made of.

    Returns
    -------
    int
        ``NO_FAULT``, or ``NOT_POSITIVE`` if the shifted Gram matrix is not positive definite.
    """
    norm_bound = basis.deviation * constants.norm_factor
    bias_bound = basis.deviation * constants.bias_factor
    for m in range(constants.models):
        unpack(released[m], pool.gram[m], pool.moment[m])
        values, vectors = np.linalg.eigh(pool.gram[m])
        if constants.published_confidence:
            shift = basis.shift
            pool.terms[m, 0], pool.terms[m, 2] = 1.0, constants.published_bias
            correction = 0.0
        else:
            shift = choose_shift(
                values,
                basis.base,
                norm_bound,
                bias_bound,
                constants.parameter_bound,
                constants.reward_noise,
                basis.log_term,
            )
            inflation, correction, bias = adaptive_terms(
                values, shift, basis.base, norm_bound, bias_bound, constants.parameter_bound
            )
            pool.terms[m, 0], pool.terms[m, 2] = inflation, bias
        if not values[0] + shift > 0.0:
            return NOT_POSITIVE
        for i in range(constants.dimension):
            pool.gram[m, i, i] += shift
            values[i] += shift
        invert_spectrum(values, vectors, pool.inverse[m])
        pool.terms[m, 1] = log_determinant(values, correction)
        pool.terms[m, 3] = log_determinant(values, 0.0)
        if constants.schedule == TRIGGERED:
            for i in range(constants.dimension):
                values[i] += constants.trigger_shift
            invert_spectrum(values, vectors, pool.trigger_inverse[m])
            pool.trigger_log_det[m] = log_determinant(values, 0.0)
            pool.trigger_smallest[m] = values[0]
    return NO_FAULT


@compiled
def load_view(constants: Constants, log_term: float, pool: Pool, view: Views) -> None:
    """A view becomes what the pool says; ``log_term`` is of the radius."""
    for m in range(constants.models):
        copy_square(pool.inverse, m, view.inverse)
        apply_symmetric(pool.inverse, m, pool.moment[m], view.estimate[m])
        view.log_det[m] = pool.terms[m, 1]
        if constants.schedule == TRIGGERED:
            copy_square(pool.trigger_inverse, m, view.trigger_inverse)
            view.trigger_log_det[m] = pool.trigger_log_det[m]
        beta = view_radius(pool.terms, view.log_det, m, constants.reward_noise, log_term)
        refresh_view(view, m, scaled_radius(constants, beta, pool.terms[m, 2]))


@borrowing
def scaled_radius(constants: Constants, radius: float, bias: float) -> float:
    """The radius as agents act on it.

    Beside a joint bound, this one only cuts scores down. So the part of it that covers privacy
    noise is not scaled: a bound that does not hold would mislead.
    """
    scale = constants.exploration_scale
    if constants.joint_view:
        return scale * (radius - bias) + bias
    return scale * radius


@borrowing
def view_radius(
    terms: Floats, log_det: Floats, m: int, reward_noise: float, log_term: float
) -> float:
    """The theorem's β for model ``m``, before ``exploration_scale``."""
    return radius(terms[m, 0], reward_noise, log_term, log_det[m], terms[m, 2])


@borrowing
def refresh_view(view: Views, m: int, scaled_radius: float) -> None:
    """Rewrite the float32 estimate and width of one model, which arms are scored with."""
    for i in range(view.theta.shape[1]):
        view.theta[m, i] = view.estimate[m, i]
    set_width(view.inverse, m, scaled_radius, view.width)


@borrowing
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


@borrowing
def observe_growth(view: Views, m: int, context: Floats, gain: Floats) -> None:
    """Let an own record count for the trigger alone."""
    view.trigger_log_det[m] += add_rank_one(view.trigger_inverse, m, context, gain)


@compiled
def observe_record(
    view: Views, terms: Floats, m: int, context: Floats, reward: float, triggered: bool,
    reward_noise: float, log_term: float, scale: float,
) -> None:  # fmt: skip
    """:func:`observe_raw`, and the view as arms are scored with it: in one call, for a party.

    Parameters
    ----------
    view : Views
        One agent's own.
    terms : (models, 4) float64
        Terms of the pool that it comes from.
    m, context, reward
        The record.
    triggered
        Whether it counts for the trigger too.
    reward_noise, log_term
        See :func:`view_radius`.
    scale : float
        ``exploration_scale``.
    """
    observe_raw(view, m, context, reward, triggered, np.empty(context.size))
    refresh_view(view, m, scale * view_radius(terms, view.log_det, m, reward_noise, log_term))
