"""Logs made from worlds where the truth is known, for tests and benchmarks of estimates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.environments.tables.logged import Log, logged_world, measures
from fedbandits.random import Key, Purpose, permutation, replicate_key, uniforms


class Truth(NamedTuple):
    """A log, and what its maker knows beside it."""

    log: Log
    expected: Floats  # (events, arms): what each action would have paid on average
    theta: Floats  # (arms, dim)


def make_log(
    events: int, arms: int = 4, dim: int = 3, uneven: bool = False, seed: int = 0
) -> Truth:
    """Bernoulli rewards, whose means are linear in the context for each arm.

    Where propensities are ``uneven``, the logging policy prefers an arm that depends on the
    context: three quarters of the time one arm, else any.
    """
    draw = iter(range(1_000_000))
    key = replicate_key(seed, 7)

    def numbers(*shape: int) -> Floats:
        size = int(np.prod(shape))
        return uniforms(size, key, next(draw), 0, Purpose.WORLD).reshape(shape)

    theta = 0.5 * numbers(arms, dim)
    rows = numbers(events, dim)
    rows = (rows / np.sqrt(dim)).astype(np.float32)
    expected = 0.05 + rows.astype(np.float64) @ theta.T
    expected[:, 0] += 0.3
    propensities = np.full((events, arms), 1.0 / arms)
    if uneven:
        liked = (expected - expected.mean(axis=0)).argmax(axis=1)
        propensities[:] = 0.25 / arms
        propensities[np.arange(events), liked] += 0.75
    actions = (numbers(events)[:, None] > np.cumsum(propensities, axis=1)).sum(axis=1)
    actions = np.minimum(actions, arms - 1)
    each = np.arange(events)
    rewards = (numbers(events) < expected[each, actions]).astype(np.float64)
    smallest = float(propensities.min())
    log = Log(rows, actions, rewards, propensities[each, actions], smallest, arms)
    return Truth(log, expected, theta)


#: Logs that environments are of, by number: a configuration holds no arrays.
LOGS: list[Log] = []


class ArrayLog(ContextualEnvironment, frozen=True, kw_only=True, tag="array-log"):
    """A log of arrays, dealt among agents."""

    number: int
    shuffled: bool = True

    @property
    def log(self) -> Log:
        return LOGS[self.number]

    @property
    def dimension(self) -> int:
        return int(self.log.rows.shape[1])

    @property
    def arm_count(self) -> int:
        return self.log.arms

    @property
    def models(self) -> int:
        return self.log.arms

    @property
    def regret_is_known(self) -> bool:
        return False

    def measures(self, world: Any, rounds: int) -> Any:
        return measures(world, rounds)

    def world(self, key: Key) -> Any:
        count = len(self.log.actions)
        order: Ints = np.arange(count)
        if self.shuffled:
            order = permutation(count, key, 0, 0, Purpose.WORLD)
        starts = np.linspace(0, count, self.agents + 1).round().astype(np.int64)
        return logged_world(self.log, key, order, starts)


def array_log(log: Log, agents: int = 3, shuffled: bool = True) -> ArrayLog:
    """An environment of a log."""
    LOGS.append(log)
    return ArrayLog(agents=agents, number=len(LOGS) - 1, shuffled=shuffled)
