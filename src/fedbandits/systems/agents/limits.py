"""How large the numbers of a release can be: what its receiver holds it to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.messages import ImplausibleError
from fedbandits.privacy.bounds import any_implausible
from fedbandits.privacy.continual import NONE, release_deviation
from fedbandits.systems.agents.plan import AgentsPlan, Constants


class Limits(NamedTuple):
    """What releases of agents that keep to the terms cannot exceed.

    Parameters
    ----------
    record : (size,) float64
        What one record can add.
    most_records, rounds
        How many records a release can be about that none before it was, and all of them together.
    constants
        As compiled code takes them: the noise of all agents.
    """

    record: Floats
    most_records: int
    rounds: int
    constants: Constants

    @classmethod
    def of(cls, plan: AgentsPlan) -> Self:
        """Of all agents: Gram entries are at most L² a record, the others L · B."""
        constants, d = plan.constants, plan.facts.dimension
        each = np.full(constants.statistic_shape, constants.context_bound**2)
        each[:, -d:] = constants.context_bound * constants.reward_bound
        return cls(each.reshape(-1), plan.schedule.most_records, plan.rounds, constants)

    def check(self, name: str, values: Floats, agents: Sequence[int], releases: int) -> None:
        """Hold the sum of some agents' releases to what they can be.

        Parameters
        ----------
        name
            Who holds it, for the error.
        values : (size,) float64
            The sum.
        agents
            Whose releases are in it.
        releases
            The number of the newest of them.

        Raises
        ------
        ImplausibleError
            If one number is larger than it can be.
        """
        if self._exceeded(values, agents, releases):
            raise ImplausibleError(
                f"{name}: a number in release {releases} is larger than the terms allow"
            )

    def _exceeded(self, values: Floats, agents: Sequence[int], releases: int) -> bool:
        constants = self.constants
        deviation = 0.0
        if constants.mechanism != NONE:
            unit = release_deviation(constants.mechanism, 1.0, constants.coefficients, releases)
            deviation = unit * math.hypot(*constants.noise_deviation[list(agents)])
        records = len(agents) * min(releases * self.most_records, self.rounds)
        return bool(
            any_implausible(values, self.record, records, constants.entry_scale, deviation)
        )
