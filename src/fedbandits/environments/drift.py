"""Drift: rewards that change in the course of a run, as a setting of an environment.

Under drift an environment has a second world. At any moment, the expected reward of an arm is (1 -
w) times that of the first world plus w times that of the second. The share w begins at 0, and is
the same for all systems.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, NoReturn

import numpy as np
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits._typing import Floats
from fedbandits.environments.kernels.drift import DriftingWorld, OtherRewards, Shares
from fedbandits.errors import ConfigError
from fedbandits.random import Key, Purpose, normals

RoundNumber = Annotated[int, Meta(ge=1, le=4_000_000_000)]

#: Number of drawn steps of a random walk; after them the walk returns the same way.
STEPS = 1 << 17
#: Party numbers in the names of the draws of a replicate's drift.
_DIRECTION, _WALK = 0, 1


class Change(Checked, frozen=True, tag_field="kind", tag="change", forbid_unknown_fields=True):
    """A change: from a given round on, the rewards are those of the second world.

    Parameters
    ----------
    at
        The first round with other rewards. Or a list of rounds: in each of them the two worlds
        change places, so the second change brings the first rewards back.
    """

    at: RoundNumber | tuple[RoundNumber, ...]

    def validate(self) -> None:
        rounds = self.rounds
        if not rounds or any(b <= a for a, b in pairwise(rounds)):
            raise ValueError(
                f"at: given {list(rounds)}, allowed: at least one round, each later than the one "
                "before"
            )

    @property
    def rounds(self) -> tuple[int, ...]:
        """All rounds in which the worlds change places."""
        return self.at if isinstance(self.at, tuple) else (self.at,)

    def shares(self, key: Key) -> Shares:
        """Return the share of the second world, which is 0 or 1; ``key`` names no draw here."""
        del key
        return Shares(np.array(self.rounds, np.int64), np.zeros(1), 1)


class Walk(Checked, frozen=True, tag_field="kind", tag="walk", forbid_unknown_fields=True):
    """The share of the second world takes a random walk between 0 and 1.

    The walk begins at 0, and is reflected at 0 and 1. Each replicate has a walk of its own. After
    131,072 steps the walk returns the same way.

    Parameters
    ----------
    step
        Standard deviation of a step, which is normal.
    every
        Number of rounds between two steps.
    """

    step: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.05
    every: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 10

    def shares(self, key: Key) -> Shares:
        """Draw the share of the second world in the replicate that ``key`` names."""
        free = np.zeros(STEPS)
        np.cumsum(self.step * normals(STEPS - 1, key, _WALK, 0, Purpose.DRIFT), out=free[1:])
        # A free walk, folded into [0, 1], is a walk with reflection at both ends.
        return Shares(np.zeros(0, np.int64), 1.0 - np.abs(1.0 - free % 2.0), self.every)


#: The change of rewards.
Drift = Change | Walk


def refuse_drift(environment: Any) -> NoReturn:
    """Refuse the ``drift`` of an ``environment`` without a second world, with a remedy."""
    kind, name = type(environment).__struct_config__.tag, type(environment).__name__
    reason = f"drift: an environment of kind {kind!r} cannot drift; {environment.DRIFT_REMEDY}"
    refused = ConfigError(f"{name}.{reason}")
    refused.reason = reason
    raise refused


def direction_of_drift(key: Key, size: int) -> Floats:
    """Draw a standard normal vector, (size,), from which a replicate's second world is made."""
    return normals(size, key, _DIRECTION, 0, Purpose.DRIFT)


def moved_on(values: Floats) -> Floats:
    """Return values shifted by one place, (n, …); the last value comes first."""
    return np.roll(values, 1, axis=0)


def drifting(environment: Any, key: Key, world: Any, other: OtherRewards) -> Any:
    """Return the ``world`` of a replicate, with the drift that its contextual environment sets.

    ``other`` is the rule for expected rewards in the second world. Its ``theta`` may be (dim,), or
    (agents, dim) with a vector for each agent.
    """
    if environment.drift is None:
        return world
    other = other._replace(theta=np.atleast_2d(other.theta))
    return DriftingWorld(world, other, environment.drift.shares(key))
