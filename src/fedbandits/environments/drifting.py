"""Contextual worlds under drift: the contexts of one world, and rewards mixed from two."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import float32

from fedbandits._compile import implements
from fedbandits._typing import Floats, Floats32
from fedbandits.environments.base import (
    ContextualEnvironment,
    decision_set_workspace,
    draw_reward,
    fill_decision_set,
)
from fedbandits.environments.drift import Shares, share_of_other
from fedbandits.environments.persons import person_of
from fedbandits.random import Key


class DriftingWorld(NamedTuple):
    """One replicate of a contextual environment whose rewards drift."""

    before: Any  # the world without drift: contexts are its own
    other: Any  # what the expected rewards of the second world follow from
    shares: Shares
    arms: int


def drifting(environment: ContextualEnvironment, key: Key, world: Any, other: Any) -> Any:
    """The world of a replicate, with the drift that its environment sets.

    Parameters
    ----------
    environment
        The environment; its ``drift`` may be None.
    key
        Key of the random draws of this replicate.
    world
        The world without drift.
    other
        A named tuple for which :func:`fill_other` has an implementation.
    """
    if environment.drift is None:
        return world
    return DriftingWorld(world, other, environment.drift.shares(key), environment.arm_count)


def fill_other(other: Any, features: Any, expected: Any, changed: Any) -> None:
    """Write the expected rewards that a decision set has in the second world.

    Parameters
    ----------
    other : named tuple
        What they follow from. Every type has its own implementation.
    features : (dimension, columns) float32
        The contexts.
    expected : (arms,) float32
        The expected rewards in the first world.
    changed : (arms,) float32
        Receives those in the second world, within the range of rewards.
    """
    raise NotImplementedError(f"no drift claims {type(other).__name__}")


class OtherParameter(NamedTuple):
    """Rewards are linear in the second world too; rewards are in [0, 1]."""

    theta: Floats  # (dim,)


class MovedRewards(NamedTuple):
    """Arms change places: each has the expected reward of the arm before it."""

    arms: int


class MirroredRewards(NamedTuple):
    """What paid most pays least."""

    sum_: float  # of the smallest and the largest reward


@implements(fill_other, OtherParameter)
def _linear(other: Any, features: Any, expected: Any, changed: Any) -> Any:
    for k in range(changed.size):
        mean = 0.0
        for i in range(features.shape[0]):
            mean += float(features[i, k]) * other.theta[i]
        changed[k] = float32(min(max(mean, 0.0), 1.0))


@implements(fill_other, MovedRewards)
def _moved(other: Any, features: Any, expected: Any, changed: Any) -> Any:
    last = other.arms - 1
    changed[0] = expected[last]
    for k in range(last):
        changed[k + 1] = expected[k]


@implements(fill_other, MirroredRewards)
def _mirrored(other: Any, features: Any, expected: Any, changed: Any) -> Any:
    for k in range(changed.size):
        changed[k] = float32(other.sum_ - expected[k])


class _Workspace(NamedTuple):
    before: Any
    changed: Floats32  # (arms,)


@implements(decision_set_workspace, DriftingWorld)
def _workspace(world: Any) -> Any:
    return _Workspace(decision_set_workspace(world.before), np.zeros(world.arms, np.float32))


@implements(fill_decision_set, DriftingWorld)
def _fill(
    world: Any, workspace: Any, key: Any, agent: Any, round_: Any, features: Any, expected: Any
) -> Any:
    best = fill_decision_set(world.before, workspace.before, key, agent, round_, features, expected)
    share = float32(share_of_other(world.shares, round_))
    if share == float32(0):
        return best
    changed = workspace.changed
    fill_other(world.other, features, expected, changed)
    best = 0
    for k in range(expected.size):
        expected[k] = (float32(1) - share) * expected[k] + share * changed[k]
        if expected[k] > expected[best]:
            best = k
    return best


@implements(person_of, DriftingWorld)
def _person(world: Any, key: Any, agent: Any, round_: Any) -> Any:
    return person_of(world.before, key, agent, round_)


@implements(draw_reward, DriftingWorld)
def _reward(world: Any, expected: Any, key: Any, agent: Any, round_: Any) -> Any:
    return draw_reward(world.before, expected, key, agent, round_)
