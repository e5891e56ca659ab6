"""The synthetic world of Dubey & Pentland (2020), section 4.4: fresh arms, one better by a gap."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy import float32
from numpy.typing import NDArray

from fedbandits._compile import LANES, borrowing, fma, implements, lanes, load, spread, store
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
from fedbandits.environments.drift import direction_of_drift
from fedbandits.environments.drifting import OtherParameter, drifting
from fedbandits.environments.joining import without_joins
from fedbandits.environments.needs import F32, Needs, Part
from fedbandits.errors import ConfigError
from fedbandits.random import Key, Purpose, fill_words, normals

_CONTEXT = int(Purpose.CONTEXT)

#: Square of the norm that contexts keep within, so that float32 rounding (2e-7) stays inside 1.
_INSIDE = np.float32(1.0 - 4.0e-6)
_LARGEST_MEAN = np.float32(1.0 - 4.0e-6)
_ORDINARY_LOW, _ORDINARY_WIDTH = np.float32(0.5), np.float32(0.1)
#: Shortest θ* that the paper's bands leave room for: some context has ⟨x, θ*⟩ = 0.8.
_SHORTEST = 0.8
#: Of a larger one nearly the whole ball is too short: draws would have no end.
_LARGEST_GAP = 0.29
_MOST_DRAWS = 100_000
#: Between θ* and that of the second world. A larger angle would make expected rewards negative.
_TURN = math.radians(30.0)


class LinearWorld(NamedTuple):
    """One replicate of :class:`Linear`."""

    theta: Floats  # (dim,)
    reflection: Floats32  # (dim,): v with (I - 2 v vᵀ) e_dim = θ* / ‖θ*‖
    lift: np.float32  # how far the best arm's band lies above the others'
    arms: int
    stretch: np.float32  # 1 / ‖θ*‖: from ⟨x, θ*⟩ to how far x reaches along θ*


class Linear(ContextualEnvironment, frozen=True, kw_only=True, tag="linear"):
    """Random contexts in the unit ball; rewards are Bernoulli(⟨x, θ*⟩).

    Every round each agent sees ``arms`` new contexts. One of them, at a random position, is the
    best: its ⟨x, θ*⟩ is uniform in [0.6 + gap, 0.7 + gap]. For all others ⟨x, θ*⟩ is uniform in
    [0.5, 0.6]. Given ⟨x, θ*⟩, the part of x that is orthogonal to θ* is uniform in the ball that
    remains. This is exact up to float32 and a 1% approximation of the sphere. The paper does not
    give this distribution; it is a choice of this package.

    Parameters
    ----------
    agents
        Number of agents, M.
    dim
        Dimension d of the contexts.
    arms
        Number of arms K, of which each agent sees fresh ones every round.
    gap
        Smallest difference between the expected rewards of the best arm and the others. The paper
        uses 0.1.
    parameter
        Where θ* lies. ``sphere``: its norm is 1. ``ball``: in the unit ball, as in the paper, but
        with a norm of at least :attr:`shortest_parameter`. A context of norm 1 has ⟨x, θ*⟩ ≤ ‖θ*‖.
        So an expected reward of 0.8 needs ‖θ*‖ ≥ 0.8, and one of 0.7 + gap needs ‖θ*‖ ≥ 0.7 + gap.
        The paper does not mention this. With ``ball`` a gap above 0.29 is refused.
    theta
        θ* itself. For ``sphere`` its norm is 1; for ``ball`` it is between
        :attr:`shortest_parameter` and 1. If it is not given, each replicate draws its own. For
        ``sphere`` the draw is uniform. For ``ball`` draws are uniform and repeated until the norm
        is large enough.
    """

    SECOND_WORLD: ClassVar[str] = (
        "θ* is turned by 30 degrees, in a direction that each replicate draws; contexts stay"
    )

    dim: Dimension = 10
    arms: Arms = 20
    gap: Annotated[float, Meta(ge=0.0, le=0.3)] = 0.1
    parameter: Literal["sphere", "ball"] = "sphere"
    theta: tuple[float, ...] | None = None

    def validate(self) -> None:
        if self.drift is not None and self.dim < 2:
            raise ValueError("drift: θ* can be turned if dim is at least 2, given: 1")
        if self.parameter == "ball" and self.gap > _LARGEST_GAP:
            raise ValueError(
                f"gap: given {self.gap:g}, allowed: up to {_LARGEST_GAP:g}, because almost no θ* "
                'in the ball is long enough for more; lower gap or set parameter = "sphere"'
            )
        if self.theta is None:
            return
        if len(self.theta) != self.dim:
            raise ValueError(f"theta has {len(self.theta)} entries, dim is {self.dim}")
        length = math.hypot(*self.theta)
        if self.parameter == "ball" and not self.shortest_parameter <= length <= 1.0:
            raise ValueError(
                f"theta must have a norm between {self.shortest_parameter:.6g} and 1, has "
                f"{length:.6g}"
            )
        if self.parameter == "sphere" and not math.isclose(length, 1.0, abs_tol=1e-6):
            raise ValueError(f"theta must have norm 1, has {length:.6g}")

    @property
    def shortest_parameter(self) -> float:
        """Smallest ‖θ*‖ for ``ball``: 0.8 or 0.7 + gap, with a margin for rounding to float32."""
        return max(_SHORTEST, 0.7 + self.gap) / math.sqrt(float(_INSIDE))

    @property
    def largest_gap(self) -> float:
        if self.drift is not None:
            return super().largest_gap
        return min(0.2 + self.gap, float(_LARGEST_MEAN) - 0.5)

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

    def world(self, key: Key) -> Any:
        theta = self._theta(key)
        size = float(np.linalg.norm(theta)) if self.parameter == "ball" else 1.0
        axis = np.zeros(self.dim)
        axis[-1] = 1.0
        reflection = axis - theta / size
        length = np.linalg.norm(reflection)
        reflection = reflection / length if length > 1e-12 else np.zeros(self.dim)
        lift, stretch = np.float32(self.gap + 0.1), np.float32(1.0 / size)
        world = LinearWorld(theta, reflection.astype(np.float32), lift, self.arms, stretch)
        other = OtherParameter(turned(theta, direction_of_drift(key, self.dim)))
        return drifting(self, key, world, other)

    def _theta(self, key: Key) -> Floats:
        if self.theta is not None:
            return np.array(self.theta, dtype=np.float64)
        return self._on_sphere(key) if self.parameter == "sphere" else self._in_ball(key)

    def _in_ball(self, key: Key) -> Floats:
        """The first of a run of draws, named by their numbers, that is long enough.

        The first dim of dim + 2 normalised Gaussian coordinates are uniform in the ball.
        """
        for draw in range(_MOST_DRAWS):
            coordinates = normals(self.dim + 2, key, 0, draw, Purpose.WORLD)
            theta = coordinates[: self.dim] / float(np.linalg.norm(coordinates))
            if float(np.linalg.norm(theta)) >= self.shortest_parameter:
                return theta
        raise ConfigError(  # pragma: no cover - probability below 1e-400
            f"environment.gap: no θ* of {_MOST_DRAWS:,} had a norm that is large enough; choose "
            "another seed"
        )

    def _on_sphere(self, key: Key) -> Floats:
        direction = normals(self.dim, key, 0, 0, Purpose.WORLD)
        length = float(np.linalg.norm(direction))
        if length == 0.0:  # pragma: no cover - probability zero, but division must not be silent
            raise ConfigError("environment: the draw of θ* is zero; choose another seed")
        return direction / length

    def true_parameters(self, world: Any) -> Floats | None:
        return None if self.drift is not None else without_joins(world).theta[None, :]


def turned(theta: Floats, direction: Floats) -> Floats:
    """θ* turned by 30 degrees towards ``direction``; its length stays."""
    length = float(np.linalg.norm(theta))
    across = direction - (direction @ theta / length**2) * theta
    across *= length / max(float(np.linalg.norm(across)), 1e-300)
    return math.cos(_TURN) * theta + math.sin(_TURN) * across


class _Workspace(NamedTuple):
    words: Words  # (4, blocks): raw Philox words
    halves: NDArray[np.uint16]  # (dim + 2, arms): the same memory, a row a coordinate
    place: NDArray[np.uint16]  # (2,): the halves after those; they place the best arm
    means: Floats32  # (LANES or more,): expected rewards
    drawn: Floats32  # (dim, LANES): coordinates of some arms before normalisation


@implements(decision_set_workspace, LinearWorld)
def _workspace(world: Any) -> Any:
    rows = world.theta.size + 2
    cells = rows * world.arms
    blocks = (cells + 9) // 8
    flat = np.zeros(4 * blocks + LANES // 2, dtype=np.uint32)  # the last row is read beyond its end
    words = flat[: 4 * blocks].reshape(4, blocks)
    pieces = flat.view(np.uint16)
    halves = pieces[:cells].reshape(rows, world.arms)
    means = np.zeros(max(world.arms, LANES), dtype=np.float32)
    drawn = np.zeros((rows, LANES), dtype=np.float32)
    return _Workspace(words, halves, pieces[cells : cells + 2], means, drawn)


@implements(fill_decision_set, LinearWorld)
@borrowing
def _fill(
    world: Any, workspace: Any, key: Any, agent: Any, round_: Any, features: Any, expected: Any
) -> Any:
    """Draw in a frame whose last axis is along θ*, then reflect that axis onto θ*.

    The first dim - 1 of dim + 1 normalised Gaussian coordinates are uniform in the
    (dim - 1)-ball, which spares drawing a radius and taking its root.

    Arms go side by side. Where their number is no multiple of LANES, some are made twice.
    """
    words, halves, place, means, drawn = workspace
    reflection, arms, last = world.reflection, world.arms, world.theta.size - 1
    fill_words(words, key, agent, round_, _CONTEXT)
    per_half = _ORDINARY_WIDTH * float32(1.0 / 65536)
    for start in range(0, arms, LANES):
        k = max(min(start, arms - LANES), 0)
        store(means, k, fma(load(halves, (last + 2, k)), per_half, _ORDINARY_LOW), LANES)
    ticket = (np.int64(place[1]) << 16) | np.int64(place[0])
    best = (ticket * np.int64(arms)) >> 32
    means[best] = min(means[best] + world.lift, _LARGEST_MEAN)
    tip = reflection[last]
    for start in range(0, arms, LANES):
        k = max(min(start, arms - LANES), 0)
        size, along = lanes(float32(0)), lanes(float32(0))
        for row in range(last):
            g = coordinate(load(halves, (row, k)))
            size = fma(g, g, size)
            along = fma(g, spread(reflection, row), along)
            store(drawn, (row, 0), g, LANES)
        for row in range(last, last + 2):
            g = coordinate(load(halves, (row, k)))
            size = fma(g, g, size)
        mean = load(means, k)
        reach = mean * world.stretch
        shrink = math.sqrt(max(_INSIDE - reach * reach, float32(0)) / size)
        turn = -(float32(2) * fma(shrink, along, reach * tip))
        for row in range(last):
            turned = fma(load(drawn, (row, 0)), shrink, turn * spread(reflection, row))
            store(features, (row, k), turned, arms)
        store(features, (last, k), fma(turn, tip, reach), arms)
        store(expected, k, mean, arms)
    return best


implements(draw_reward, LinearWorld)(bernoulli_reward)
