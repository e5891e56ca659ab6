"""Pulls of Bernoulli arms, with and without drift."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats
from fedbandits.environments.kernels.drift import NO_SHARES, Shares, mixed, share_of_other
from fedbandits.random import Key, Purpose, bernoulli

_REWARD = int(Purpose.REWARD)
NONE: Floats = np.zeros(0)


class BernoulliWorld(NamedTuple):
    """One replicate of Bernoulli arms."""

    means: Floats  # (arms,)
    other: Floats = NONE  # (arms,) means of the second world; empty without drift
    shares: Shares = NO_SHARES


@allocation_free
def pull_arm(world: BernoulliWorld, key: Key, arm: int, round_: int) -> float:
    """Pull an arm, and return its reward in one round: the same for every system."""
    mean = world.means[arm]
    if world.other.size > 0:
        mean = mixed(mean, world.other[arm], share_of_other(world.shares, round_))
    return 1.0 if bernoulli(mean, key, arm, round_, _REWARD, 0) else 0.0


@compiled
def pull_regret(world: BernoulliWorld, arm: int, round_: int) -> float:
    """Return how much less an arm is expected to pay in a round than the best arm of that round."""
    if world.other.size == 0:
        return float(world.means.max() - world.means[arm])
    share, best = share_of_other(world.shares, round_), 0.0
    for i in range(world.means.size):
        best = max(best, mixed(world.means[i], world.other[i], share))
    return float(best - mixed(world.means[arm], world.other[arm], share))
