"""The worlds of the contest, each drawn once for all: its own draws, arm by arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from beside.streams import Stream
from fedbandits.environments import Bernoulli, Classification, Linear
from fedbandits.environments.kernels.arrivals import pull_arm
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
    if isinstance(world, Bernoulli):
        drawn = world.world(key)
        rewards = [
            [pull_arm(drawn, key, arm, t) for arm in range(world.arms)] for t in range(1, steps + 1)
        ]
        expected = np.tile(drawn.means, (steps, 1))
        return Stream(np.zeros((steps, 0, 1), np.float32), np.array(rewards), expected)
    contexts = np.zeros((steps, *world.facts.features_shape), np.float32)
    expected32 = np.zeros((steps, world.facts.arms), np.float32)
    rewards = np.zeros(expected32.shape)
    shown = world.open(key)
    for t in range(steps):
        shown.fill(0, t + 1)
        contexts[t], expected32[t] = shown.features, shown.expected
        rewards[t] = [shown.reward(arm, 0, t + 1) for arm in range(expected32.shape[1])]
    return Stream(contexts, rewards, expected32.astype(np.float64))
