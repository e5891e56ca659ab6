"""FedUCB with a controller, as one compiled loop over agents and rounds.

Between two syncs agents do not touch one another, so the loop runs agent by agent through a whole
batch. With a data-dependent trigger a batch is as long as the trigger certainly cannot fire.

What is called in one place is pasted in there: compiled apart, it would be optimised twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment, decision_set_workspace
from fedbandits.environments.joining import turn_from
from fedbandits.learners.assign import add_to, any_fault, fill
from fedbandits.learners.joint import one_joint
from fedbandits.learners.joint_or_none import joint_of
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.agents.batches import BatchedReplicate
from fedbandits.systems.agents.beyond import take_up_beyond
from fedbandits.systems.agents.joint import load_others
from fedbandits.systems.agents.persons import persons_of
from fedbandits.systems.agents.plan import TRIGGERED, AgentsPlan, Constants
from fedbandits.systems.agents.play import Scratch, note_fault, play, simulate_release
from fedbandits.systems.agents.sync import next_sync, rounds_without_sync, sync_due
from fedbandits.systems.agents.views import (
    basis_of_all,
    initial_pool,
    load_view,
    noise_variance,
    one_view,
    pool_release,
)
from fedbandits.systems.feducb.state import State, initial_state


@inlined
def _play(
    world: Any,
    workspace: Any,
    constants: Constants,
    state: State,
    scratch: Scratch,
    key: Key,
    agent: int,
    start: int,
    end: int,
) -> None:
    """One agent plays rounds start + 1 … end with its own view, or the one that all share."""
    play(
        world,
        workspace,
        constants,
        constants.log_term,
        state.pool.terms,
        one_view(state.views, agent if constants.raw_view else 0),
        joint_of(state.joints, agent),
        state.statistic[agent],
        persons_of(state.persons, agent, agent),
        state.tally,
        state.faults,
        scratch,
        key,
        agent,
        start + 1,
        end,
        1,
    )


@inlined
def _sync(constants: Constants, state: State, scratch: Scratch, key: Key) -> None:
    """All agents release, the controller sums, all agents take over the sum."""
    clock = state.clock
    k = clock.releases[0] + 1
    released, noisy = scratch.released, scratch.noisy
    fill(released, 0.0)
    for agent in range(constants.agents):
        simulate_release(
            constants, state.statistic[agent], state.draws[agent], k, key, agent, k, noisy
        )
        add_to(released, noisy)
        if constants.joint_view:
            for i in range(noisy.size):
                state.newest[agent, i] = noisy[i]
    total = released.reshape(constants.models, -1)
    fault = pool_release(constants, basis_of_all(constants, k), total, state.pool)
    note_fault(state.faults, 0, fault, clock.round_[0])
    if fault != NO_FAULT:
        return
    clock.releases[0] = k
    clock.waited[0] = 0
    clock.messages[0] += 2 * constants.agents
    _load_views(constants, state)


@compiled
def load_joints(constants: Constants, state: State, released: Floats) -> None:
    """After a sync every agent takes up what all others released: the sum without its own release.

    Apart from the loop over rounds, which would compile it anew for every world.
    """
    k = state.clock.releases[0]
    models, size = constants.models, released.size // constants.models
    others = np.zeros((models, size))
    variance = basis_of_all(constants, k).deviation ** 2
    for agent in range(constants.agents):
        for m in range(models):
            for i in range(size):
                others[m, i] = released[m * size + i] - state.newest[agent, m * size + i]
        noise = variance - noise_variance(constants, agent, k)
        load_others(
            constants, others, noise, one_view(state.views, 0), one_joint(state.joints, agent)
        )


@inlined
def _load_views(constants: Constants, state: State) -> None:
    """Every view becomes what the pool says."""
    for v in range(state.views.theta.shape[0]):
        view = one_view(state.views, v)
        load_view(constants, constants.log_term, state.pool, view)
        persons = persons_of(state.persons, v, v)
        take_up_beyond(persons, constants, constants.log_term, state.pool, view)


def begin(constants: Constants, state: State) -> None:
    """Set up what every agent knows before the first round: all know the same."""
    initial_pool(constants, constants.base, state.pool)
    load_view(constants, constants.log_term, state.pool, one_view(state.views, 0))
    for array in state.views:
        array[1:] = array[0]


@compiled
def play_agents(
    world: Any,
    constants: Constants,
    state: State,
    scratch: Scratch,
    key: Key,
    first: int,
    last: int,
    start: int,
    end: int,
) -> None:
    """Agents first … last - 1 play rounds start + 1 … end, in which nobody syncs."""
    workspace = decision_set_workspace(world)
    for agent in range(first, last):
        _play(world, workspace, constants, state, scratch, key, agent, start, end)


@inlined
def batch_end(constants: Constants, state: State, stop: int) -> int:
    """The round up to which agents can play without a sync: the next one, or ``stop``."""
    start = state.clock.round_[0]
    if constants.schedule == TRIGGERED:
        return int(
            min(start + rounds_without_sync(constants, state.pool, state.clock.waited[0]), stop)
        )
    return int(min(next_sync(constants, start), stop))


@inlined
def end_batch(
    world: Any, constants: Constants, state: State, scratch: Scratch, key: Key, end: int
) -> None:
    """All agents have played up to ``end``: move the clock, and sync if that is due."""
    clock = state.clock
    start = clock.round_[0]
    if any_fault(state.faults):
        return
    clock.round_[0] = end
    clock.waited[0] += end - start
    if clock.releases[0] >= constants.releases:
        return
    due = end == next_sync(constants, start)
    if constants.schedule == TRIGGERED:
        requests = 0
        for v in range(state.views.theta.shape[0]):
            grown = state.views.trigger_log_det[v]
            # An agent has waited since the last sync, or since it joined, if that was later.
            waited = min(clock.waited[0], end - turn_from(world, v, 1, 1) + 1)
            asks = waited > 0 and sync_due(constants.threshold, state.pool.terms, grown, waited)
            requests += 1 if asks else 0
        due = requests > 0
        if due:  # the requests, and the call to sync
            clock.messages[0] += requests + constants.agents
    if due:  # one place: it is pasted in
        _sync(constants, state, scratch, key)


@compiled
def run_until(
    world: Any, constants: Constants, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done, a fault is noted, or joint views are to be loaded."""
    workspace = decision_set_workspace(world)
    made = state.clock.releases[0]
    while state.clock.round_[0] < stop and not any_fault(state.faults):
        if constants.joint_view and state.clock.releases[0] > made:
            break
        start = state.clock.round_[0]
        end = batch_end(constants, state, stop)
        for agent in range(constants.agents):
            _play(world, workspace, constants, state, scratch, key, agent, start, end)
        end_batch(world, constants, state, scratch, key, end)


