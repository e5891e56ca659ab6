"""Worlds in which one party acts a round: Bernoulli arms that are pulled, and users who arrive."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import float32
from numpy.typing import NDArray

from fedbandits._compile import allocation_free, compiled, fma
from fedbandits._typing import Floats, Floats32, Ints, Words32
from fedbandits.environments.kernels.drift import NO_SHARES, Shares, mixed, share_of_other
from fedbandits.environments.kernels.linear import coordinate
from fedbandits.random import Key, Purpose, bernoulli, fill_words, uniform

_ARRIVAL, _CONTEXT, _REWARD = int(Purpose.ARRIVAL), int(Purpose.CONTEXT), int(Purpose.REWARD)

#: 1/√2: the length of the directions of users and items, and of their constant coordinate.
HALF = math.sqrt(0.5)
#: Slightly below 1/√2, so that float32 rounding leaves an item's norm at most 1.
_LENGTH = np.float32(HALF * (1.0 - 4.0e-7))


#: Vectors and means of an absent second world.
NO_OTHER: Floats = np.zeros((0, 0))
NO_MEANS: Floats = np.zeros(0)


class ClusteredWorld(NamedTuple):
    """One replicate of a clustered world."""

    theta: Floats  # (users, d) preference vectors
    server: Ints  # (users,) the server of each user
    cumulative: Floats  # (users,) cumulative arrival probabilities
    cluster: Ints  # (users,) the true clusters
    items: int
    other: Floats = NO_OTHER  # (users, d) vectors of the second world; empty without drift
    shares: Shares = NO_SHARES


@allocation_free
def draw_arrival(world: ClusteredWorld, key: Key, round_: int) -> int:
    """Draw the user who arrives in a round, the same in every system."""
    ticket = uniform(key, 0, round_, _ARRIVAL, 0)
    low, high = 0, world.cumulative.size - 1
    while low < high:
        middle = (low + high) >> 1
        if world.cumulative[middle] > ticket:
            high = middle
        else:
            low = middle + 1
    return low


class ItemsWorkspace(NamedTuple):
    """Scratch of :func:`fill_items`."""

    words: Words32  # (4, blocks): raw Philox words
    halves: NDArray[np.uint16]  # (d - 1, items): the same memory, a row for each coordinate
    scale: Floats32  # (items,)


@compiled
def items_workspace(world: ClusteredWorld) -> ItemsWorkspace:
    """Make scratch arrays for :func:`fill_items`."""
    rows, items = world.theta.shape[1] - 1, world.items
    words = np.zeros((4, (rows * items + 7) // 8), dtype=np.uint32)
    halves = words.reshape(-1).view(np.uint16)[: rows * items].reshape(rows, items)
    return ItemsWorkspace(words, halves, np.zeros(items, dtype=np.float32))


@allocation_free
def fill_items(
    world: ClusteredWorld, workspace: ItemsWorkspace, key: Key, round_: int, items: Floats32
) -> None:
    """Write a round's items into ``items`` (d, K) float32: the same items in every system."""
    words, halves, scale = workspace
    fill_words(words, key, 0, round_, _CONTEXT)
    scale[:] = float32(1.0e-30)
    rows, count = halves.shape
    for row in range(rows):
        for k in range(count):
            g = coordinate(float32(halves[row, k]))
            items[row, k] = g
            scale[k] = fma(g, g, scale[k])
    for k in range(count):
        scale[k] = _LENGTH / math.sqrt(scale[k])
        items[rows, k] = _LENGTH
    for row in range(rows):
        for k in range(count):
            items[row, k] *= scale[k]


@allocation_free
def fill_expected(
    world: ClusteredWorld, user: int, round_: int, items: Floats32, expected: Floats
) -> int:
    """Write the items' expected rewards for a user, (K,), and return the best item."""
    share = share_of_other(world.shares, round_) if world.other.size > 0 else 0.0
    best = 0
    for k in range(items.shape[1]):
        mean = 0.0
        for i in range(items.shape[0]):
            mean = fma(world.theta[user, i], float(items[i, k]), mean)
        expected[k] = min(1.0, max(0.0, mean))
        if share > 0.0:
            mean = 0.0
            for i in range(items.shape[0]):
                mean = fma(world.other[user, i], float(items[i, k]), mean)
            expected[k] = mixed(expected[k], min(1.0, max(0.0, mean)), share)
        if expected[k] > expected[best]:
            best = k
    return best


@allocation_free
def draw_item_reward(expected: float, key: Key, round_: int) -> float:
    """Draw 1 with probability ``expected``, else 0: one uniform draw a round."""
    return 1.0 if bernoulli(expected, key, 0, round_, _REWARD, 0) else 0.0


@compiled
def draw_items(world: ClusteredWorld, key: Key, round_: int, items: Floats32) -> None:
    """Call :func:`fill_items` from outside compiled code."""
    fill_items(world, items_workspace(world), key, round_, items)


class BernoulliWorld(NamedTuple):
    """One replicate of Bernoulli arms."""

    means: Floats  # (arms,)
    other: Floats = NO_MEANS  # (arms,) means of the second world; empty without drift
    shares: Shares = NO_SHARES


@allocation_free
def pull_arm(world: BernoulliWorld, key: Key, arm: int, round_: int) -> float:
    """Pull an arm, and return its reward in one round: the same in every system."""
    mean = world.means[arm]
    if world.other.size > 0:
        mean = mixed(mean, world.other[arm], share_of_other(world.shares, round_))
    return 1.0 if bernoulli(mean, key, arm, round_, _REWARD, 0) else 0.0


@compiled
def pull_regret(world: BernoulliWorld, arm: int, round_: int) -> float:
    """Return the expected reward of the best arm of a round, less that of ``arm``."""
    if world.other.size == 0:
        return float(world.means.max() - world.means[arm])
    share, best = share_of_other(world.shares, round_), 0.0
    for i in range(world.means.size):
        best = max(best, mixed(world.means[i], world.other[i], share))
    return float(best - mixed(world.means[arm], world.other[arm], share))
