"""Ridge models of many learners, row by row: they choose, and take up one record at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free
from fedbandits._typing import Floats, Floats32
from fedbandits.learners.kernels.linucb import (
    ScoreBuffers,
    best_arm,
    new_score_buffers,
    score_arms,
    score_arms_squared,
    set_width,
)
from fedbandits.learners.kernels.ridge import add_rank_one


class Models(NamedTuple):
    """Ridge estimates, one a row."""

    inverse: Floats  # (rows, d, d) of λI + S
    theta: Floats  # (rows, d)
    log_det: Floats  # (rows,) ln det(λI + S)
    records: Floats  # (rows,) how many are behind it


class Scoring(NamedTuple):
    """Buffers for scoring arms."""

    theta: Floats32  # (1, d)
    width: Floats32  # (1, d, d)
    scores: Floats32  # (K,)
    buffers: ScoreBuffers


def new_scoring(dimension: int, arms: int) -> Scoring:
    """Make buffers."""
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
    """Add one record to the model in a row. ``gain`` (d,) is a buffer that is overwritten."""
    residual = reward
    for i in range(context.size):
        residual -= models.theta[row, i] * context[i]
    models.log_det[row] += add_rank_one(models.inverse, row, context, gain)
    for i in range(context.size):
        models.theta[row, i] += residual * gain[i]
    models.records[row] += 1.0
