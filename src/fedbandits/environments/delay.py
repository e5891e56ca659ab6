"""Delayed rewards, as a setting of an environment.

A delay counts rounds. It is drawn for each decision, independent of contexts, choices and rewards.
It is the same for all systems.
"""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.random import Key, Purpose, integer, uniform

Rounds = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]

_PURPOSE = int(Purpose.DELAY)
#: Indices of the draws of one decision.
_LOST, _WAIT = 0, 1


class _Delay(Checked, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """Base class of delays."""

    def rounds_of(self, key: Key, player: int, round_: int) -> int | None:
        """Return the rounds until the reward of a decision is observed; None if it never is.

        ``key`` names the random draws of the replicate. The decision is that of ``player``, by its
        number, in ``round_``.
        """
        lost: float = self.lost  # type: ignore[attr-defined]  # a field of every subclass, as its last
        if lost > 0.0 and uniform(key, player, round_, _PURPOSE, _LOST) < lost:
            return None
        return self._drawn(key, player, round_)

    def _drawn(self, key: Key, player: int, round_: int) -> int:
        """Draw the delay of a reward that is not lost."""
        raise NotImplementedError


class FixedDelay(_Delay, frozen=True, tag="fixed"):
    """Every reward is observed after the same number of rounds.

    Parameters
    ----------
    rounds
        The number of rounds. With 0, rewards are observed at once.
    lost
        Share of rewards that are never observed.
    """

    rounds: Rounds
    lost: Share = 0.0

    def _drawn(self, key: Key, player: int, round_: int) -> int:
        return self.rounds


class UniformDelay(_Delay, frozen=True, tag="uniform"):
    """All delays between two numbers of rounds are equally likely.

    Parameters
    ----------
    low, high
        The shortest and the longest delay, in rounds.
    lost
        Share of rewards that are never observed.
    """

    low: Rounds
    high: Rounds
    lost: Share = 0.0

    def validate(self) -> None:
        if self.low > self.high:
            raise ValueError(f"low: given {self.low}, allowed: at most high, which is {self.high}")

    def _drawn(self, key: Key, player: int, round_: int) -> int:
        width = self.high - self.low + 1
        return self.low + int(integer(width, key, player, round_, _PURPOSE, _WAIT))


class GeometricDelay(_Delay, frozen=True, tag="geometric"):
    """Random delay: in each round the reward arrives with the same probability.

    Parameters
    ----------
    mean
        The mean delay, in rounds.
    lost
        Share of rewards that are never observed.
    """

    mean: Annotated[float, Meta(ge=0.0, le=1e9)]
    lost: Share = 0.0

    def _drawn(self, key: Key, player: int, round_: int) -> int:
        if self.mean == 0.0:
            return 0
        # P(delay ≥ k) = (mean / (1 + mean))^k: the inverse of the tail at a uniform draw.
        ticket = 1.0 - uniform(key, player, round_, _PURPOSE, _WAIT)
        return int(math.log(ticket) / math.log1p(-1.0 / (1.0 + self.mean)))


#: The delay of rewards.
Delay = FixedDelay | UniformDelay | GeometricDelay
