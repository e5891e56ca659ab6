"""A member that lies: compiled FedUCB in which what one agent sends is not what it has seen.

The agent decides and learns as the others do. Only what it releases is false: its noise is as it
should be, and its records are replaced. So each lie is one that no helper and no controller sees.
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

    own: Floats  # of the member that lies
    others: Floats
    rounds: int  # so far; an agent has a record a round


#: From sums of records and the constants of a run to what is released in place of own records.
Lie = Callable[[Seen, Constants], Floats]


def reversed_rewards(times: float) -> Lie:
    """Return the lie of a member that counts its own records many times, with rewards reversed."""

    def lie(seen: Seen, constants: Constants) -> Floats:
        false: Floats = times * seen.own
        false[:, -constants.dimension :] *= -1.0
        return false

    return lie


def other_units(times: float) -> Lie:
    """Return what a member sends whose rewards are so many times too large; negative: reversed."""

    def lie(seen: Seen, constants: Constants) -> Floats:
        false = seen.own.copy()
        false[:, -constants.dimension :] *= times
        return false

    return lie


def unexplored_direction(times: float) -> Lie:
    """Return the lie of a member that makes up records where others have fewest.

    In each model all of its records, many times, are as long as can be, along the direction of the
    others' smallest eigenvalue. Their reward is the largest, against what others found there.
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
    """A replicate of FedUCB with a controller, the first agent of which lies.

    Parameters
    ----------
    plan, environment, seed, replicate
        What is played, where, and the two numbers that name the random draws.
    lie
        What the first agent releases.
    """

    def __init__(
        self, plan: AgentsPlan, environment: ContextualEnvironment, seed: int, replicate: int,
        lie: Lie,
    ) -> None:  # fmt: skip
        self._lie: Lie | None = None  # nothing is released before the first round
        super().__init__(plan, environment, seed, replicate)
        self._lie, self._limits = lie, Limits(plan)
        #: How many sums the limits of messages would have refused. Here they count all the same.
        self.refused = 0

    @property
    def regret_of_others(self) -> Floats:
        """(parties - 1,) cumulative regret of all but the member that lies."""
        return self.regret[1:]

    def _run_until(self, stop: int) -> None:
        while self.done < stop and not self.state.faults[:, 0].any():
            end = self._batch_end(stop)
            self._run(0, range(self.plan.constants.agents), end, shared=True)
            self._end_batch(end)

    def _end_batch(self, end: int) -> None:
        """Let all release what they have, but the first what it pretends to have."""
        assert self._lie is not None
        statistic, before = self.state.statistic, self.syncs
        true = statistic[0].copy()
        statistic[0] = self._lie(Seen(true, statistic[1:].sum(axis=0), end), self.plan.constants)
        self._run(0, range(0), end)
        statistic[0] = true
        if self.syncs > before:
            self._go_on()

    def _go_on(self) -> None:
        """Let the first agent go on from its true records, and hold the sum to its limits."""
        constants, state = self.plan.constants, self.state
        released = self._scratch[0].released
        state.faults[:] = 0  # of an agent whose records are no sum
        if constants.own_view:
            state.faults[:, 0] = load_own_views(constants, state, released)
        try:
            everybody = range(constants.agents)
            self._limits.check("all", released, everybody, [self.syncs] * constants.agents)
        except ImplausibleError:
            self.refused += 1
