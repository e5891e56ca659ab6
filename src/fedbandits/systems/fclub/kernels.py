"""What a server computes in a round, as compiled functions on arrays."""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32
from fedbandits.learners.linucb import best_arm, score_arms, set_width
from fedbandits.learners.models import update
from fedbandits.learners.ridge import add_record
from fedbandits.systems.fclub.plan import Constants
from fedbandits.systems.fclub.state import (
    Models,
    Scratch,
)


@compiled
def recommend(
    constants: Constants, models: Models, user: int, items: Floats32, scratch: Scratch
) -> int:
    """The item with the largest mean reward plus its exploration bonus.

    Parameters
    ----------
    items : (d, K) float32
    """
    for i in range(constants.dimension):
        scratch.theta[0, i] = np.float32(models.theta[user, i])
    set_width(models.inverse[user : user + 1], 0, constants.width, scratch.width)
    score_arms(items, scratch.theta, scratch.width, scratch.scores, scratch.work)
    return best_arm(scratch.scores, 0)


@compiled
def observe(
    constants: Constants, models: Models, sums: Floats, user: int, context: Floats, reward: float,
    gain: Floats,
) -> None:  # fmt: skip
    """Enter one record; a server that acts on raw data learns from it at once.

    Parameters
    ----------
    sums : (users, p + 2) float64
        Packed statistics, numbers of records, and sums of squared rewards.
    context : (d,) float64
    gain : (d,) float64
        Scratch.
    """
    centred = reward - constants.offset
    add_record(sums, user, context, centred)
    size = sums.shape[1]
    sums[user, size - 2] += 1.0
    sums[user, size - 1] += centred * centred
    if constants.raw_view:
        update(models, user, context, centred, gain)
