"""A replicate of a table in compiled loops: rows that are drawn, or come one after another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import implements
from fedbandits._typing import Floats32, Ints
from fedbandits.environments.base import decision_set_workspace, draw_reward, fill_decision_set
from fedbandits.environments.persons import person_of
from fedbandits.random import Purpose, integer

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


@implements(decision_set_workspace, TableWorld)
def _workspace(world: Any) -> Any:
    return ()


@implements(fill_decision_set, TableWorld)
def _fill(
    world: Any, workspace: Any, key: Any, agent: Any, round_: Any, features: Any, expected: Any
) -> Any:
    first, past = world.starts[agent], world.starts[agent + 1]
    if world.drawn:
        at = integer(past - first, key, agent, round_, _CONTEXT, 0)
    else:  # more rounds than rows are refused before; the remainder keeps memory safe
        at = (round_ - 1) % (past - first)
    row = world.shards[first + at]
    for i in range(features.shape[0]):
        features[i, 0] = world.rows[row, i]
    for arm in range(expected.size):
        expected[arm] = world.rewards[row, arm]
    return world.best[row]


@implements(person_of, TableWorld)
def _person(world: Any, key: Any, agent: Any, round_: Any) -> Any:
    first, past = world.starts[agent], world.starts[agent + 1]
    at = (round_ - 1) % (past - first)
    if world.drawn:
        at = integer(past - first, key, agent, round_, _CONTEXT, 0)
    return world.persons[world.shards[first + at]]


@implements(draw_reward, TableWorld)
def _reward(world: Any, expected: Any, key: Any, agent: Any, round_: Any) -> Any:
    return np.float64(expected)
