"""The synthetic world of Dubey & Pentland (2020), section 4.4: fresh arms, the best above a gap.

Agents have one parameter, or each has its own around a common parameter.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats
from fedbandits.environments.base import (
    F32,
    F64,
    Arms,
    ContextualEnvironment,
    Dimension,
    Memory,
    Needs,
)
from fedbandits.environments.drift import direction_of_drift, drifting
from fedbandits.environments.kernels import drift, linear
from fedbandits.environments.kernels.linear import LinearWorld
from fedbandits.environments.open_world import WorldKernels
from fedbandits.errors import ConfigError
from fedbandits.random import Key, Purpose, normals

#: Shortest θ* for the paper's bands: some context has ⟨x, θ*⟩ = 0.8.
_SHORTEST = 0.8
#: Largest gap for θ* in the ball: with a larger gap nearly the whole ball is too short.
_LARGEST_GAP = 0.29
_MOST_DRAWS = 100_000
#: Angle between θ* and its counterpart in the second world. A larger angle would make expected
#: rewards negative.
_TURN = math.radians(30.0)
#: Party number in the names of the draws of agents' parameters; θ* is drawn for party 0.
_OWN = 1


class Linear(ContextualEnvironment, frozen=True, kw_only=True, tag="linear"):
    """Random contexts in the unit ball; rewards are Bernoulli(⟨x, θ*⟩).

    Every round each agent sees ``arms`` new contexts. One of them, at a random position, is the
    best: its ⟨x, θ*⟩ is uniform in [0.6 + gap, 0.7 + gap]. For all others ⟨x, θ*⟩ is uniform in
    [0.5, 0.6]. Given ⟨x, θ*⟩, the part of x that is orthogonal to θ* is uniform in the remaining
    ball. This is exact up to float32 and a 1% approximation of the sphere. The paper gives no
    distribution; this distribution is a choice of this package.

    Parameters
    ----------
    agents
        Number of agents, M.
    dim
        Dimension d of the contexts.
    arms
        Number K of fresh arms for each agent in every round.
    gap
        Smallest difference between the expected rewards of the best arm and the others. The paper
        uses 0.1.
    parameter
        The set of θ*. ``sphere``: its norm is 1. ``ball``: in the unit ball, as in the paper, but
        with a norm of at least :attr:`shortest_parameter`. A context of norm 1 has ⟨x, θ*⟩ ≤ ‖θ*‖.
        So an expected reward of 0.8 needs ‖θ*‖ ≥ 0.8, and 0.7 + gap needs ‖θ*‖ ≥ 0.7 + gap.
        The paper does not mention this. With ``ball`` a gap above 0.29 is refused.
    theta
        θ* itself. For ``sphere`` its norm is 1; for ``ball`` the norm is between
        :attr:`shortest_parameter` and 1. By default each replicate draws θ*. For
        ``sphere`` the draw is uniform. For ``ball`` draws are uniform and repeated until the norm
        is large enough.
    spread
        Difference between agents: the typical length of δ_i, as a share of ‖θ*‖. Agent i has a
        parameter of its own, θ_i. It is θ* + δ_i, brought back to the length ‖θ*‖. δ_i is normal
        and the same in all directions, with E‖δ_i‖² = spread² ‖θ*‖². Contexts are made around θ_i,
        so rewards keep their bands. With 0 all agents have θ*; with 0.5 the angle between θ_i and
        θ* is about 27 degrees, with 1 about 45.
    """

    SECOND_WORLD: ClassVar[str] = (
        "θ* is turned by 30 degrees, in a direction that each replicate draws; contexts stay"
    )
    LATER_KEYS: ClassVar[tuple[str, ...]] = ("spread",)

    dim: Dimension = 10
    arms: Arms = 20
    gap: Annotated[float, Meta(ge=0.0, le=0.3)] = 0.1
    parameter: Literal["sphere", "ball"] = "sphere"
    theta: tuple[float, ...] | None = None
    spread: Annotated[float, Meta(ge=0.0, le=1e6)] = 0.0

    def validate(self) -> None:
        if self.spread > 0.0 and self.dim < 2:
            raise ValueError(
                f"spread: given {self.spread:g}, allowed: 0 where dim is 1, because a parameter "
                "that cannot be turned is the same for all; raise dim, or leave out spread"
            )
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
        return max(_SHORTEST, 0.7 + self.gap) / math.sqrt(float(linear.INSIDE))

    @property
    def largest_gap(self) -> float:
        if self.drift is not None:
            return super().largest_gap
        return min(0.2 + self.gap, float(linear.LARGEST_MEAN) - 0.5)

    KERNELS: ClassVar[WorldKernels] = WorldKernels(linear.fill_linear, workspace=linear.workspace)

    @property
    def dimension(self) -> int:
        return self.dim

    @property
    def arm_count(self) -> int:
        return self.arms

    def needs(self, rounds: int) -> Needs:
        cells = self.dim * self.arms
        drawn = Memory("a round's contexts", cells * F32 / 2, "environment.dim or environment.arms")
        numbers = 0 if self.alike else self.agents * self.dim
        bytes_each = F64 + F32 + (0 if self.drift is None else F64)
        parameters = Memory(
            "agents' parameters", numbers * bytes_each, "environment.dim or environment.agents"
        )
        parts = (drawn,) if self.alike else (drawn, parameters)
        return Needs(parts, 3.0 * rounds * self.agents * cells)

    @property
    def alike(self) -> bool:
        return self.spread == 0.0

    def world(self, key: Key) -> Any:
        theta = self._theta(key)
        size = float(np.linalg.norm(theta)) if self.parameter == "ball" else 1.0
        parameters = theta[None, :] if self.alike else self._own(key, theta)
        reflections = np.stack([_reflection(parameter / size) for parameter in parameters])
        lift, stretch = np.float32(self.gap + 0.1), np.float32(1.0 / size)
        world = LinearWorld(parameters, reflections.astype(np.float32), lift, self.arms, stretch)
        if self.drift is None:
            return world
        direction = direction_of_drift(key, self.dim)
        turned_ = np.stack([turned(parameter, direction) for parameter in parameters])
        return drifting(self, key, world, drift.OtherRewards(drift.LINEAR, turned_))

    def _own(self, key: Key, theta: Floats) -> Floats:
        """Draw the parameter of each agent around ``theta``, of equal length: (agents, dim).

        An agent's draws have indices of their own: they do not depend on the number of agents.
        """
        length = float(np.linalg.norm(theta))
        drawn = normals(self.agents * self.dim, key, _OWN, 0, Purpose.WORLD)
        apart = drawn.reshape(self.agents, self.dim) * (self.spread * length / math.sqrt(self.dim))
        parameters = theta + apart
        lengths = np.linalg.norm(parameters, axis=1, keepdims=True)
        scaled: Floats = parameters * (length / np.maximum(lengths, 1e-300))
        return scaled

    def _theta(self, key: Key) -> Floats:
        if self.theta is not None:
            return np.array(self.theta, dtype=np.float64)
        return self._on_sphere(key) if self.parameter == "sphere" else self._in_ball(key)

    def _in_ball(self, key: Key) -> Floats:
        """Return the first drawn θ* that is long enough.

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
        return world.theta if self.drift is None and self.alike else None


def _reflection(direction: Floats) -> Floats:
    """Return v, (dim,), with (I - 2 v vᵀ) e_dim = ``direction``, a unit vector."""
    axis = np.zeros(direction.size)
    axis[-1] = 1.0
    reflection: Floats = axis - direction
    length = np.linalg.norm(reflection)
    return reflection / length if length > 1e-12 else np.zeros(direction.size)


def turned(theta: Floats, direction: Floats) -> Floats:
    """Turn θ* by 30 degrees towards ``direction``; its length stays."""
    length = float(np.linalg.norm(theta))
    across = direction - (direction @ theta / length**2) * theta
    across *= length / max(float(np.linalg.norm(across)), 1e-300)
    return math.cos(_TURN) * theta + math.sin(_TURN) * across
