"""How large the numbers of a release can be: what its receiver holds it to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.messages import ImplausibleError
from fedbandits.learners.confidence import least_eigenvalue_factor
from fedbandits.learners.ridge import are_records
from fedbandits.privacy.bounds import IMPROBABLE, any_implausible
from fedbandits.privacy.continual import NONE, release_deviation
from fedbandits.privacy.rounding import grid_step
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
    noise_factor
        How far noise moves an eigenvalue at most, in its deviations.
    """

    record: Floats
    most_records: int
    rounds: int
    constants: Constants
    noise_factor: float

    @classmethod
    def of(cls, plan: AgentsPlan) -> Self:
        """Of all agents: Gram entries are at most L² a record, the others L · B."""
        constants, d = plan.constants, plan.facts.dimension
        each = np.full(constants.statistic_shape, constants.context_bound**2)
        each[:, -d:] = constants.context_bound * constants.reward_bound
        return cls(
            each.reshape(-1),
            plan.schedule.most_records,
            plan.rounds,
            constants,
            least_eigenvalue_factor(d, IMPROBABLE),
        )

    def check(
        self, name: str, values: Floats, agents: Sequence[int], releases: Sequence[int]
    ) -> None:
        """Hold the sum of some agents' releases to what they can be.

        No number is larger than records and noise allow. And no Gram matrix is further below 0 than
        noise moves it: one that is could keep everybody from using the sum that it is in.

        Parameters
        ----------
        name
            Who holds it, for the error.
        values : (size,) float64
            The sum.
        agents
            Whose releases are in it.
        releases
            The number of each one's.

        Raises
        ------
        ImplausibleError
            If one number is larger than it can be, or a Gram matrix is no sum of records.
        """
        constants, deviation = self.constants, self._deviation(agents, releases)
        records = sum(min(k * self.most_records, self.rounds) for k in releases)
        if any_implausible(values, self.record, records, constants.entry_scale, deviation):
            raise ImplausibleError(
                f"{name}: a number in release {max(releases)} is larger than the terms allow"
            )
        rounded = records * constants.dimension * grid_step(constants.rounding)
        below = max(constants.base * len(agents) / constants.agents, rounded)
        below += self.noise_factor * deviation
        if not are_records(values.reshape(constants.models, -1), below, constants.dimension):
            raise ImplausibleError(f"{name}: release {max(releases)} is no sum of records")

    def _deviation(self, agents: Sequence[int], releases: Sequence[int]) -> float:
        """Of the noise in the sum, off the diagonal. A tree's does not grow with the release."""
        constants = self.constants
        if constants.mechanism == NONE:
            return 0.0
        units = {
            k: release_deviation(constants.mechanism, 1.0, constants.coefficients, k)
            for k in set(releases)
        }
        deviations = constants.noise_deviation
        pairs = zip(agents, releases, strict=True)
        return math.hypot(*(units[k] * deviations[agent] for agent, k in pairs))
