"""Visits of a labelled data set: each class is an arm, and the right one pays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import borrowing
from fedbandits._typing import Floats32, Ints
from fedbandits.random import Key, Purpose, integer

_CONTEXT = int(Purpose.CONTEXT)


class ClassificationWorld(NamedTuple):
    """One replicate of a labelled data set."""

    rows: Floats32  # (rows, dim): contexts, in the unit ball
    labels: Ints  # (rows,): the right arm
    shards: Ints  # (rows,): row numbers, grouped by agent
    starts: Ints  # (agents + 1,): agent i owns shards[starts[i]:starts[i + 1]]
    arms: int
    persons: Ints  # (rows,): whose row each is


@borrowing
def fill_classification(
    world: ClassificationWorld, workspace: tuple[()], key: Key, agent: int, round_: int,
    features: Floats32, expected: Floats32,
) -> int:  # fmt: skip
    """Write the context of a visit, and return its class."""
    row = row_of(world, key, agent, round_)
    for i in range(features.shape[0]):
        features[i, 0] = world.rows[row, i]
    expected[:] = np.float32(0.0)
    best = world.labels[row]
    expected[best] = np.float32(1.0)
    return int(best)


@borrowing
def row_of(world: ClassificationWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the row that an agent sees in a round."""
    first, past = world.starts[agent], world.starts[agent + 1]
    return int(world.shards[first + integer(past - first, key, agent, round_, _CONTEXT, 0)])


@borrowing
def person_of_row(world: ClassificationWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the person whose row an agent sees in a round."""
    return int(world.persons[row_of(world, key, agent, round_)])
