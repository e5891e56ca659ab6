"""Asynchronous FedLinUCB as one compiled loop over rounds and agents.

Within a round agents play in order, and an exchange takes effect at once: who plays later in the
same round and exchanges too gets what was just uploaded.
"""

from __future__ import annotations

from typing import Any

from fedbandits._compile import compiled
from fedbandits.environments.base import decision_set_workspace
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.fedlinucb_async.agent import exchange_due, know_nothing, take_over
from fedbandits.systems.fedlinucb_async.state import State
from fedbandits.systems.feducb.agent import Pool, one_view
from fedbandits.systems.feducb.play import Scratch, play
from fedbandits.systems.feducb.rules import Rules


@compiled
def begin(rules: Rules, state: State, pool: Pool) -> None:
    """Set up what every agent knows before the first round."""
    for agent in range(rules.agents):
        know_nothing(rules, pool, one_view(state.views, agent))
        state.terms[agent] = pool.terms


@compiled
def _play(
    world: Any,
    workspace: Any,
    rules: Rules,
    state: State,
    scratch: Scratch,
    key: Key,
    agent: int,
    round_: int,
) -> None:
    """One agent plays one round."""
    regret, earned, fault, _ = play(
        world,
        workspace,
        rules,
        rules.log_term,
        state.terms[agent],
        one_view(state.views, agent),
        state.local[agent],
        scratch,
        key,
        agent,
        round_,
        round_,
        1,
    )
    state.regret[agent] += regret
    state.reward[agent] += earned
    _note(state, agent, fault, round_)


@compiled
def _exchange(rules: Rules, state: State, pool: Pool, agent: int, round_: int) -> None:
    """One agent uploads what it has learned since its last exchange and downloads the total."""
    for m in range(rules.models):
        state.total[m] += state.local[agent, m]
    state.local[agent] = 0.0
    fault = take_over(rules, state.total, pool, one_view(state.views, agent))
    state.terms[agent] = pool.terms
    state.clock.exchanges[0] += 1
    _note(state, agent, fault, round_)


@compiled
def _note(state: State, agent: int, fault: int, round_: int) -> None:
    if fault != NO_FAULT:
        state.faults[agent, 0], state.faults[agent, 1] = fault, round_


@compiled
def run_until(
    world: Any, rules: Rules, state: State, scratch: Scratch, pool: Pool, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done or a fault is noted.

    Parameters
    ----------
    pool : Pool
        A buffer; nothing in it outlives an exchange.
    """
    workspace = decision_set_workspace(world)
    while state.clock.round_[0] < stop and not state.faults[:, 0].any():
        round_ = state.clock.round_[0] + 1
        for agent in range(rules.agents):
            _play(world, workspace, rules, state, scratch, key, agent, round_)
            grown = state.views.trigger_log_det[agent]
            if exchange_due(rules.threshold, state.terms[agent], grown):
                _exchange(rules, state, pool, agent, round_)
        if not state.faults[:, 0].any():
            state.clock.round_[0] = round_
