"""Worlds of recorded data: rows of a table, events of a log, users who rated items."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import allocation_free
from fedbandits._typing import Bools, Floats, Floats32, Ints
from fedbandits.environments.kernels.worlds import NOBODY
from fedbandits.random import Key, Purpose, integer, uniform

_CONTEXT, _REWARD = int(Purpose.CONTEXT), int(Purpose.REWARD)


class TableWorld(NamedTuple):
    """One replicate of a table whose rows have a reward for every arm."""

    rows: Floats32  # (rows, dim): contexts, in the unit ball
    rewards: Floats32  # (rows, arms): in [0, 1]
    best: Ints  # (rows,): the arm with the largest reward
    shards: Ints  # (rows,): row numbers, grouped by party
    starts: Ints  # (parties + 1,): party i owns shards[starts[i]:starts[i + 1]]
    drawn: bool  # whether a round shows a random row; else the party's next row
    persons: Ints  # (rows,): the person of each row


class ClassificationWorld(NamedTuple):
    """One replicate of a labelled data set."""

    rows: Floats32  # (rows, dim): contexts, in the unit ball
    labels: Ints  # (rows,): the right arm
    shards: Ints  # (rows,): row numbers, grouped by agent
    starts: Ints  # (agents + 1,): agent i owns shards[starts[i]:starts[i + 1]]
    arms: int
    persons: Ints  # (rows,): the person of each row


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
    # More rounds than rows are refused earlier; the remainder keeps memory safe.
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


class Noted(NamedTuple):
    """Notes that a run leaves in a log's world."""

    chosen: NDArray[np.uint16]  # (events,), by place: the action that the party chose there


class LoggedWorld(NamedTuple):
    """One replicate of a log: each event is shown at most once.

    Places are positions in ``order``.
    """

    rows: Floats32  # (events, dim)
    actions: Ints  # (events,)
    rewards: Floats  # (events,)
    propensities: Floats  # (events,)
    order: Ints  # (events,): numbers of the events, grouped by party
    starts: Ints  # (parties + 1,): party i owns order[starts[i]:starts[i + 1]]
    shown: Bools  # (events,), by place: whether rejection sampling accepts the event
    arms: int
    persons: Ints  # (events,): the person of each event
    noted: Noted  # notes that change in a run


@allocation_free
def draw_shown(probabilities: Floats, starts: Ints, key: Key, shown: Bools) -> None:
    """Draw, by place, whether rejection sampling accepts the event."""
    for agent in range(starts.size - 1):
        for place in range(starts[agent], starts[agent + 1]):
            round_ = place - starts[agent] + 1
            shown[place] = uniform(key, agent, round_, _REWARD, 0) < probabilities[place]


@allocation_free
def fill_log(
    world: LoggedWorld, workspace: tuple[()], key: Key, agent: int, round_: int,
    features: Floats32, expected: Floats32,
) -> int:  # fmt: skip
    """Write the context of an event, and return the logged action.

    Only the logged arm has a known expected reward, and only if the event is accepted.
    """
    place, best = world.starts[agent] + round_ - 1, 0
    expected[:] = np.float32(math.nan)
    if place >= world.starts[agent + 1]:  # after the end of the party's log
        features[:] = np.float32(0.0)
        return int(best)
    event = world.order[place]
    for i in range(features.shape[0]):
        features[i, 0] = world.rows[event, i]
    best = world.actions[event]
    if world.shown[place]:
        expected[best] = np.float32(world.rewards[event])
    return int(best)


@allocation_free
def person_of_event(world: LoggedWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the person of an event; NOBODY after the end of the party's log."""
    place = world.starts[agent] + round_ - 1
    if place >= world.starts[agent + 1]:
        return NOBODY
    return int(world.persons[world.order[place]])


@allocation_free
def note_chosen(world: LoggedWorld, agent: int, round_: int, arm: int) -> None:
    """Keep the chosen arm, for estimates."""
    place = world.starts[agent] + round_ - 1
    if place < world.starts[agent + 1]:
        world.noted.chosen[place] = arm


@allocation_free
def logged_reward(
    world: LoggedWorld, key: Key, agent: int, round_: int, expected: Floats32, arm: int
) -> float:
    """Return the logged reward; NaN if the reward of the chosen arm is not observed."""
    if math.isnan(expected[arm]):
        return math.nan
    return float(world.rewards[world.order[world.starts[agent] + round_ - 1]])


class RatingsWorld(NamedTuple):
    """One replicate of a rating data set."""

    user_factors: Floats32  # (users, dim)
    item_factors: Floats32  # (items, dim)
    starts: Ints  # (users + 1,): user u rated items[starts[u]:starts[u + 1]]
    items: Ints
    rewards: Floats32  # of each entry of ``items``, in [0, 1]
    order: Ints  # (users,): users, grouped by agent
    shares: Ints  # (agents + 1,): agent i serves order[shares[i]:shares[i + 1]]
    scale: float  # divisor of contexts
    arms: int


def ratings_workspace(world: RatingsWorld) -> Ints:
    """Return scratch for the places of sampled items, (arms,)."""
    return np.zeros(world.arms, dtype=np.int64)


@allocation_free
def user_of(world: RatingsWorld, key: Key, agent: int, round_: int) -> int:
    """Return the number of the user that comes to an agent in a round."""
    first, past = world.shares[agent], world.shares[agent + 1]
    return int(world.order[first + integer(past - first, key, agent, round_, _CONTEXT, 0)])


@allocation_free
def fill_ratings(
    world: RatingsWorld, workspace: Ints, key: Key, agent: int, round_: int,
    features: Floats32, expected: Floats32,
) -> int:  # fmt: skip
    """Write the contexts of different items that a user has rated; return the best rated item."""
    user = user_of(world, key, agent, round_)
    start, count = world.starts[user], world.starts[user + 1] - world.starts[user]
    best = 0
    for arm in range(world.arms):
        # Floyd's sampling: the arm-th of `arms` different places among `count`.
        top = count - world.arms + arm
        place = integer(top + 1, key, agent, round_, _CONTEXT, 1 + arm)
        for earlier in range(arm):
            if workspace[earlier] == place:
                place = top
                break
        workspace[arm] = place
        item = world.items[start + place]
        square = 0.0
        for i in range(features.shape[0]):
            x = np.float64(world.user_factors[user, i]) * np.float64(world.item_factors[item, i])
            square += x * x
        shrink = (1.0 - 1e-6) / max(world.scale, math.sqrt(square))
        for i in range(features.shape[0]):
            x = np.float64(world.user_factors[user, i]) * np.float64(world.item_factors[item, i])
            features[i, arm] = np.float32(x * shrink)
        expected[arm] = world.rewards[start + place]
        if expected[arm] > expected[best]:
            best = arm
    return best
