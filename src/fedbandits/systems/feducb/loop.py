"""FedUCB with a controller, as one compiled loop over agents and rounds.

Between two syncs agents do not touch one another, so the loop runs agent by agent through a whole
batch. With a data-dependent trigger a batch is as long as the trigger certainly cannot fire.
"""

from __future__ import annotations

from typing import Any

from fedbandits._compile import compiled
from fedbandits.environments.base import decision_set_workspace, draw_reward, fill_decision_set
from fedbandits.learners.linucb import best_arm, score_arms
from fedbandits.learners.ridge import add_record
from fedbandits.privacy.continual import NONE, add_release_noise, draw_slot
from fedbandits.random import Key, Purpose, fill_normal, integer
from fedbandits.systems.feducb.agent import (
    NO_FAULT,
    NOT_A_NUMBER,
    initial_pool,
    load_view,
    observe_raw,
    one_view,
    pool_release,
    record_fault,
    refresh_view,
    view_radius,
)
from fedbandits.systems.feducb.rules import TRIGGERED, Rules
from fedbandits.systems.feducb.state import Scratch, State
from fedbandits.systems.feducb.sync import next_sync, rounds_without_sync, sync_due

_TIE, _NOISE = int(Purpose.TIE), int(Purpose.PRIVACY_NOISE)


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
    """One agent, rounds start + 1 … end: see a decision set, act, observe, remember."""
    features, expected, scores, work = (
        scratch.features,
        scratch.expected,
        scratch.scores,
        scratch.work,
    )
    view = one_view(state.views, agent if rules.raw_view else 0)
    statistic, terms = state.statistic[agent], state.pool.terms
    context, shared, raw = scratch.context, rules.models == 1, rules.raw_view
    triggered = rules.schedule == TRIGGERED
    regret, earned = 0.0, 0.0
    for round_ in range(start + 1, end + 1):
        best = fill_decision_set(world, workspace, key, agent, round_, features, expected)
        score_arms(features, view.theta, view.width, scores, work)
        arm = best_arm(scores, integer(scores.size, key, agent, round_, _TIE, 0))
        if arm < 0:
            state.faults[agent, 0], state.faults[agent, 1] = NOT_A_NUMBER, round_
            break
        reward = draw_reward(world, expected[arm], key, agent, round_)
        column, model = (arm, 0) if shared else (0, arm)
        for i in range(context.size):
            context[i] = features[i, column]
        fault, recorded = record_fault(
            context, reward, rules.context_bound, rules.reward_bound, rules.clip
        )
        if fault != NO_FAULT:
            state.faults[agent, 0], state.faults[agent, 1] = fault, round_
            break
        add_record(statistic, model, context, recorded)
        regret += expected[best] - expected[arm]
        earned += reward
        if raw:
            observe_raw(view, model, context, recorded, triggered, scratch.gain)
            beta = view_radius(terms, view.log_det, model, rules.reward_noise, rules.log_term)
            refresh_view(view, model, rules.exploration_scale * beta)
    state.regret[agent] += regret
    state.reward[agent] += earned


@compiled
def _sync(rules: Rules, state: State, scratch: Scratch, key: Key) -> None:
    """All agents release, the controller sums, all agents take over the sum."""
    clock = state.clock
    k = clock.releases[0] + 1
    released, noisy = scratch.released, scratch.noisy
    released[:] = 0.0
    for agent in range(rules.agents):
        noisy[:] = state.statistic[agent].reshape(-1)
        if rules.mechanism != NONE:
            draws = state.draws[agent]
            fill_normal(draws[draw_slot(rules.mechanism, k)], key, agent, k, _NOISE)
            add_release_noise(
                rules.mechanism,
                rules.noise_deviation,
                rules.coefficients,
                rules.pattern,
                draws,
                k,
                noisy,
            )
        released += noisy
    fault = pool_release(rules, released.reshape(rules.models, -1), k, state.pool)
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
        load_view(rules, state.pool, one_view(state.views, v))


@compiled
def begin(rules: Rules, state: State) -> None:
    """Set up what every agent knows before the first round."""
    initial_pool(rules, state.pool)
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
