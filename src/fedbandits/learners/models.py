"""Ridge models of many learners, row by row: estimates that take up one record at a time."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.learners.ridge import add_rank_one


class Models(NamedTuple):
    """Ridge estimates, one a row."""

    inverse: Floats  # (rows, d, d) of λI + S
    theta: Floats  # (rows, d)
    log_det: Floats  # (rows,) ln det(λI + S)
    records: Floats  # (rows,) how many are behind it


@compiled
def update(models: Models, row: int, context: Floats, reward: float, gain: Floats) -> None:
    """Add one record to a model."""
    residual = reward
    for i in range(context.size):
        residual -= models.theta[row, i] * context[i]
    models.log_det[row] += add_rank_one(models.inverse, row, context, gain)
    for i in range(context.size):
        models.theta[row, i] += residual * gain[i]
    models.records[row] += 1.0
