"""Logs of a world where the truth is known, to check what is estimated from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.data_table import Table, table
from fedbandits.random import Purpose, replicate_key, uniforms

#: Length of a context, and number of arms.
DIMENSION, ARMS = 3, 4
_NAMES = tuple("abcd")
_KEPT = 0.75


class KnownLog(NamedTuple):
    """A log, and what only its maker knows.

    Parameters
    ----------
    contexts : (events, d) float32
        In the unit cube.
    actions : (events,) int64
        The logged actions.
    rewards, propensities : (events,) float64
        Their rewards, 0 or 1, and the probabilities with which they were taken.
    expected : (events, arms) float64
        The expected reward of every arm.
    smallest
        Smallest probability with which any arm is taken.
    """

    contexts: Floats32
    actions: Ints
    rewards: Floats
    propensities: Floats
    expected: Floats
    smallest: float

    def value_of(self, chosen: Ints) -> float:
        """Mean expected reward of the ``chosen`` arms, (events,)."""
        return float(self.expected[np.arange(len(chosen)), chosen].mean())

    @property
    def logged(self) -> tuple[Ints, Floats, Floats]:
        """What the functions of :mod:`fedbandits.offline` take first."""
        return self.actions, self.rewards, self.propensities

    def environment(self, agents: int = 3, **settings: Any) -> Table:
        """The environment that plays this log, with other ``settings`` than the usual ones."""
        columns: dict[str, Any] = {f"x{i}": self.contexts[:, i] for i in range(DIMENSION)}
        names = list(columns)
        columns |= {
            "did": np.array(_NAMES, dtype=object)[self.actions],
            "paid": self.rewards,
            "p": self.propensities,
        }
        usual: dict[str, Any] = {
            "agents": agents, "features": names, "ranges": dict.fromkeys(names, (0.0, 1.0)),
            "action": "did", "reward": "paid", "propensity": "p", "classes": _NAMES,
            "reward_range": (0.0, 1.0), "smallest_propensity": self.smallest, "visits": "once",
        }  # fmt: skip
        return table(columns, **(usual | settings))


def known_log(events: int, uneven: bool = False, seed: int = 0) -> KnownLog:
    """A log of a world in which the mean reward of each arm is linear in the context.

    Parameters
    ----------
    events
        Number of events.
    uneven
        Whether the logging policy prefers the arm that is best for the context: it takes it three
        quarters of the time, and any arm else. Otherwise all arms are equally likely.
    seed
        It determines the log. The world is the same for all seeds.
    """
    key = replicate_key(seed, 0)

    def numbers(count: int, name: int) -> Floats:
        return uniforms(count, key, 1, name, Purpose.WORLD)

    contexts = numbers(events * DIMENSION, 0).reshape(events, DIMENSION).astype(np.float32)
    # Arm 0 pays well on the whole, and each other arm where its coordinate is large.
    slopes = np.vstack([np.full(DIMENSION, -0.1), 0.7 * np.eye(DIMENSION)])
    expected = np.array([0.5, 0.1, 0.1, 0.1]) + contexts @ slopes.T
    taken = np.full((events, ARMS), 1.0 / ARMS)
    each = np.arange(events)
    if uneven:
        taken[:] = (1.0 - _KEPT) / ARMS
        taken[each, expected.argmax(axis=1)] += _KEPT
    bounds = np.cumsum(taken[:, :-1], axis=1)
    actions = (numbers(events, 1)[:, None] >= bounds).sum(axis=1)
    rewards = (numbers(events, 2) < expected[each, actions]).astype(np.float64)
    return KnownLog(contexts, actions, rewards, taken[each, actions], expected, float(taken.min()))


def fixed_policies(log: KnownLog) -> dict[str, Ints]:
    """The choices of policies that learn nothing, (events,) each, by name."""
    events = len(log.actions)
    key = replicate_key(1, 1)
    drawn = uniforms(events, key, 2, 0, Purpose.WORLD) * ARMS
    return {
        "the best arm": log.expected.argmax(axis=1),
        "the worst arm": log.expected.argmin(axis=1),
        "always arm 1": np.ones(events, np.int64),
        "any arm": drawn.astype(np.int64),
    }
