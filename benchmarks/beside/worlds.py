"""The worlds of the contest, each drawn once for all: its own draws, arm by arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from beside.streams import Stream
from fedbandits.environments import Bernoulli, Classification, Linear
from fedbandits.environments.base import draw_decision_set, draw_world_reward
from fedbandits.environments.bernoulli import draw_pull
from fedbandits.random import replicate_key

SEED = 0
#: Every world has one agent: nobody shares.
WORLDS: dict[str, Any] = {
    "linear": Linear(agents=1, dim=10, arms=20),
    "bernoulli": Bernoulli(arms=10),
    "digits": Classification(dataset="digits", agents=1),
    "breast_cancer": Classification(dataset="breast_cancer", agents=1),
    "wine": Classification(dataset="wine", agents=1),
}


def draw_stream(world: Any, steps: int, replicate: int) -> Stream:
    """Draw one replicate of a world, with the draws that its simulation uses."""
    key = replicate_key(SEED, replicate)
    drawn = world.world(key)
    if isinstance(world, Bernoulli):
        rewards = [
            [draw_pull(drawn, key, arm, t) for arm in range(world.arms)]
            for t in range(1, steps + 1)
        ]
        expected = np.tile(drawn.means, (steps, 1))
        return Stream(np.zeros((steps, 0, 1), np.float32), np.array(rewards), expected)
    contexts = np.zeros((steps, *world.facts.features_shape), np.float32)
    expected32 = np.zeros((steps, world.facts.arms), np.float32)
    rewards = np.zeros(expected32.shape)
    for t in range(steps):
        draw_decision_set(drawn, key, 0, t + 1, contexts[t], expected32[t])
        for arm, mean in enumerate(expected32[t]):
            rewards[t, arm] = draw_world_reward(drawn, mean, key, 0, t + 1)
    return Stream(contexts, rewards, expected32.astype(np.float64))
