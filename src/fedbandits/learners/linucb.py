"""LinUCB: score every arm by estimate plus width, play the best (Li et al. 2010).

The score of context x is ⟨x, θ⟩ + √(xᵀ W x) with W = (c·β)² V⁻¹, c the exploration scale. W is
kept in float32 as an upper triangle with doubled off-diagonal entries, so that a quadratic form
costs d(d + 1)/2 multiplications; the innermost loop runs across arms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy import float32

from fedbandits._compile import compiled, fma
from fedbandits._typing import Bools, Floats, Floats32


@compiled
def set_width(inverses: Floats, model: int, radius: float, widths: Floats32) -> None:
    """Write W = radius² V⁻¹ of one model: upper triangle, off-diagonal entries doubled.

    Parameters
    ----------
    inverses : (models, d, d) float64
    model : int
        Number of the model, from 0.
    radius : float
    widths : (models, d, d) float32
        Receives W at the model's place.
    """
    square = radius * radius
    dimension = inverses.shape[1]
    for i in range(dimension):
        for j in range(i, dimension):
            widths[model, i, j] = np.float32(2.0 * square * inverses[model, i, j])
        widths[model, i, i] = np.float32(square * inverses[model, i, i])


@compiled
def score_arms(
    features: Floats32, theta: Floats32, width: Floats32, scores: Floats32, work: Floats32
) -> None:
    """Scores of all arms.

    Parameters
    ----------
    features : (d, columns) float32
        A column an arm; or one column that all ``models`` arms share.
    theta : (models, d) float32
    width : (models, d, d) float32
        The matrices W of :func:`set_width`.
    scores : (arms,) float32
        Receives the score of every arm.
    work : (2, arms) float32
        Buffer that is overwritten.
    """
    if theta.shape[0] == 1:
        _score_shared(features, theta, width, scores, work)
    else:
        _score_disjoint(features, theta, width, scores)


@compiled
def _score_shared(
    features: Floats32, theta: Floats32, width: Floats32, scores: Floats32, work: Floats32
) -> None:
    _squared_widths(features, width, scores, work)
    _add_estimates(features, theta, scores, work)


@compiled
def _squared_widths(features: Floats32, width: Floats32, scores: Floats32, work: Floats32) -> None:
    """Two rows of W at a time: each context coordinate that is loaded serves both.

    ``scores`` gathers xᵀWx; ``work`` holds the running products of the two rows.
    """
    dimension, arms = features.shape
    scores[:] = float32(0)
    for i in range(0, dimension - 1, 2):
        a, b, c = width[0, i, i], width[0, i, i + 1], width[0, i + 1, i + 1]
        for k in range(arms):
            x, y = features[i, k], features[i + 1, k]
            work[0, k] = fma(b, y, a * x)
            work[1, k] = c * y
        for j in range(i + 2, dimension - 1, 2):
            a, b = width[0, i, j], width[0, i, j + 1]
            c, e = width[0, i + 1, j], width[0, i + 1, j + 1]
            for k in range(arms):
                x, y = features[j, k], features[j + 1, k]
                work[0, k] = fma(b, y, fma(a, x, work[0, k]))
                work[1, k] = fma(e, y, fma(c, x, work[1, k]))
        if dimension % 2 == 1:
            a, c = width[0, i, dimension - 1], width[0, i + 1, dimension - 1]
            for k in range(arms):
                x = features[dimension - 1, k]
                work[0, k] = fma(a, x, work[0, k])
                work[1, k] = fma(c, x, work[1, k])
        for k in range(arms):
            first = fma(work[0, k], features[i, k], scores[k])
            scores[k] = fma(work[1, k], features[i + 1, k], first)
    if dimension % 2 == 1:
        a = width[0, dimension - 1, dimension - 1]
        for k in range(arms):
            x = features[dimension - 1, k]
            scores[k] = fma(a * x, x, scores[k])


@compiled
def score_arms_squared(
    features: Floats32, theta: Floats32, width: Floats32, scores: Floats32, work: Floats32
) -> None:
    """Scores without the root, ⟨x, θ⟩ + xᵀWx, for arms that share one model.

    Parameters as in :func:`score_arms`.
    """
    _squared_widths(features, width, scores, work)
    _estimates(features, theta, work)
    for k in range(scores.size):
        scores[k] = work[0, k] + scores[k]


@compiled
def _add_estimates(features: Floats32, theta: Floats32, scores: Floats32, work: Floats32) -> None:
    """Turn squared widths into scores: ⟨x, θ⟩ + √(xᵀWx)."""
    _estimates(features, theta, work)
    for k in range(scores.size):
        scores[k] = work[0, k] + math.sqrt(max(scores[k], float32(0)))


@compiled
def _estimates(features: Floats32, theta: Floats32, work: Floats32) -> None:
    """⟨x, θ⟩ of all arms, into the first row of ``work``."""
    dimension, arms = features.shape
    work[0, :] = float32(0)
    for i in range(dimension):
        weight = theta[0, i]
        for k in range(arms):
            work[0, k] = fma(weight, features[i, k], work[0, k])


@compiled
def _score_disjoint(features: Floats32, theta: Floats32, width: Floats32, scores: Floats32) -> None:
    for m in range(theta.shape[0]):
        scores[m] = score_arm(features, 0, theta, width, m)


@compiled
def score_arm(
    features: Floats32, column: int, theta: Floats32, width: Floats32, model: int
) -> float:
    """The score of one arm, whose context is one column of ``features``, under one model."""
    estimate = float32(0)
    quadratic = float32(0)
    for i in range(theta.shape[1]):
        x = features[i, column]
        inner = float32(0)
        for j in range(i, theta.shape[1]):
            inner = fma(width[model, i, j], features[j, column], inner)
        quadratic = fma(inner, x, quadratic)
        estimate = fma(theta[model, i], x, estimate)
    return float(estimate + math.sqrt(max(quadratic, float32(0))))


@compiled
def best_of_smaller(
    features: Floats32, theta: Floats32, width: Floats32, counts: Bools, first: int, arm: int,
    scores: Floats32,
) -> int:  # fmt: skip
    """The arm whose smaller one of two scores is highest, where one score of each is known.

    An arm whose known score is below what another arm is sure of cannot win. Its other score is
    not computed.

    Parameters
    ----------
    features, theta, width
        What the other scores are made from, see :func:`score_arms`.
    counts : (models,) bool
        Whether the other score counts, for all arms or for each.
    first : int
        The arm that wins among equals, or the one met first after it, cyclic.
    arm : int
        The arm of the highest known score.
    scores : (arms,) float32
        The known scores; those that are computed make them smaller.

    Returns
    -------
    int
        The arm.
    """
    shared = theta.shape[0] == 1
    arms, best, reached = scores.size, -1, -math.inf
    sure = scores[arm]
    for step in range(-1, arms):  # the likely winner first: it says what others must reach
        k = arm if step < 0 else first + step
        if k >= arms:
            k -= arms
        if not scores[k] >= sure:
            continue
        column, model = (k, 0) if shared else (0, k)
        if counts[model]:
            other = score_arm(features, column, theta, width, model)
            if other < scores[k]:
                scores[k] = other
        if step < 0:
            sure = scores[k]
        elif scores[k] > reached:
            best, reached = k, scores[k]
            sure = max(sure, reached)
    return best


@compiled
def _maximum(scores: Floats32) -> float:
    """Largest entry, as four interleaved maxima that the processor can run side by side."""
    a = b = c = e = scores[0]
    whole = scores.size - scores.size % 4
    for k in range(0, whole, 4):
        a = max(a, scores[k])
        b = max(b, scores[k + 1])
        c = max(c, scores[k + 2])
        e = max(e, scores[k + 3])
    for k in range(whole, scores.size):
        a = max(a, scores[k])
    return float(max(max(a, b), max(c, e)))


@compiled
def best_arm(scores: Floats32, first: int) -> int:
    """The arm with the highest score; of equals, the one met first from ``first`` on, cyclic.

    Returns -1 if no score is a number.
    """
    arms = scores.size
    top = _maximum(scores)
    for step in range(arms):
        arm = first + step
        if arm >= arms:
            arm -= arms
        if scores[arm] == top:
            return arm
    return -1
