"""Decision sets of the linear world: fresh contexts in the unit ball, arms side by side."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy import float32
from numpy.typing import NDArray

from fedbandits._compile import LANES, allocation_free, fma, inlined, lanes, load, spread, store
from fedbandits._typing import Floats, Floats32, Words32
from fedbandits.random import Key, Purpose, fill_words

#: A coordinate before normalisation is a·u + b·u⁷, u uniform on [-1, 1]: the least-squares fit of
#: the normal quantile in this form. Normalised, such coordinates are uniform on the sphere to
#: within 1% (Kolmogorov distance of the radius), for five multiplications a draw.
_BEND_1, _BEND_7 = np.float32(1.303086), np.float32(1.178801)
_HALF_STEP = np.float32(1.0 - 1.0 / 65536)
_STEP = np.float32(2.0 / 65536)
_CONTEXT = int(Purpose.CONTEXT)
#: Square of the largest norm of contexts, so that float32 rounding (2e-7) stays below 1.
INSIDE = np.float32(1.0 - 4.0e-6)
LARGEST_MEAN = np.float32(1.0 - 4.0e-6)
_ORDINARY_LOW, _ORDINARY_WIDTH = np.float32(0.5), np.float32(0.1)


@inlined
def coordinate(half: Any) -> Any:
    """Return one nearly normal float32 number from 16 random bits, or lanes of such numbers."""
    u = fma(half, _STEP, -_HALF_STEP)
    square = u * u
    return u * fma(square * square * square, _BEND_7, _BEND_1)


class LinearWorld(NamedTuple):
    """One replicate of the linear world: ``parameters`` is 1 if all agents have the same θ*."""

    theta: Floats  # (parameters, dim): a row an agent, or one for all; all of one length
    reflection: Floats32  # (parameters, dim): v with (I - 2 v vᵀ) e_dim = θ* / ‖θ*‖
    lift: np.float32  # distance of the best arm's band above the band of other arms
    arms: int
    stretch: np.float32  # 1 / ‖θ*‖: turns ⟨x, θ*⟩ into the length of x along θ*


class Workspace(NamedTuple):
    """Scratch of :func:`fill_linear`."""

    words: Words32  # (4, blocks): raw Philox words
    halves: NDArray[np.uint16]  # (dim + 2, arms): the same memory, a row for each coordinate
    place: NDArray[np.uint16]  # (2,): the next halves; they place the best arm
    means: Floats32  # (LANES or more,): expected rewards
    drawn: Floats32  # (dim, LANES): coordinates of some arms before normalisation


def workspace(world: LinearWorld) -> Workspace:
    """Return scratch arrays for :func:`fill_linear`."""
    rows = world.theta.shape[1] + 2
    cells = rows * world.arms
    blocks = (cells + 9) // 8
    flat = np.zeros(4 * blocks + LANES // 2, dtype=np.uint32)  # the last row is read beyond its end
    words = flat[: 4 * blocks].reshape(4, blocks)
    pieces = flat.view(np.uint16)
    halves = pieces[:cells].reshape(rows, world.arms)
    means = np.zeros(max(world.arms, LANES), dtype=np.float32)
    drawn = np.zeros((rows, LANES), dtype=np.float32)
    return Workspace(words, halves, pieces[cells : cells + 2], means, drawn)


@allocation_free
def fill_linear(
    world: LinearWorld, workspace: Workspace, key: Key, agent: int, round_: int,
    features: Floats32, expected: Floats32,
) -> int:  # fmt: skip
    """Write a decision set, and return its best arm.

    Draw in a frame whose last axis is along the agent's θ*, then reflect that axis onto θ*. The
    first dim - 1 of dim + 1 normalised Gaussian coordinates are uniform in the (dim - 1)-ball,
    without a draw of a radius and its root. Arms go side by side. Where their number is no multiple
    of LANES, some are computed twice.
    """
    words, halves, place, means, drawn = workspace
    reflection, arms, last = world.reflection, world.arms, world.theta.shape[1] - 1
    row_of_agent = agent if world.theta.shape[0] > 1 else 0
    fill_words(words, key, agent, round_, _CONTEXT)
    per_half = _ORDINARY_WIDTH * float32(1.0 / 65536)
    for start in range(0, arms, LANES):
        k = max(min(start, arms - LANES), 0)
        store(means, k, fma(load(halves, (last + 2, k)), per_half, _ORDINARY_LOW), LANES)
    ticket = (np.int64(place[1]) << 16) | np.int64(place[0])
    best = (ticket * np.int64(arms)) >> 32
    means[best] = min(means[best] + world.lift, LARGEST_MEAN)
    tip = reflection[row_of_agent, last]
    for start in range(0, arms, LANES):
        k = max(min(start, arms - LANES), 0)
        size, along = lanes(float32(0)), lanes(float32(0))
        for row in range(last):
            g = coordinate(load(halves, (row, k)))
            size = fma(g, g, size)
            along = fma(g, spread(reflection, (row_of_agent, row)), along)
            store(drawn, (row, 0), g, LANES)
        for row in range(last, last + 2):
            g = coordinate(load(halves, (row, k)))
            size = fma(g, g, size)
        mean = load(means, k)
        reach = mean * world.stretch
        shrink = math.sqrt(max(INSIDE - reach * reach, float32(0)) / size)
        turn = -(float32(2) * fma(shrink, along, reach * tip))
        for row in range(last):
            turned = fma(
                load(drawn, (row, 0)), shrink, turn * spread(reflection, (row_of_agent, row))
            )
            store(features, (row, k), turned, arms)
        store(features, (last, k), fma(turn, tip, reach), arms)
        store(expected, k, mean, arms)
    return int(best)
