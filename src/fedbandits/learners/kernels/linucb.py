"""LinUCB: score every arm by estimate plus width, play the best (Li et al. 2010).

The score of context x is ⟨x, θ⟩ + √(xᵀ W x) with W = (c·β)² V⁻¹, c the exploration scale. W is
kept in float32 as an upper triangle with doubled off-diagonal entries, so that a quadratic form
costs d(d + 1)/2 multiplications; the innermost loop runs across arms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy import float32

from fedbandits._compile import (
    LANES,
    allocation_free,
    among,
    fma,
    inlined,
    lanes,
    largest,
    load,
    spread,
    store,
)
from fedbandits._typing import Floats, Floats32


@allocation_free
def set_width(inverses: Floats, model: int, radius: float, widths: Floats32) -> None:
    """Write W = radius² V⁻¹ of one model: upper triangle, off-diagonal entries doubled.

    ``inverses`` are (models, d, d) float64. ``widths``, of that shape in float32, receive W at the
    model's place.
    """
    square = radius * radius
    dimension = inverses.shape[1]
    for i in range(dimension):
        for j in range(i, dimension):
            widths[model, i, j] = np.float32(2.0 * square * inverses[model, i, j])
        widths[model, i, i] = np.float32(square * inverses[model, i, i])


@allocation_free
def shrink_with_width(
    inverses: Floats, model: int, gain: Floats, shrink: float, square: float, widths: Floats32
) -> None:
    """Turn one V⁻¹ into V⁻¹ - shrink · gain gainᵀ in place, and write W = square · V⁻¹ of it.

    One pass does what :func:`.ridge.add_rank_one` and :func:`set_width` do in two. Parameters as
    there; ``gain`` (d,) is V⁻¹x, and below its diagonal W is not looked at.
    """
    dimension, doubled = gain.size, 2.0 * square
    for i in range(dimension):
        factor = -shrink * gain[i]
        for j in range(dimension):
            entry = fma(factor, gain[j], inverses[model, i, j])
            inverses[model, i, j] = entry
            widths[model, i, j] = np.float32(doubled * entry)
        widths[model, i, i] = np.float32(square * inverses[model, i, i])


class ScoreBuffers(NamedTuple):
    """Buffers for decision sets of fewer arms than lanes."""

    features: Floats32  # (d, LANES)
    scores: Floats32  # (LANES,)


def new_score_buffers(dimension: int) -> ScoreBuffers:
    """Make buffers for contexts of this length."""
    return ScoreBuffers(np.zeros((dimension, LANES), np.float32), np.zeros(LANES, np.float32))


@allocation_free
def score_arms(
    features: Floats32, theta: Floats32, width: Floats32, scores: Floats32, buffers: ScoreBuffers
) -> None:
    """Compute the scores of all arms, into ``scores`` (arms,).

    ``features`` are (d, columns): a column an arm, or one column that all ``models`` arms share.
    ``theta`` are (models, d), and ``width`` (models, d, d) the matrices W of :func:`set_width`.
    ``buffers`` are overwritten.
    """
    if theta.shape[0] == 1:
        _score_shared(features, theta, width, True, scores, buffers)
    else:
        for m in range(theta.shape[0]):
            scores[m] = score_arm(features, 0, theta, width, m)


@allocation_free
def score_arms_squared(
    features: Floats32, theta: Floats32, width: Floats32, scores: Floats32, buffers: ScoreBuffers
) -> None:
    """Compute scores without the root, ⟨x, θ⟩ + xᵀWx, for arms that share one model.

    Parameters as in :func:`score_arms`.
    """
    _score_shared(features, theta, width, False, scores, buffers)


@inlined
def _score_shared(
    features: Floats32, theta: Floats32, width: Floats32, root: bool, scores: Floats32,
    buffers: ScoreBuffers,
) -> None:  # fmt: skip
    dimension, arms = features.shape
    if arms >= LANES:
        _score_lanes(features, theta, width, root, scores)
    else:
        for i in range(dimension):
            for k in range(arms):
                buffers.features[i, k] = features[i, k]
        _score_lanes(buffers.features, theta, width, root, buffers.scores)
        for k in range(arms):
            scores[k] = buffers.scores[k]


@allocation_free
def _score_lanes(
    features: Floats32, theta: Floats32, width: Floats32, root: bool, scores: Floats32
) -> None:
    """Compute scores of LANES arms or more, side by side; at the end some are made twice.

    Two rows of W at a time: each context coordinate that is loaded serves both.
    """
    dimension, arms = features.shape
    even, last = dimension - dimension % 2, dimension - 1
    for start in range(0, arms, LANES):
        k = min(start, arms - LANES)
        estimate, squared = lanes(float32(0)), lanes(float32(0))
        for i in range(dimension):
            estimate = fma(spread(theta, (0, i)), load(features, (i, k)), estimate)
        for i in range(0, even, 2):
            x, y = load(features, (i, k)), load(features, (i + 1, k))
            upper = fma(spread(width, (0, i, i + 1)), y, spread(width, (0, i, i)) * x)
            lower = spread(width, (0, i + 1, i + 1)) * y
            for j in range(i + 2, even, 2):
                u, v = load(features, (j, k)), load(features, (j + 1, k))
                upper = fma(spread(width, (0, i, j)), u, upper)
                lower = fma(spread(width, (0, i + 1, j)), u, lower)
                upper = fma(spread(width, (0, i, j + 1)), v, upper)
                lower = fma(spread(width, (0, i + 1, j + 1)), v, lower)
            if even <= last:
                u = load(features, (last, k))
                upper = fma(spread(width, (0, i, last)), u, upper)
                lower = fma(spread(width, (0, i + 1, last)), u, lower)
            squared = fma(lower, y, fma(upper, x, squared))
        if even <= last:
            x = load(features, (last, k))
            squared = fma(spread(width, (0, last, last)) * x, x, squared)
        added = math.sqrt(max(squared, float32(0))) if root else squared
        store(scores, k, estimate + added, LANES)


@allocation_free
def score_arm(
    features: Floats32, column: int, theta: Floats32, width: Floats32, model: int
) -> float:
    """Compute the score of one arm, whose context is a column of ``features``, under one model."""
    estimate, deviation = arm_parts(features, column, theta, width, model)
    return float(estimate + deviation)


@inlined
def arm_parts(
    features: Floats32, column: int, theta: Floats32, width: Floats32, model: int
) -> tuple[Any, Any]:
    """Compute both parts of an arm's score, ⟨x, θ⟩ and √(xᵀWx), in float32."""
    estimate = float32(0)
    quadratic = float32(0)
    for i in range(theta.shape[1]):
        x = features[i, column]
        inner = float32(0)
        for j in range(i, theta.shape[1]):
            inner = fma(width[model, i, j], features[j, column], inner)
        quadratic = fma(inner, x, quadratic)
        estimate = fma(theta[model, i], x, estimate)
    return estimate, math.sqrt(max(quadratic, float32(0)))


@allocation_free
def best_arm(scores: Floats32, first: int) -> int:
    """Find the arm with the highest score; of equals, the first from ``first`` on, cyclic.

    Returns -1 if no score is a number.
    """
    top = _maximum(scores)
    arm = _where(scores, top, first, scores.size)
    return arm if arm >= 0 else _where(scores, top, 0, first)


@inlined
def _maximum(scores: Floats32) -> Any:
    """Find the largest entry; none that is a number if the first one is not."""
    arms, top = scores.size, scores[0]
    if arms >= LANES:
        most = lanes(top)
        for start in range(0, arms, LANES):
            most = max(most, load(scores, min(start, arms - LANES)))
        top = largest(most)
    else:
        for k in range(arms):
            top = max(top, scores[k])
    return top


@allocation_free
def _where(scores: Floats32, value: Any, start: int, end: int) -> int:
    """Find the first of the arms ``start`` … ``end`` - 1 with this score; -1 if none has it."""
    while start + LANES <= end and not among(value, load(scores, start)):
        start += LANES
    for arm in range(start, end):
        if scores[arm] == value:
            return arm
    return -1
