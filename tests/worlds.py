"""Looking into a world from Python, through the functions that the compiled loops call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedbandits.environments import Environment
from fedbandits.environments.base import draw_decision_set, draw_world_reward


def decision_set(environment: Environment, world: Any, key: Any, agent: int, round_: int):
    features = np.zeros(environment.facts.features_shape, np.float32)
    expected = np.zeros(environment.arm_count, np.float32)
    best = draw_decision_set(world, key, agent, round_, features, expected)
    return features, expected, int(best)


def decision_sets(environment: Environment, world: Any, key: Any, rounds: int) -> Iterator[Any]:
    for round_ in range(1, rounds + 1):
        yield decision_set(environment, world, key, round_ % environment.agents, round_)


def draw_rewards(world: Any, expected: float, key: Any, rounds: int) -> list[float]:
    return [draw_world_reward(world, expected, key, 0, round_) for round_ in range(rounds)]