class Replicate(BatchedReplicate[AgentsPlan]):
    """One replicate of a variant with a controller."""

    def __init__(
        self,
        plan: AgentsPlan,
        environment: ContextualEnvironment,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        super().__init__(plan, environment, seed, replicate, threads)
        self.state: State = initial_state(plan)
        begin(plan.constants, self.state)
        self._load_batch_kernels()

    def _run_until(self, stop: int) -> None:
        constants, state, scratch = self.plan.constants, self.state, self._scratch[0]
        while self.done < stop and not state.faults[:, 0].any():
            before = self.syncs
            run_until(self.world, constants, state, scratch, self.key, stop)
            self._load_joints(before)

    def _batch_end(self, stop: int) -> int:
        return int(batch_end(self.plan.constants, self.state, stop))

    def _play_slice(self, scratch: Scratch, first: int, last: int, start: int, end: int) -> None:
        constants, state = self.plan.constants, self.state
        play_agents(self.world, constants, state, scratch, self.key, first, last, start, end)

    def _end_batch(self, end: int) -> None:
        constants, scratch, before = self.plan.constants, self._scratch[0], self.syncs
        end_batch(self.world, constants, self.state, scratch, self.key, end)
        self._load_joints(before)

    def _load_joints(self, before: int) -> None:
        """Load joint views, if there has been a sync beyond so many."""
        if self.plan.constants.joint_view and self.syncs > before:
            load_joints(self.plan.constants, self.state, self._scratch[0].released)

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        return self.state.pool.terms, self.plan.constants.log_term

    @property
    def syncs(self) -> int:
        """Syncs so far."""
        return int(self.state.clock.releases[0])

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, up and down, 8 a number."""
        return self.syncs * 2 * self.plan.constants.agents * 8 * self.plan.constants.release_size
