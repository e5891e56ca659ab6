"""LinUCB: score every arm by estimate plus width, play the best (Li et al. 2010).

The score of context x is ⟨x, θ⟩ + √(xᵀ W x) with W = (c·β)² V⁻¹, c the exploration scale. W is
kept in float32 as an upper triangle with doubled off-diagonal entries, so that a quadratic form
costs d(d + 1)/2 multiplications; the innermost loop runs across arms.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float32

from fedbandits._compile import compiled, fma
from fedbandits._typing import Floats, Floats32


@compiled
def set_width(inverses: Floats, model: int, radius: float, widths: Floats32) -> None:
    """Write W = radius² V⁻¹ of one model: upper triangle, off-diagonal entries doubled.

    Parameters
    ----------
    inverses : (models, d, d) float64
    model : int
        Which one.
    radius : float
    widths : (models, d, d) float32
        Receives W.
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
        See :func:`set_width`.
    scores, work : (arms,) float32
        ``scores`` receives the result.
    """
    if theta.shape[0] == 1:
        _score_shared(features, theta, width, scores, work)
    else:
        _score_disjoint(features, theta, width, scores)


@compiled
def _score_shared(
    features: Floats32, theta: Floats32, width: Floats32, scores: Floats32, work: Floats32
) -> None:
    dimension, arms = features.shape
    scores[:] = float32(0)
    for i in range(dimension):
        first = width[0, i, i]
        for k in range(arms):
            work[k] = first * features[i, k]
        j = i + 1
        # Four columns a pass: the running sum is loaded and stored a quarter as often.
        while j + 3 < dimension:
            a, b, c, e = width[0, i, j], width[0, i, j + 1], width[0, i, j + 2], width[0, i, j + 3]
            for k in range(arms):
                low = fma(b, features[j + 1, k], fma(a, features[j, k], work[k]))
                work[k] = fma(e, features[j + 3, k], fma(c, features[j + 2, k], low))
            j += 4
        while j < dimension:
            a = width[0, i, j]
            for k in range(arms):
                work[k] = fma(a, features[j, k], work[k])
            j += 1
        for k in range(arms):
            scores[k] = fma(work[k], features[i, k], scores[k])
    work[:] = float32(0)
    for i in range(dimension):
        weight = theta[0, i]
        for k in range(arms):
            work[k] = fma(weight, features[i, k], work[k])
    for k in range(arms):
        scores[k] = work[k] + math.sqrt(max(scores[k], float32(0)))


@compiled
def _score_disjoint(features: Floats32, theta: Floats32, width: Floats32, scores: Floats32) -> None:
    models, dimension = theta.shape
    for m in range(models):
        estimate = float32(0)
        quadratic = float32(0)
        for i in range(dimension):
            x = features[i, 0]
            inner = float32(0)
            for j in range(i, dimension):
                inner = fma(width[m, i, j], features[j, 0], inner)
            quadratic = fma(inner, x, quadratic)
            estimate = fma(theta[m, i], x, estimate)
        scores[m] = estimate + math.sqrt(max(quadratic, float32(0)))


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
    """The arm with the highest score; of equals, the one met first from ``first`` on, cyclic."""
    arms = scores.size
    top = _maximum(scores)
    for step in range(arms):
        arm = first + step
        if arm >= arms:
            arm -= arms
        if scores[arm] == top:
            return arm
    return first  # only if a score is not a number
