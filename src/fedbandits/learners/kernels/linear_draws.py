"""Linear Thompson sampling: play the best arm under parameters drawn from what is known of them.

Of each model's parameters N(θ, W) is known, with θ and W as LinUCB has them (Agrawal & Goyal 2013).

Arms that share a model are scored with one draw θ + Lz, where LLᵀ = W and z is standard normal.
Where each arm has a model, one number of the draw counts, ⟨x, θ + Lz⟩. It is normal with the
variance xᵀWx, and independent of all other arms', so it is drawn by itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, fma
from fedbandits._typing import Floats, Floats32
from fedbandits.learners.kernels.linucb import arm_parts

#: W has 24 bits. What a parameter has left beside those before it, as a share of its variance,
#: may be rounding if it is less than this; it is then drawn with those before it.
_LEAST_SHARE = 1e-6


class DrawBuffers(NamedTuple):
    """Standard normals of a decision, and buffers."""

    normals: Floats  # draw_size(models, d)
    factor: Floats  # (d, d)
    moved: Floats  # (d,)
    drawn: Floats32  # (d,)


def draw_size(models: int, dimension: int) -> int:
    """Count the standard normals that a decision takes."""
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
