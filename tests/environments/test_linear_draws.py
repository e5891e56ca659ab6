"""Contexts drawn side by side against the same draws made arm by arm, bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy import float32

from fedbandits._compile import compiled, fma
from fedbandits.environments import Linear
from fedbandits.random import Purpose, fill_words, replicate_key
from tests.worlds import decision_set

KEY = replicate_key(11, 2)
INSIDE = float32(1.0 - 4.0e-6)
BEND_1, BEND_7 = float32(1.303086), float32(1.178801)
HALF_STEP, STEP = float32(1.0 - 1.0 / 65536), float32(2.0 / 65536)


@compiled
def bent(half):
    u = fma(float32(half), STEP, -HALF_STEP)
    square = u * u
    return u * fma(square * square * square, BEND_7, BEND_1)


@compiled
def arm_by_arm(world, own, halves, ticket, features, expected):
    """As `Linear` says: draw along θ* and across, scale into the ball, reflect onto θ*."""
    reflection, last = world.reflection[own], features.shape[0] - 1
    arms = features.shape[1]
    for k in range(arms):
        mean = fma(float32(halves[last + 2, k]), float32(0.1) * float32(1 / 65536), float32(0.5))
        expected[k] = mean
    best = (ticket * arms) >> 32
    expected[best] = min(expected[best] + world.lift, INSIDE)
    for k in range(arms):
        size, along = float32(0), float32(0)
        for row in range(last + 2):
            g = bent(halves[row, k])
            size = fma(g, g, size)
            if row < last:
                along = fma(g, reflection[row], along)
        reach = expected[k] * world.stretch
        shrink = math.sqrt(max(INSIDE - reach * reach, float32(0)) / size)
        along = float32(2) * fma(shrink, along, reach * reflection[last])
        for row in range(last):
            features[row, k] = fma(bent(halves[row, k]), shrink, -along * reflection[row])
        features[last, k] = fma(-along, reflection[last], reach)
    return best


@pytest.mark.parametrize("dim", [1, 2, 5, 10])
@pytest.mark.parametrize("arms", [2, 3, 9, 15, 16, 17, 31, 32, 100])
def test_draws_do_not_depend_on_what_lies_side_by_side(dim, arms):
    spread = 0.7 if dim == 5 else 0.0  # then agents have parameters of their own
    environment = Linear(agents=3, dim=dim, arms=arms, parameter="ball", spread=spread)
    world = environment.world(KEY)
    features, expected, best = decision_set(environment, world, KEY, 1, 6)
    cells = (dim + 2) * arms
    words = np.zeros((4, (cells + 9) // 8), np.uint32)
    fill_words(words, KEY, 1, 6, int(Purpose.CONTEXT))
    flat = words.reshape(-1).view(np.uint16)
    ticket = int(flat[cells + 1]) << 16 | int(flat[cells])
    alone, means = np.zeros_like(features), np.zeros_like(expected)
    own = 1 if spread else 0
    assert arm_by_arm(world, own, flat[:cells].reshape(-1, arms), ticket, alone, means) == best
    assert expected.tobytes() == means.tobytes()
    assert features.tobytes() == alone.tobytes()
