"""Rewards that change in the course of a run: mixtures of two worlds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import float32

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.kernels.worlds import Handle, draw_reward, fill_decision_set
from fedbandits.random import Key

#: Rules for the expected rewards of a second world, see :class:`OtherRewards`.
LINEAR, MOVED, MIRRORED = 0, 1, 2


class Shares(NamedTuple):
    """The share of the second world in every round, for compiled code."""

    at: Ints  # rounds in which the worlds change places; empty for a walk
    walk: Floats  # the share after each number of steps
    every: int  # rounds between two steps


#: Shares of worlds that do not drift.
NO_SHARES = Shares(np.zeros(0, np.int64), np.zeros(1), 1)
#: Parameters for rules without parameters.
_NO_PARAMETERS = np.zeros((1, 1))


class OtherRewards(NamedTuple):
    """A rule for the expected rewards of a decision set in the second world."""

    kind: int  # LINEAR: ⟨x, θ⟩; MOVED: that of the arm before; MIRRORED: sum_ less that reward
    theta: Floats = _NO_PARAMETERS  # (parameters, dim): a row for each agent, or one for all
    sum_: float = 0.0  # of the smallest and the largest reward


class DriftingWorld(NamedTuple):
    """One replicate of a contextual environment whose rewards drift."""

    before: Any  # the world without drift, which has the contexts
    other: OtherRewards
    shares: Shares


class Drifted(NamedTuple):
    """A drifting world whose first world is open."""

    before: Handle
    other: OtherRewards
    shares: Shares


@compiled
def share_of_other(shares: Shares, round_: int) -> float:
    """Return the share w of the second world in ``round_``, in [0, 1]."""
    if shares.at.size > 0:
        changes = 0
        while changes < shares.at.size and shares.at[changes] <= round_:
            changes += 1
        return float(changes & 1)
    steps, last = (round_ - 1) // shares.every, shares.walk.size
    position = steps % (2 * last)
    return float(shares.walk[position if position < last else 2 * last - 1 - position])


@compiled
def mixed(before: float, after: float, share: float) -> float:
    """Return the reward under drift: exactly ``before`` at share 0, ``after`` at share 1."""
    return (1.0 - share) * before + share * after


@allocation_free
def fill_other(
    other: OtherRewards, agent: int, features: Floats32, expected: Floats32, changed: Floats32
) -> None:
    """Write into ``changed`` the expected rewards of a decision set in the second world.

    ``features`` are the contexts of the agent's decision set, (dimension, columns) float32.
    ``expected`` and ``changed`` are (arms,) float32: the expected rewards in the first world and,
    within the range of rewards, in the second.
    """
    last, row = changed.size - 1, agent if other.theta.shape[0] > 1 else 0
    for k in range(changed.size):
        if other.kind == LINEAR:
            mean = 0.0
            for i in range(features.shape[0]):
                mean += float(features[i, k]) * other.theta[row, i]
            changed[k] = float32(min(max(mean, 0.0), 1.0))
        elif other.kind == MOVED:
            changed[k] = expected[k - 1 if k > 0 else last]
        else:
            changed[k] = float32(other.sum_ - expected[k])


def workspace(world: Drifted) -> Floats32:
    """Return scratch for expected rewards, (arms,) float32."""
    return np.zeros_like(world.before.expected)


@allocation_free
def fill_drifted(
    world: Drifted, workspace: Floats32, key: Key, agent: int, round_: int, features: Floats32,
    expected: Floats32,
) -> int:  # fmt: skip
    """Write a first world's decision set with the expected rewards of both; return the best arm."""
    best = fill_decision_set(world.before, agent, round_)
    share = float32(share_of_other(world.shares, round_))
    if share == float32(0):
        return best
    fill_other(world.other, agent, features, expected, workspace)
    best = 0
    for k in range(expected.size):
        expected[k] = (float32(1) - share) * expected[k] + share * workspace[k]
        if expected[k] > expected[best]:
            best = k
    return best


@allocation_free
def reward_drifted(
    world: Drifted, key: Key, agent: int, round_: int, expected: Floats32, arm: int
) -> float:
    """Draw a reward by the first world's kernel, from the mixed expected rewards."""
    return draw_reward(world.before, arm, agent, round_)
