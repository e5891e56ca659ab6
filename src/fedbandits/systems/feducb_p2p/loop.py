"""Replicates of peer-to-peer FedUCB: their state, and calls of the compiled loops.

An agent's estimators are rows of one axis: cell = agent · estimators + estimator. Messages on
their way are not kept one by one: a release is kept with its round, so it is known by whom the
release was heard, and messages of a flood are scheduled for the rounds in which they are sent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment, Needs
from fedbandits.systems.agents.batches import BatchedReplicate, agent_needs, first_arrays
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.agents.kernels.pools import Pool, empty_pool
from fedbandits.systems.feducb_p2p.kernels.releases import begin, refresh_all
from fedbandits.systems.feducb_p2p.kernels.rounds import batch_end, run_triggered_until, run_until
from fedbandits.systems.feducb_p2p.kernels.state import Releases, State, next_arrival
from fedbandits.systems.feducb_p2p.plan import PeerPlan


class Replicate(BatchedReplicate[PeerPlan]):
    """One replicate of a peer-to-peer variant; every hop of a message counts as one."""

    def __init__(
        self, plan: PeerPlan, environment: ContextualEnvironment, seed: int, replicate: int,
        threads: int = 1,
    ) -> None:  # fmt: skip
        # Agents that may call for a sync after any round are played in step.
        self._triggered = plan.constants.schedule == TRIGGERED
        super().__init__(plan, environment, seed, replicate, 1 if self._triggered else threads)
        self.state: State = initial_state(plan)
        begin(plan.constants, plan.peers, self.state)

    def _run(self, worker: int, agents: range, stop: int, shared: bool = False) -> None:
        played = (
            self._worlds[worker].handle, self.plan.constants, self.plan.peers, self.state,
            self._scratch[worker], self.key,
        )  # fmt: skip
        if self._triggered:
            run_triggered_until(*played, stop)
        else:
            run_until(*played, agents.start, agents.stop, stop, shared)

    def _batch_end(self, stop: int) -> int:
        return int(batch_end(self.plan.constants, self.state, stop))

    def arrivals(self) -> list[int]:
        """Return rounds at whose end some agent has news to pool; empty if the data decides."""
        constants, peers = self.plan.constants, self.plan.peers
        if constants.schedule == TRIGGERED:
            return []
        longest, rounds = int(peers.reach.max()), []
        round_ = int(next_arrival(constants, longest, 0))
        while round_ < self.plan.rounds:
            rounds.append(round_)
            round_ = int(next_arrival(constants, longest, round_))
        return rounds

    def refresh(self) -> None:
        refresh_all(self.plan.constants, self.plan.peers, self.state, self._scratch[0])

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        peers = self.plan.peers
        return self.state.pools.terms[v], peers.log_term[v // peers.estimators]

    def _heard(self) -> NDArray[np.bool_]:
        numbers = self.state.heard.reshape(-1, self.plan.peers.estimators)
        heard: NDArray[np.bool_] = numbers.sum(axis=1) > 0
        return heard

    @property
    def syncs(self) -> int:
        """Releases so far of the agent that made most, over all its estimators."""
        made = self.state.releases.made.reshape(-1, self.plan.peers.estimators)
        return int(made.sum(axis=1).max())

    @property
    def bytes(self) -> int:
        """Bytes of statistics sent so far, 8 a number."""
        return int(self.state.clock.carrying[0]) * 8 * self.plan.constants.release_size

    @property
    def epsilon(self) -> float:
        # The estimators' records are disjoint, so the one that was released most often decides.
        return self.plan.epsilon_spent(int(self.state.releases.made.max()))


def initial_state(plan: PeerPlan) -> State:
    """Make zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    constants, peers = plan.constants, plan.peers
    agents, shape = constants.agents, constants.statistic_shape
    cells = agents * peers.estimators
    pool = empty_pool(constants.models, constants.dimension)
    return State(
        **first_arrays(plan, cells, cells),
        at_release=np.zeros((cells if constants.raw_view else 0, *shape)),
        waited=np.zeros(cells, np.int64),
        releases=Releases(
            made=np.zeros(cells, np.int64),
            round_=np.zeros((cells, peers.depth), np.int64),
            variance=np.zeros((cells, peers.depth)),
            value=np.zeros((cells, peers.depth, constants.release_size)),
        ),
        calls=np.zeros((agents, _call_slots(plan)), np.int64),
        scheduled=np.zeros((2, peers.floods.shape[1]), np.int64),
        heard=np.zeros(cells, np.int64),
        awaited=np.zeros(cells, np.int64),
        looked=np.zeros(cells, np.int64),
        pools=Pool(*(np.zeros((cells, *array.shape)) for array in pool)),
    )


def _call_slots(plan: PeerPlan) -> int:
    """Count slots of calls: one is answered within γ rounds, when its caller may call again."""
    return plan.peers.gamma + 1 if plan.constants.schedule == TRIGGERED else 1


def needs(plan: PeerPlan) -> Needs:
    """Estimate memory and work of :func:`initial_state`, and of the rounds."""
    constants, peers = plan.constants, plan.peers
    cells = constants.agents * peers.estimators
    return agent_needs(
        plan,
        sums=cells * (1 + constants.raw_view),
        draws=cells * plan.release.slots,
        released=cells * peers.depth,
        views=cells,
        pools=cells,
        syncs=float(constants.agents * min(constants.releases * peers.estimators, plan.rounds)),
        senders=constants.agents,
    )
