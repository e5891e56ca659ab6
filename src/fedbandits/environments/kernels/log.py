"""Events of a log: each is met once, and paid only where the choice agrees with it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import allocation_free
from fedbandits._typing import Bools, Floats, Floats32, Ints
from fedbandits.environments.kernels.worlds import NOBODY
from fedbandits.random import Key, Purpose, uniform

_REWARD = int(Purpose.REWARD)


class Noted(NamedTuple):
    """Notes that a run leaves in a log's world."""

    chosen: NDArray[np.uint16]  # (events,), by place: what the party chose there


class LoggedWorld(NamedTuple):
    """One replicate of a log: each event is met once at most.

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
    persons: Ints  # (events,): whose event each is
    noted: Noted  # what changes in a run


@allocation_free
def draw_shown(probabilities: Floats, starts: Ints, key: Key, shown: Bools) -> None:
    """Draw which events rejection sampling accepts, by place."""
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

    Of the logged arm alone an expected reward is known, and only if the event is accepted.
    """
    place, best = world.starts[agent] + round_ - 1, 0
    expected[:] = np.float32(math.nan)
    if place >= world.starts[agent + 1]:  # the party's log is over
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
    """Return the number of the person of an event; nobody comes once the party's log is over."""
    place = world.starts[agent] + round_ - 1
    if place >= world.starts[agent + 1]:
        return NOBODY
    return int(world.persons[world.order[place]])


@allocation_free
def note_chosen(world: LoggedWorld, agent: int, round_: int, arm: int) -> None:
    """Keep the chosen arm: estimates are made from it."""
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
