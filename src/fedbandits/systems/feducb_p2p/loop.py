"""Peer-to-peer FedUCB as a compiled loop, where the rounds of release are fixed in advance.

Between two releases agents do not touch one another, so the loop runs agent by agent through a
whole batch; each pools by itself what arrives meanwhile.
"""

from __future__ import annotations

from typing import Any

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment, decision_set_workspace
from fedbandits.learners.assign import any_fault
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.agents.batches import BatchedReplicate
from fedbandits.systems.agents.plan import TRIGGERED, Constants
from fedbandits.systems.agents.play import Scratch
from fedbandits.systems.agents.sync import next_sync
from fedbandits.systems.feducb_p2p.joint_heard import refresh_jointly
from fedbandits.systems.feducb_p2p.kernels import (
    begin,
    play_cell,
    refresh,
    refresh_all,
    release,
    send,
)
from fedbandits.systems.feducb_p2p.plan import PeerPlan, Peers, next_arrival
from fedbandits.systems.feducb_p2p.state import State, initial_state
from fedbandits.systems.feducb_p2p.triggered import run_triggered_until


@inlined
def play_agents(
    world: Any,
    constants: Constants,
    peers: Peers,
    state: State,
    scratch: Scratch,
    key: Key,
    first: int,
    last: int,
    start: int,
    end: int,
) -> None:
    """Agents first … last - 1 play rounds start + 1 … end, in which nobody releases.

    Each goes on by itself, and pools anew whenever an earlier release arrives.
    """
    workspace = decision_set_workspace(world)
    for agent in range(first, last):
        at = start
        while at < end and state.faults[agent, 0] == NO_FAULT:
            if state.looked[agent] < state.awaited[agent]:
                refresh(constants, peers, state, scratch, agent, at)
            until = min(end, next_arrival(constants, peers.reach[agent], at))
            if state.faults[agent, 0] == NO_FAULT:
                play_cell(
                    world, workspace, constants, peers, state, scratch, key, agent, at + 1, until
                )
            at = until


@inlined
def batch_end(constants: Constants, state: State, stop: int) -> int:
    """The round up to which agents can play without a release: the next one, or ``stop``."""
    return int(min(next_sync(constants, state.clock.round_[0]), stop))


@inlined
def end_batch(
    constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key, end: int
) -> None:
    """All agents have played up to ``end``: move the clock, and release if that is due."""
    start = state.clock.round_[0]
    if any_fault(state.faults):
        return
    state.clock.round_[0] = end
    send(state, start, end - 1)
    if end == next_sync(constants, start):
        for agent in range(constants.agents):
            release(constants, peers, state, scratch, key, agent, end)
    send(state, end - 1, end)


@compiled
def run_until(
    world: Any,
    constants: Constants,
    peers: Peers,
    state: State,
    scratch: Scratch,
    key: Key,
    stop: int,
) -> None:
    """Play on until ``stop`` rounds are done or a fault is noted."""
    while state.clock.round_[0] < stop and not any_fault(state.faults):
        start, end = state.clock.round_[0], batch_end(constants, state, stop)
        play_agents(world, constants, peers, state, scratch, key, 0, constants.agents, start, end)
        end_batch(constants, peers, state, scratch, key, end)


class Replicate(BatchedReplicate[PeerPlan]):
    """One replicate of a peer-to-peer variant; every hop of a message counts as one."""

    def __init__(
        self,
        plan: PeerPlan,
        environment: ContextualEnvironment,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        # Agents that may call for a sync after any round are played in step.
        self._triggered = plan.constants.schedule == TRIGGERED
        super().__init__(plan, environment, seed, replicate, 1 if self._triggered else threads)
        self.state: State = initial_state(plan)
        begin(plan.constants, plan.peers, self.state)
        self._load_batch_kernels()

    def _run_until(self, stop: int) -> None:
        play_on = run_triggered_until if self._triggered else run_until
        constants, peers, scratch = self.plan.constants, self.plan.peers, self._scratch[0]
        while self.done < stop and not self.state.faults[:, 0].any():
            until = self._until_heard(stop)
            play_on(self.world, constants, peers, self.state, scratch, self.key, until)
            self._load_joints()

    def _until_heard(self, stop: int) -> int:
        """The round at whose end joint views may be loaded, or ``stop`` if that comes before."""
        constants = self.plan.constants
        if not constants.joint_view:
            return stop
        longest = int(self.plan.peers.reach.max())
        return min(int(next_arrival(constants, longest, self.done)), stop)

    def _load_joints(self) -> None:
        """Load what agents with joint views have heard, as they would before the next round."""
        if self.plan.constants.joint_view:
            refresh_jointly(self.plan.constants, self.plan.peers, self.state, self._scratch[0])

    def _batch_end(self, stop: int) -> int:
        return int(batch_end(self.plan.constants, self.state, self._until_heard(stop)))

    def _play_slice(self, scratch: Scratch, first: int, last: int, start: int, end: int) -> None:
        constants, peers, state = self.plan.constants, self.plan.peers, self.state
        play_agents(self.world, constants, peers, state, scratch, self.key, first, last, start, end)

    def _end_batch(self, end: int) -> None:
        constants, peers, state = self.plan.constants, self.plan.peers, self.state
        end_batch(constants, peers, state, self._scratch[0], self.key, end)
        self._load_joints()

    def arrivals(self) -> list[int]:
        """Rounds at whose end some agent has something new to pool; empty if the data decides."""
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
        constants, peers, scratch = self.plan.constants, self.plan.peers, self._scratch[0]
        bring = refresh_jointly if constants.joint_view else refresh_all
        bring(constants, peers, self.state, scratch)

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        peers = self.plan.peers
        return self.state.pools.terms[v], peers.log_term[v // peers.estimators]

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
