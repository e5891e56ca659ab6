"""Peer-to-peer FedUCB as a compiled loop, where the rounds of release are fixed in advance.

Between two releases agents do not touch one another, so the loop runs agent by agent through a
whole batch; each pools by itself what arrives meanwhile.
"""

from __future__ import annotations

from typing import Any

from fedbandits._compile import compiled
from fedbandits.environments.base import decision_set_workspace
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.feducb.agent import one_view
from fedbandits.systems.feducb.play import Scratch, play
from fedbandits.systems.feducb.rules import Rules
from fedbandits.systems.feducb.sync import next_sync
from fedbandits.systems.feducb_p2p.exchange import refresh, release, send
from fedbandits.systems.feducb_p2p.rules import Peers, next_arrival
from fedbandits.systems.feducb_p2p.state import State


@compiled
def play_cell(
    world: Any,
    workspace: Any,
    rules: Rules,
    peers: Peers,
    state: State,
    scratch: Scratch,
    key: Key,
    cell: int,
    first: int,
    end: int,
) -> None:
    """One agent plays ``first`` and all rounds to ``end`` in which it uses the same estimator."""
    agent = cell // peers.estimators
    regret, earned, fault, round_ = play(
        world,
        workspace,
        rules,
        peers.log_term[agent],
        state.pools.terms[cell],
        one_view(state.views, cell),
        state.statistic[cell],
        scratch,
        key,
        agent,
        first,
        end,
        peers.estimators,
    )
    state.regret[agent] += regret
    state.reward[agent] += earned
    state.waited[cell] += (end - first) // peers.estimators + 1
    if fault != NO_FAULT:
        state.faults[agent, 0], state.faults[agent, 1] = fault, round_


@compiled
def play_agents(
    world: Any,
    rules: Rules,
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
                refresh(rules, peers, state, scratch, agent, at)
            until = min(end, next_arrival(rules, peers.reach[agent], at))
            if state.faults[agent, 0] == NO_FAULT:
                play_cell(world, workspace, rules, peers, state, scratch, key, agent, at + 1, until)
            at = until


@compiled
def batch_end(rules: Rules, state: State, stop: int) -> int:
    """The round up to which agents can play without a release: the next one, or ``stop``."""
    return int(min(next_sync(rules, state.clock.round_[0]), stop))


@compiled
def end_batch(
    rules: Rules, peers: Peers, state: State, scratch: Scratch, key: Key, end: int
) -> None:
    """All agents have played up to ``end``: move the clock, and release if that is due."""
    start = state.clock.round_[0]
    if state.faults[:, 0].any():
        return
    state.clock.round_[0] = end
    send(state, start, end - 1)
    if end == next_sync(rules, start):
        for agent in range(rules.agents):
            release(rules, peers, state, scratch, key, agent, end)
    send(state, end - 1, end)


@compiled
def run_until(
    world: Any, rules: Rules, peers: Peers, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done or a fault is noted."""
    while state.clock.round_[0] < stop and not state.faults[:, 0].any():
        start, end = state.clock.round_[0], batch_end(rules, state, stop)
        play_agents(world, rules, peers, state, scratch, key, 0, rules.agents, start, end)
        end_batch(rules, peers, state, scratch, key, end)
