"""Rows of a table with a reward for every arm: drawn, or one after another."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits._compile import borrowing
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


@borrowing
def row_of(world: TableWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the row that a party sees in a round."""
    first, past = world.starts[agent], world.starts[agent + 1]
    # More rounds than rows are refused before; the remainder keeps memory safe.
    at = (round_ - 1) % (past - first)
    if world.drawn:
        at = integer(past - first, key, agent, round_, _CONTEXT, 0)
    return int(world.shards[first + at])


@borrowing
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


@borrowing
def person_of_row(world: TableWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the person whose row a party sees in a round."""
    return int(world.persons[row_of(world, key, agent, round_)])
