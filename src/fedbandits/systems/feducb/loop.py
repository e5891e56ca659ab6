"""Replicates of FedUCB with a controller: their state, their memory, and calls of the loop."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment, Needs
from fedbandits.systems.agents.batches import BatchedReplicate, agent_needs, first_arrays
from fedbandits.systems.agents.kernels.pools import empty_pool
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.feducb.kernels import State, batch_end, run_until


class Replicate(BatchedReplicate[AgentsPlan]):
    """One replicate of a variant with a controller."""

    def __init__(
        self, plan: AgentsPlan, environment: ContextualEnvironment, seed: int, replicate: int,
        threads: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(plan, environment, seed, replicate, threads)
        self.state: State = initial_state(plan)
        self._run(0, range(0), 0)

    def _run(self, worker: int, agents: range, stop: int, shared: bool = False) -> None:
        run_until(
            self._worlds[worker].handle, self.plan.constants, self.state, self._scratch[worker],
            self.key, agents.start, agents.stop, stop, shared,
        )  # fmt: skip

    def _batch_end(self, stop: int) -> int:
        return int(batch_end(self.plan.constants, self.state, stop))

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        return self.state.pool.terms, self.plan.constants.log_term

    @property
    def _helpers(self) -> int:
        """Helpers, each of which is asked twice and answers twice a sync."""
        secure = self.plan.secure
        return 0 if secure is None else secure.helpers

    @property
    def messages(self) -> int:
        """Messages so far."""
        return super().messages + self.syncs * 4 * self._helpers

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, up and down and of helpers' masks, 8 a number."""
        sent = 2 * self.plan.constants.agents + self._helpers
        return self.syncs * sent * 8 * self.plan.constants.release_size


def initial_state(plan: AgentsPlan) -> State:
    """Make zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    constants = plan.constants
    agents, size = constants.agents, constants.release_size
    return State(
        **first_arrays(plan, agents, _views(plan)),
        pool=empty_pool(constants.models, constants.dimension),
        newest=np.zeros((agents if constants.leaves_out_own else 0, size)),
        total=np.zeros(size if constants.step > 0.0 else 0, np.int64),
    )


def _views(plan: AgentsPlan) -> int:
    """Count views: one of each agent that learns from own records at once, or one of all."""
    constants = plan.constants
    return constants.agents if constants.raw_view or constants.own_view else 1


def needs(plan: AgentsPlan) -> Needs:
    """Estimate memory and work of :func:`initial_state`, and of the rounds."""
    constants = plan.constants
    agents = constants.agents
    return agent_needs(
        plan,
        sums=agents + 2 + (2 * agents if constants.leaves_out_own else 0),
        draws=agents * plan.release.slots,
        released=0,
        views=_views(plan),
        pools=1,
        syncs=min(constants.releases, plan.rounds),
        senders=agents,
    )
