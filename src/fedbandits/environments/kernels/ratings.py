"""Visits of a rating data set: items that a user has rated, contexts from factors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free
from fedbandits._typing import Floats32, Ints
from fedbandits.random import Key, Purpose, integer

_CONTEXT = int(Purpose.CONTEXT)


class RatingsWorld(NamedTuple):
    """One replicate of a rating data set."""

    user_factors: Floats32  # (users, dim)
    item_factors: Floats32  # (items, dim)
    starts: Ints  # (users + 1,): user u rated items[starts[u]:starts[u + 1]]
    items: Ints
    rewards: Floats32  # of each of those, in [0, 1]
    order: Ints  # (users,): users, grouped by agent
    shares: Ints  # (agents + 1,): agent i serves order[shares[i]:shares[i + 1]]
    scale: float  # what contexts are divided by
    arms: int


def workspace(world: RatingsWorld) -> Ints:
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
    """Write the contexts of different items that a user has rated; return the one liked most."""
    user = user_of(world, key, agent, round_)
    start, count = world.starts[user], world.starts[user + 1] - world.starts[user]
    best = 0
    for arm in range(world.arms):
        # Floyd's sampling: the arm-th of `arms` different places among `count`.
        top = count - world.arms + arm
        place = integer(top + 1, key, agent, round_, _CONTEXT, 1 + arm)
        for other in range(arm):
            if workspace[other] == place:
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
