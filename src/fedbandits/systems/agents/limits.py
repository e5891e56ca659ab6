"""Limits on the numbers of a release, to which its receiver holds it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.messages import ImplausibleError
from fedbandits.learners.confidence import least_eigenvalue_factor
from fedbandits.privacy.kernels import IMPROBABLE, NO_FAULT, NONE, release_deviation
from fedbandits.privacy.rounding import grid_step
from fedbandits.systems.agents.kernels.pools import NO_SUM, release_fault
from fedbandits.systems.agents.plan import AgentsPlan


class Limits:
    """Bounds that releases of agents that keep to the terms cannot exceed.

    Parameters
    ----------
    plan
        The plan of all parties. Gram entries are at most L² a record, other entries L · B.
    """

    def __init__(self, plan: AgentsPlan) -> None:
        constants, d = plan.constants, plan.facts.dimension
        each = np.full(constants.statistic_shape, constants.context_bound**2)
        each[:, -d:] = constants.context_bound * constants.reward_bound
        #: (size,) the most that one record can add.
        self.record: Floats = each.reshape(-1)
        #: How far noise moves an eigenvalue at most, in its deviations.
        self.noise_factor = constants.gram_noise * least_eigenvalue_factor(d, IMPROBABLE)
        self._most_records, self._rounds = plan.schedule.most_records, plan.rounds
        self._constants = constants
        #: How far rounding a record moves an eigenvalue; and how much an agent's sum may lack.
        self._rounded = d * grid_step(constants.rounding)
        self._lacking = constants.base / constants.agents
        self._units: dict[int, float] = {}

    def check(
        self, name: str, values: Floats, agents: Sequence[int], releases: Sequence[int]
    ) -> None:
        """Refuse a sum of some agents' releases that no records under noise come to.

        No number is larger than records and noise allow. And no Gram matrix is further below 0 than
        noise moves it: such a matrix could keep everybody from using the sum.

        Parameters
        ----------
        name
            Name of the receiver, for the error.
        values : (size,) float64
            The sum.
        agents
            Agents with a release in the sum.
        releases
            The number of each agent's release.

        Raises
        ------
        ImplausibleError
            If one number is larger than it can be, or a Gram matrix is no sum of records.
        """
        constants, deviation = self._constants, self._deviation(agents, releases)
        records = self._records(releases)
        below = max(self._lacking * len(agents), self._rounded * records)
        below += self.noise_factor * deviation
        fault = release_fault(
            values, self.record, records, constants.entry_scale, deviation, below,
            constants.models, constants.dimension,
        )  # fmt: skip
        if fault == NO_FAULT:
            return
        newest = max(releases)
        if fault == NO_SUM:
            raise ImplausibleError(f"{name}: release {newest} is not a sum of records")
        raise ImplausibleError(
            f"{name}: a number in release {newest} is larger than the terms allow"
        )

    def _records(self, releases: Sequence[int]) -> float:
        """Return the number of records that the sum can be of."""
        most, rounds, first = self._most_records, self._rounds, releases[0]
        if releases.count(first) == len(releases):
            return float(len(releases) * min(first * most, rounds))
        return float(sum(min(k * most, rounds) for k in releases))

    def _deviation(self, agents: Sequence[int], releases: Sequence[int]) -> float:
        """Return the deviation of the sum's noise, off the diagonal; a tree's does not grow."""
        constants = self._constants
        if constants.mechanism == NONE:
            return 0.0
        deviations, pairs = constants.noise_deviation, zip(agents, releases, strict=True)
        return math.hypot(*(self._unit(k) * deviations[agent] for agent, k in pairs))

    def _unit(self, release: int) -> float:
        """Return the deviation of the noise in a release, in those of one draw."""
        known = self._units.get(release)
        if known is None:
            constants = self._constants
            known = float(
                release_deviation(constants.mechanism, 1.0, constants.coefficients, release)
            )
            self._units[release] = known
        return known
