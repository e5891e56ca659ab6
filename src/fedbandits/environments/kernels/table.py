"""Rows of a table: with a reward for every arm, or labelled with the arm that pays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free
from fedbandits._typing import Floats32, Ints
from fedbandits.random import Key, Purpose, integer

_CONTEXT = int(Purpose.CONTEXT)


class TableWorld(NamedTuple):
    """One replicate of a table whose rows have a reward for every arm."""

    rows: Floats32  # (rows, dim): contexts, in the unit ball
    rewards: Floats32  # (rows, arms): in [0, 1]
    best: Ints  # (rows,): the arm with the largest reward
    shards: Ints  # (rows,): row numbers, grouped by party
    starts: Ints  # (parties + 1,): party i owns shards[starts[i]:starts[i + 1]]
    drawn: bool  # whether a round shows a row at random; else the party's next one
    persons: Ints  # (rows,): whose row each is


class ClassificationWorld(NamedTuple):
    """One replicate of a labelled data set."""

    rows: Floats32  # (rows, dim): contexts, in the unit ball
    labels: Ints  # (rows,): the right arm
    shards: Ints  # (rows,): row numbers, grouped by agent
    starts: Ints  # (agents + 1,): agent i owns shards[starts[i]:starts[i + 1]]
    arms: int
    persons: Ints  # (rows,): whose row each is


@allocation_free
def drawn_row_of(world: TableWorld | ClassificationWorld, key: Key, agent: int, round_: int) -> int:
    """Draw the number of the row that an agent sees in a round."""
    first, past = world.starts[agent], world.starts[agent + 1]
    return int(world.shards[first + integer(past - first, key, agent, round_, _CONTEXT, 0)])


@allocation_free
def row_of(world: TableWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the row that a party sees in a round."""
    if world.drawn:
        return drawn_row_of(world, key, agent, round_)
    first, past = world.starts[agent], world.starts[agent + 1]
    # More rounds than rows are refused before; the remainder keeps memory safe.
    return int(world.shards[first + (round_ - 1) % (past - first)])


@allocation_free
def fill_table(
    world: TableWorld, workspace: tuple[()], key: Key, agent: int, round_: int,
    features: Floats32, expected: Floats32,
) -> int:  # fmt: skip
    """Write the context and the rewards of a row, and return its best arm."""
    row = row_of(world, key, agent, round_)
    for i in range(features.shape[0]):
        features[i, 0] = world.rows[row, i]
    for arm in range(expected.size):
        expected[arm] = world.rewards[row, arm]
    return int(world.best[row])


@allocation_free
def person_of_row(world: TableWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the person whose row a party sees in a round."""
    return int(world.persons[row_of(world, key, agent, round_)])


@allocation_free
def fill_classification(
    world: ClassificationWorld, workspace: tuple[()], key: Key, agent: int, round_: int,
    features: Floats32, expected: Floats32,
) -> int:  # fmt: skip
    """Write the context of a visit, and return its class."""
    row = drawn_row_of(world, key, agent, round_)
    for i in range(features.shape[0]):
        features[i, 0] = world.rows[row, i]
    expected[:] = np.float32(0.0)
    best = world.labels[row]
    expected[best] = np.float32(1.0)
    return int(best)


@allocation_free
def person_of_drawn_row(world: ClassificationWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the person whose row an agent sees in a round."""
    return int(world.persons[drawn_row_of(world, key, agent, round_)])
