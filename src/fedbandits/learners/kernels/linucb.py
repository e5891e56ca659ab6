"""LinUCB and linear Thompson sampling: score every arm, play the best (Li et al. 2010).

The score of context x is ⟨x, θ⟩ + √(xᵀ W x) with W = (c·β)² V⁻¹, c the exploration scale. W is kept
in float32 as an upper triangle with doubled off-diagonal entries, so that a quadratic form costs
d(d + 1)/2 multiplications; the innermost loop runs across arms.

Thompson sampling plays the best arm under parameters drawn from their posterior: N(θ, W) of each
model, with θ and W as above (Agrawal & Goyal 2013). Arms that share a model are scored with one
draw θ + Lz, where LLᵀ = W and z is standard normal. Where each arm has a model, only one number of
the draw matters, ⟨x, θ + Lz⟩. It is normal with the variance xᵀWx, and independent across arms, so
this number is drawn directly.

:class:`Models` are ridge models of many learners, row by row: functions choose by a row, and add
one record at a time.
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
from fedbandits.learners.kernels.ridge import add_rank_one


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

    One pass does the work of :func:`.ridge.add_rank_one` and :func:`set_width`. Parameters as
    there; ``gain`` (d,) is V⁻¹x, and below its diagonal W is not read.
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
    """Compute scores of LANES arms or more, side by side; the last lanes may overlap earlier ones.

    Two rows of W at a time: each loaded context coordinate serves both.
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
    """Return the arm with the highest score; among equals, the first from ``first`` on, cyclic.

    Returns -1 if no score is a number.
    """
    top = _maximum(scores)
    arm = _where(scores, top, first, scores.size)
    return arm if arm >= 0 else _where(scores, top, 0, first)


@inlined
def _maximum(scores: Floats32) -> Any:
    """Return the largest entry; NaN if the first entry is NaN."""
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
    """Return the first of the arms ``start`` … ``end`` - 1 with this score, or -1."""
    while start + LANES <= end and not among(value, load(scores, start)):
        start += LANES
    for arm in range(start, end):
        if scores[arm] == value:
            return arm
    return -1


class Models(NamedTuple):
    """Ridge estimates, one a row."""

    inverse: Floats  # (rows, d, d) of λI + S
    theta: Floats  # (rows, d)
    log_det: Floats  # (rows,) ln det(λI + S)
    records: Floats  # (rows,) number of records


class Scoring(NamedTuple):
    """Buffers for scoring arms."""

    theta: Floats32  # (1, d)
    width: Floats32  # (1, d, d)
    scores: Floats32  # (K,)
    buffers: ScoreBuffers


def new_scoring(dimension: int, arms: int) -> Scoring:
    """Make scoring buffers for contexts of this length and so many arms."""
    return Scoring(
        theta=np.zeros((1, dimension), np.float32),
        width=np.zeros((1, dimension, dimension), np.float32),
        scores=np.zeros(arms, np.float32),
        buffers=new_score_buffers(dimension),
    )


@allocation_free
def choose_arm(
    models: Models, row: int, radius: float, squared: bool, arms: Floats32, scoring: Scoring
) -> int:
    """Choose the arm with the highest upper bound by the model in a ``row``; the first of equals.

    The bound is ⟨x, θ⟩ + √(xᵀ β² V⁻¹ x), where β is the ``radius``; ``squared`` leaves out the
    root. ``arms`` are (d, K). Returns -1 if no bound is a number.
    """
    theta, width, scores, buffers = scoring
    for i in range(arms.shape[0]):
        theta[0, i] = np.float32(models.theta[row, i])
    set_width(models.inverse[row : row + 1], 0, radius, width)
    if squared:
        score_arms_squared(arms, theta, width, scores, buffers)
    else:
        score_arms(arms, theta, width, scores, buffers)
    return best_arm(scores, 0)


@allocation_free
def update(models: Models, row: int, context: Floats, reward: float, gain: Floats) -> None:
    """Add one record to the model in a row. ``gain`` (d,) is an overwritten buffer."""
    residual = reward
    for i in range(context.size):
        residual -= models.theta[row, i] * context[i]
    models.log_det[row] += add_rank_one(models.inverse, row, context, gain)
    for i in range(context.size):
        models.theta[row, i] += residual * gain[i]
    models.records[row] += 1.0


#: Least conditional variance of a parameter, as a share of its variance: W has 24 bits, so a
#: smaller rest may be rounding. Such a parameter is then drawn with the parameters before it.
_LEAST_SHARE = 1e-6


class DrawBuffers(NamedTuple):
    """Standard normals of a decision, and buffers."""

    normals: Floats  # draw_size(models, d)
    factor: Floats  # (d, d)
    moved: Floats  # (d,)
    drawn: Floats32  # (d,)


def draw_size(models: int, dimension: int) -> int:
    """Return the number of standard normals for a decision."""
    return dimension if models == 1 else models


def draw_buffers(normals: Floats, dimension: int) -> DrawBuffers:
    """Make buffers for one thread, or for one decision of a party."""
    square = np.empty((dimension, dimension))
    return DrawBuffers(normals, square, np.empty(dimension), np.empty(dimension, np.float32))


@allocation_free
def draw_scores(
    features: Floats32, theta: Floats32, width: Floats32, scores: Floats32, draw: DrawBuffers
) -> None:
    """Compute the scores of all arms under drawn parameters, into ``scores`` (arms,).

    Parameters as in :func:`.linucb.score_arms`, with W a covariance.
    """
    if theta.shape[0] == 1:
        draw_parameters(theta, width, draw)
        for k in range(scores.size):
            scores[k] = np.float32(0)
        for i in range(theta.shape[1]):
            weight = draw.drawn[i]
            for k in range(scores.size):
                scores[k] = fma(weight, features[i, k], scores[k])
    else:
        for m in range(theta.shape[0]):
            estimate, deviation = arm_parts(features, 0, theta, width, m)
            scores[m] = fma(np.float32(draw.normals[m]), deviation, estimate)


@allocation_free
def draw_parameters(theta: Floats32, width: Floats32, draw: DrawBuffers) -> None:
    """Draw the parameters of the only model: θ + Lz, with L of Cholesky's factorisation of W.

    Rows are subtracted from rows below them, so the inner loop has no sum that runs along it.
    """
    factor, moved, dimension = draw.factor, draw.moved, theta.shape[1]
    for i in range(dimension):
        factor[i, i] = width[0, i, i]
        for j in range(i + 1, dimension):
            factor[i, j] = 0.5 * width[0, i, j]
        moved[i] = theta[0, i]
    for k in range(dimension):
        pivot = factor[k, k]
        if not pivot > _LEAST_SHARE * width[0, k, k]:
            continue
        scale = 1.0 / pivot
        step = draw.normals[k] * math.sqrt(scale)
        for j in range(k, dimension):
            moved[j] = fma(step, factor[k, j], moved[j])
        for i in range(k + 1, dimension):
            weight = -scale * factor[k, i]
            for j in range(i, dimension):
                factor[i, j] = fma(weight, factor[k, j], factor[i, j])
    for i in range(dimension):
        draw.drawn[i] = np.float32(moved[i])
