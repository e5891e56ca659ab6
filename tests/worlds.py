"""Looking into a world from Python, through the functions that the compiled loops call."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.environments.open_world import OpenWorld


class _Same:
    """A thing that equals itself alone, for a cache."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)


@functools.lru_cache(maxsize=32)
def _opened(environment: _Same, world: _Same, key: Any) -> OpenWorld:
    return environment.thing.open(key, world.thing)


def opened(environment: ContextualEnvironment, world: Any, key: Any) -> OpenWorld:
    """The open world of these arrays: the same one for the same arrays."""
    return _opened(_Same(environment), _Same(world), key)


def decision_set(environment: Any, world: Any, key: Any, agent: int, round_: int) -> Any:
    shown = opened(environment, world, key)
    best = shown.fill(agent, round_)
    return shown.features.copy(), shown.expected.copy(), best


def decision_sets(environment: Any, world: Any, key: Any, rounds: int) -> Iterator[Any]:
    for round_ in range(1, rounds + 1):
        yield decision_set(environment, world, key, round_ % environment.agents, round_)


def draw_rewards(environment: Any, expected: float, key: Any, rounds: int) -> list[float]:
    """Rewards of an arm of which so much is expected, whatever its decision set says."""
    shown, drawn = environment.open(key), []
    for round_ in range(1, rounds + 1):
        shown.expected[0] = np.float32(expected)
        drawn.append(shown.reward(0, 0, round_))
    return drawn
