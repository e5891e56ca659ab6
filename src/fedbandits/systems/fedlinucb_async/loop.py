"""Replicates of asynchronous FedLinUCB: their state, their memory, and calls of the loop.

Within a round agents play in order, and an exchange takes effect at once: an agent that exchanges
later in the same round downloads the records that were just uploaded.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment, Needs
from fedbandits.systems.agents.batches import BatchedReplicate, agent_needs, first_arrays
from fedbandits.systems.agents.kernels.pools import empty_pool
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.fedlinucb_async.kernels import State, begin, run_until
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan


class Replicate(BatchedReplicate[AsyncPlan]):
    """One replicate. Any agent may exchange after any round, so all are played in step."""

    def __init__(
        self, plan: AsyncPlan, environment: ContextualEnvironment, seed: int, replicate: int,
        threads: int = 1,
    ) -> None:  # fmt: skip
        del threads  # any agent may exchange after any round, so they are played in step
        super().__init__(plan, environment, seed, replicate)
        constants = plan.constants
        self.state: State = initial_state(plan)
        self._pool = empty_pool(constants.models, constants.dimension)
        begin(constants, self.state, self._pool)

    def _run_until(self, stop: int) -> None:
        world, constants, scratch = self._worlds[0].handle, self.plan.constants, self._scratch[0]
        run_until(world, constants, self.state, scratch, self._pool, self.key, stop)

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        return self.state.terms[v], self.plan.constants.log_term

    @property
    def messages(self) -> int:
        """Messages so far: an upload and a download an exchange."""
        return 2 * self.syncs

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, up and down, 8 a number."""
        return self.messages * 8 * self.plan.constants.release_size


def initial_state(plan: AgentsPlan) -> State:
    """Make zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    constants = plan.constants
    return State(
        **first_arrays(plan, constants.agents, constants.agents),
        total=np.zeros(constants.statistic_shape),
        terms=np.zeros((constants.agents, constants.models, 4)),
    )


def needs(plan: AgentsPlan) -> Needs:
    """Estimate memory and work of :func:`initial_state`, and of the rounds."""
    constants = plan.constants
    agents, d = constants.agents, constants.models * constants.dimension
    steps = float(plan.rounds * agents)
    # A determinant grows by its factor only so often, and all agents may notice it.
    often = d * math.log1p(steps) * (1.0 / constants.threshold + agents)
    return agent_needs(
        plan,
        sums=agents + 3,
        draws=0,
        released=0,
        views=agents,
        pools=1,
        syncs=min(steps, often),
        senders=1,
    )
