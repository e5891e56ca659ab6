"""A member that lies: compiled FedUCB in which the releases of one agent have false records.

The agent decides and learns like all others. Only its releases are false: the noise is as planned,
and the records are replaced. So no helper and no controller sees the lie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.federation.messages import ImplausibleError
from fedbandits.learners.kernels.ridge import unpack
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.feducb.kernels import load_own_views
from fedbandits.systems.feducb.loop import Replicate


class Seen(NamedTuple):
    """Exact sums of records at a release, packed: (models, d (d + 3) / 2) each."""

    own: Floats  # of the lying member
    others: Floats
    rounds: int  # so far; an agent has a record a round


#: A function from sums of records and the constants of a run to the false records.
Lie = Callable[[Seen, Constants], Floats]


def reversed_rewards(times: float) -> Lie:
    """Return a lie that counts own records many ``times``, with rewards reversed."""

    def lie(seen: Seen, constants: Constants) -> Floats:
        false: Floats = times * seen.own
        false[:, -constants.dimension :] *= -1.0
        return false

    return lie


def other_units(times: float) -> Lie:
    """Return a lie with rewards ``times`` as large; negative factors reverse rewards."""

    def lie(seen: Seen, constants: Constants) -> Floats:
        false = seen.own.copy()
        false[:, -constants.dimension :] *= times
        return false

    return lie


def unexplored_direction(times: float) -> Lie:
    """Return a lie with records in the direction in which others have fewest.

    In each model there are ``times`` the own records, of the largest norm, along the direction of
    the others' smallest eigenvalue. Their reward is the largest, with the sign against the others'
    estimate.
    """

    def lie(seen: Seen, constants: Constants) -> Floats:
        d, false = constants.dimension, np.zeros_like(seen.own)
        gram, moment = np.empty((d, d)), np.empty(d)
        for m in range(constants.models):
            unpack(seen.others[m], gram, moment)
            direction = np.linalg.eigh(gram)[1][:, 0]
            direction *= -constants.context_bound * (np.sign(direction @ moment) or 1.0)
            square = np.outer(direction, direction)[np.triu_indices(d)]
            pays = constants.reward_bound * direction
            false[m] = times * seen.rounds / constants.models * np.concatenate([square, pays])
        return false

    return lie


class LyingReplicate(Replicate):
    """A replicate of FedUCB with a controller, in which the first agent lies.

    Parameters
    ----------
    plan, environment, seed, replicate
        The plan, the world, and the two numbers that name the random draws.
    lie
        The lie of the first agent.
    """

    def __init__(
        self, plan: AgentsPlan, environment: ContextualEnvironment, seed: int, replicate: int,
        lie: Lie,
    ) -> None:  # fmt: skip
        self._lie: Lie | None = None  # no releases before the first round
        super().__init__(plan, environment, seed, replicate)
        self._lie, self._limits = lie, Limits(plan)
        #: Number of sums that the limits of messages would have refused. Here they count too.
        self.refused = 0

    @property
    def regret_of_others(self) -> Floats:
        """(parties - 1,) cumulative regret of all but the lying member."""
        return self.regret[1:]

    def _run_until(self, stop: int) -> None:
        while self.done < stop and not self.state.faults[:, 0].any():
            end = self._batch_end(stop)
            self._run(0, range(self.plan.constants.agents), end, shared=True)
            self._end_batch(end)

    def _end_batch(self, end: int) -> None:
        """Let all agents release their records, but the first agent its false ones."""
        assert self._lie is not None
        statistic, before = self.state.statistic, self.syncs
        true = statistic[0].copy()
        statistic[0] = self._lie(Seen(true, statistic[1:].sum(axis=0), end), self.plan.constants)
        self._run(0, range(0), end)
        statistic[0] = true
        if self.syncs > before:
            self._go_on()

    def _go_on(self) -> None:
        """Let the first agent go on from its true records, and check the limits of the sum."""
        constants, state = self.plan.constants, self.state
        released = self._scratch[0].released
        state.faults[:] = 0  # false records may be no sum of records
        if constants.own_view:
            state.faults[:, 0] = load_own_views(constants, state, released)
        try:
            everybody = range(constants.agents)
            self._limits.check("all", released, everybody, [self.syncs] * constants.agents)
        except ImplausibleError:
            self.refused += 1
