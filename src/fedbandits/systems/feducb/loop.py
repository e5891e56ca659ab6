"""FedUCB with a controller, as one compiled loop over agents and rounds.

Between two syncs agents do not touch one another, so the loop runs agent by agent through a whole
batch. With a data-dependent trigger a batch is as long as the trigger certainly cannot fire.
"""

from __future__ import annotations

from typing import Any

from fedbandits._compile import compiled
from fedbandits.environments.base import decision_set_workspace
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.feducb.agent import (
    basis_of_all,
    initial_pool,
    load_view,
    one_view,
    pool_release,
)
from fedbandits.systems.feducb.play import Scratch, play, simulate_release
from fedbandits.systems.feducb.rules import TRIGGERED, Rules
from fedbandits.systems.feducb.state import State
from fedbandits.systems.feducb.sync import next_sync, rounds_without_sync, sync_due


@compiled
def _play(
    world: Any,
    workspace: Any,
    rules: Rules,
    state: State,
    scratch: Scratch,
    key: Key,
    agent: int,
    start: int,
    end: int,
) -> None:
    """One agent plays rounds start + 1 … end with its own view, or the one that all share."""
    regret, earned, fault, round_ = play(
        world,
        workspace,
        rules,
        rules.log_term,
        state.pool.terms,
        one_view(state.views, agent if rules.raw_view else 0),
        state.statistic[agent],
        scratch,
        key,
        agent,
        start + 1,
        end,
        1,
    )
    state.regret[agent] += regret
    state.reward[agent] += earned
    if fault != NO_FAULT:
        state.faults[agent, 0], state.faults[agent, 1] = fault, round_


@compiled
def _sync(rules: Rules, state: State, scratch: Scratch, key: Key) -> None:
    """All agents release, the controller sums, all agents take over the sum."""
    clock = state.clock
    k = clock.releases[0] + 1
    released, noisy = scratch.released, scratch.noisy
    released[:] = 0.0
    for agent in range(rules.agents):
        simulate_release(rules, state.statistic[agent], state.draws[agent], k, key, agent, k, noisy)
        released += noisy
    total = released.reshape(rules.models, -1)
    fault = pool_release(rules, basis_of_all(rules, k), total, state.pool)
    if fault != NO_FAULT:
        state.faults[0, 0], state.faults[0, 1] = fault, clock.round_[0]
        return
    clock.releases[0] = k
    clock.waited[0] = 0
    clock.messages[0] += 2 * rules.agents
    _load_views(rules, state)


@compiled
def _load_views(rules: Rules, state: State) -> None:
    for v in range(state.views.theta.shape[0]):
        load_view(rules, rules.log_term, state.pool, one_view(state.views, v))


@compiled
def begin(rules: Rules, state: State) -> None:
    """Set up what every agent knows before the first round."""
    initial_pool(rules, rules.base, state.pool)
    _load_views(rules, state)


@compiled
def play_agents(
    world: Any,
    rules: Rules,
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
        _play(world, workspace, rules, state, scratch, key, agent, start, end)


@compiled
def batch_end(rules: Rules, state: State, stop: int) -> int:
    """The round up to which agents can play without a sync: the next one, or ``stop``."""
    start = state.clock.round_[0]
    if rules.schedule == TRIGGERED:
        return int(min(start + rounds_without_sync(rules, state.pool, state.clock.waited[0]), stop))
    return int(min(next_sync(rules, start), stop))


@compiled
def end_batch(rules: Rules, state: State, scratch: Scratch, key: Key, end: int) -> None:
    """All agents have played up to ``end``: move the clock, and sync if that is due."""
    clock = state.clock
    start = clock.round_[0]
    if state.faults[:, 0].any():
        return
    clock.round_[0] = end
    clock.waited[0] += end - start
    if clock.releases[0] >= rules.releases:
        return
    if rules.schedule == TRIGGERED:
        requests = 0
        for v in range(state.views.theta.shape[0]):
            due = sync_due(
                rules.threshold, state.pool.terms, state.views.trigger_log_det[v], clock.waited[0]
            )
            requests += 1 if due else 0
        if requests > 0:
            clock.messages[0] += requests + rules.agents  # the requests, and the call to sync
            _sync(rules, state, scratch, key)
    elif end == next_sync(rules, start):
        _sync(rules, state, scratch, key)


@compiled
def run_until(
    world: Any, rules: Rules, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done or a fault is noted."""
    workspace = decision_set_workspace(world)
    while state.clock.round_[0] < stop and not state.faults[:, 0].any():
        start = state.clock.round_[0]
        end = batch_end(rules, state, stop)
        for agent in range(rules.agents):
            _play(world, workspace, rules, state, scratch, key, agent, start, end)
        end_batch(rules, state, scratch, key, end)
