"""The synthetic world of Dubey & Pentland (2020), section 4.4: fresh arms, one better by a gap."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from numpy import float32
from numpy.typing import NDArray

from fedbandits._compile import fma, implements
from fedbandits._typing import Floats, Floats32, Words
from fedbandits.environments.base import (
    Arms,
    ContextualEnvironment,
    Dimension,
    bernoulli_reward,
    decision_set_workspace,
    draw_reward,
    fill_decision_set,
)
from fedbandits.environments.directions import coordinate
from fedbandits.environments.needs import F32, Needs, Part
from fedbandits.errors import ConfigError
from fedbandits.random import Key, Purpose, fill_words, normals

_CONTEXT = int(Purpose.CONTEXT)

#: Square of the norm that contexts keep within, so that float32 rounding (2e-7) stays inside 1.
_INSIDE = np.float32(1.0 - 4.0e-6)
_LARGEST_MEAN = np.float32(1.0 - 4.0e-6)
_ORDINARY_LOW, _ORDINARY_WIDTH = np.float32(0.5), np.float32(0.1)


class LinearWorld(NamedTuple):
    """One replicate of :class:`Linear`."""

    theta: Floats  # (dim,)
    reflection: Floats32  # (dim,): v with (I - 2 v vᵀ) e_dim = θ*
    lift: np.float32  # how far the best arm's band lies above the others'
    arms: int


class Linear(ContextualEnvironment, frozen=True, kw_only=True, tag="linear"):
    """Contexts in the unit ball, rewards Bernoulli(⟨x, θ*⟩).

    Every round each agent sees ``arms`` fresh contexts: all but one have ⟨x, θ*⟩ uniform in
    [0.5, 0.6], the best one, at a random position, in [0.6 + gap, 0.7 + gap]. Given ⟨x, θ*⟩, the
    rest of x is uniform in the ball that remains, up to float32 and a 1% approximation of the
    sphere (a choice: the paper does not say).

    Parameters
    ----------
    agents, dim, arms
        Number of agents M, dimension d of the contexts, and number of arms K.
    gap
        Smallest distance between the best arm and the others; the paper's is 0.1.
    theta
        θ*, of norm 1. Drawn anew for each replicate, uniform on the sphere, when not given.
    """

    dim: Dimension = 10
    arms: Arms = 20
    gap: Annotated[float, Meta(ge=0.0, le=0.3)] = 0.1
    theta: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.theta is None:
            return
        if len(self.theta) != self.dim:
            raise ValueError(f"theta has {len(self.theta)} entries, dim is {self.dim}")
        if not math.isclose(math.hypot(*self.theta), 1.0, abs_tol=1e-6):
            raise ValueError(f"theta must have norm 1, has {math.hypot(*self.theta):.6g}")

    @property
    def dimension(self) -> int:
        return self.dim

    @property
    def arm_count(self) -> int:
        return self.arms

    def needs(self, rounds: int) -> Needs:
        cells = self.dim * self.arms
        drawn = Part("a round's contexts", cells * F32 / 2, "environment.dim or environment.arms")
        return Needs((drawn,), 3.0 * rounds * self.agents * cells)

    def world(self, key: Key) -> LinearWorld:
        theta = self._theta(key)
        axis = np.zeros(self.dim)
        axis[-1] = 1.0
        reflection = axis - theta
        length = np.linalg.norm(reflection)
        reflection = reflection / length if length > 1e-12 else np.zeros(self.dim)
        return LinearWorld(
            theta, reflection.astype(np.float32), np.float32(self.gap + 0.1), self.arms
        )

    def _theta(self, key: Key) -> Floats:
        if self.theta is not None:
            return np.array(self.theta, dtype=np.float64)
        direction = normals(self.dim, key, 0, 0, Purpose.WORLD)
        length = float(np.linalg.norm(direction))
        if length == 0.0:  # pragma: no cover - probability zero, but division must not be silent
            raise ConfigError("environment: θ* came out as zero; choose another seed")
        return direction / length

    def true_parameters(self, world: LinearWorld) -> Floats:
        return world.theta[None, :]


class _Workspace(NamedTuple):
    words: Words  # (4, blocks): raw Philox words
    halves: NDArray[np.uint16]  # (dim + 2, arms): the same memory, a row a coordinate
    place: NDArray[np.uint16]  # (2,): the halves after those; they place the best arm
    scale: Floats32  # (arms,)
    along: Floats32  # (arms,)


@implements(decision_set_workspace, LinearWorld)
def _workspace(world: Any) -> Any:
    rows = world.theta.size + 2
    cells = rows * world.arms
    words = np.zeros((4, (cells + 9) // 8), dtype=np.uint32)
    flat = words.reshape(-1).view(np.uint16)
    scale = np.zeros(world.arms, dtype=np.float32)
    along = np.zeros(world.arms, dtype=np.float32)
    halves = flat[:cells].reshape(rows, world.arms)
    return _Workspace(words, halves, flat[cells : cells + 2], scale, along)


@implements(fill_decision_set, LinearWorld)
def _fill(
    world: Any, workspace: Any, key: Any, agent: Any, round_: Any, features: Any, expected: Any
) -> Any:
    """Draw in a frame whose last axis is θ*, then reflect that axis onto θ*.

    The first dim - 1 of dim + 1 normalised Gaussian coordinates are uniform in the
    (dim - 1)-ball, which spares drawing a radius and taking its root.
    """
    words, halves, place, scale, along = workspace
    reflection, arms, last = world.reflection, world.arms, world.theta.size - 1
    fill_words(words, key, agent, round_, _CONTEXT)
    scale[:] = float32(0)
    along[:] = float32(0)
    for row in range(last):
        component = reflection[row]
        for k in range(arms):
            g = coordinate(halves[row, k])
            features[row, k] = g
            scale[k] = fma(g, g, scale[k])
            along[k] = fma(g, component, along[k])
    for row in range(last, last + 2):
        for k in range(arms):
            g = coordinate(halves[row, k])
            scale[k] = fma(g, g, scale[k])
    per_half = _ORDINARY_WIDTH * float32(1.0 / 65536)
    for k in range(arms):
        expected[k] = fma(float32(halves[last + 2, k]), per_half, _ORDINARY_LOW)
    ticket = (np.int64(place[1]) << 16) | np.int64(place[0])
    best = (ticket * np.int64(arms)) >> 32
    expected[best] = min(expected[best] + world.lift, _LARGEST_MEAN)
    tip = reflection[last]
    for k in range(arms):
        mean = expected[k]
        shrink = math.sqrt(max(_INSIDE - mean * mean, float32(0)) / scale[k])
        scale[k] = shrink
        along[k] = float32(2) * fma(shrink, along[k], mean * tip)
    for row in range(last):
        component = reflection[row]
        for k in range(arms):
            features[row, k] = fma(features[row, k], scale[k], -along[k] * component)
    for k in range(arms):
        features[last, k] = fma(-along[k], tip, expected[k])
    return best


implements(draw_reward, LinearWorld)(bernoulli_reward)
