"""What all parties go by: when agents release, and with how much noise."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.facts import ContextualFacts
from fedbandits.federation.messages import ImplausibleError, unpack
from fedbandits.federation.terms import Schedule
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Clear, ContinualSum, epsilon
from fedbandits.privacy.continual import ContinualPlan, calibrated
from fedbandits.privacy.kernels import any_implausible
from fedbandits.privacy.rounding import require_room_for_vectors, rounding_constant
from fedbandits.systems import Plan

from .config import PrivateGreedy


class GreedyPlan(Plan, frozen=True, kw_only=True):
    """What all parties go by.

    Parameters
    ----------
    ends
        The rounds, from 1, at whose end agents release.
    mechanism
        How an agent releases its running sums, and with how much noise.
    record_norm
        How far one interaction that changes can move the sums (L2).
    rounding
        Rounds rewards to a grid, so that sums of them are exact.
    """

    ends: tuple[int, ...]
    mechanism: ContinualPlan
    record_norm: float
    rounding: float

    @property
    def schedule(self) -> Schedule:
        return Schedule(
            rounds=self.rounds, releases=len(self.ends), ends=self.ends, most_records=self.rounds
        )

    @property
    def size(self) -> int:
        """Numbers in a release: how often each arm was played, then what each has earned."""
        return 2 * int(self.facts.arms)

    @property
    def pattern(self) -> Floats:
        """Relative deviation of the noise of each number: all have the same."""
        return np.ones(self.size)

    def record(self, arm: int, reward: float) -> Floats:
        """What one interaction adds to the sums, (size,)."""
        added = np.zeros(self.size)
        added[arm] = 1.0
        added[self.facts.arms + arm] = (reward + self.rounding) - self.rounding
        return added

    def read(self, name: str, statistic: bytes, agents: int) -> Floats:
        """The numbers of a message with the releases of some agents, (size,).

        Raises
        ------
        RemoteProtocolError
            If they are not as many, or larger than interactions and noise can make them.
        """
        values = unpack(statistic, self.size)
        each = np.full(self.size, max(1.0, *map(abs, self.facts.reward_range)))
        deviation = math.sqrt(agents) * self.mechanism.largest_deviation()
        if any_implausible(values, each, float(agents * self.rounds), self.pattern, deviation):
            raise ImplausibleError(f"{name}: a number is larger than the terms allow")
        return values

    def event(self, releases: int) -> ContinualSum | Clear:
        """What an agent's first releases are together, for the accountant."""
        if self.config.noise == "none":
            return Clear()
        return ContinualSum(self.mechanism, self.record_norm, releases)

    def epsilon_of(self, releases: int) -> float:
        """ε of an agent's first releases."""
        return epsilon([self.event(releases)], self.config.delta) if releases else 0.0


def make_plan(config: PrivateGreedy, facts: ContextualFacts, rounds: int) -> GreedyPlan:
    """Work out what all parties go by.

    An interaction (a, y) adds 1 to the count of arm a and y to its sum. Another one (b, z) in its
    place moves the sums by at most √(1 + y² + 1 + z²) ≤ √(2 + 2B²), where |y|, |z| ≤ B. If both
    are of one arm, only its sum moves, by at most the width of the rewards' range. That is more
    where rewards are large and of both signs.

    Raises
    ------
    ConfigError
        If there are more rounds than sums can be exact for.
    """
    releases = min(config.releases, rounds)
    ends = tuple(rounds * k // releases for k in range(1, releases + 1))
    low, high = facts.reward_range
    most = max(abs(low), abs(high))
    norm = max(math.sqrt(2.0 + 2.0 * most * most), high - low)
    mechanism = ContinualPlan("none", releases, 0.0)
    if config.noise == "gaussian":
        mu = gaussian.mu_of(config.epsilon, config.delta)
        require_room_for_vectors(rounds, 2 * facts.arms, releases, mu)
        mechanism = calibrated("toeplitz", releases, mu, norm)
    return GreedyPlan(
        config=config, facts=facts, rounds=rounds, ends=ends, mechanism=mechanism,
        record_norm=norm, rounding=rounding_constant(rounds, max(most, 1.0)),
    )  # fmt: skip
