"""The loops over rounds: with rounds of release fixed in advance, and by calls (Algorithm 3).

Between two fixed releases agents do not touch one another, so the loop runs agent by agent through
a whole batch; each agent pools the releases that arrive. With calls, agents are played one after
the other where certainly nobody calls, and else round by round, in step.
"""

from __future__ import annotations

from fedbandits._compile import compiled, inlined
from fedbandits.environments.kernels.worlds import Handle
from fedbandits.learners.kernels.ridge import any_fault
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.rounds import Scratch
from fedbandits.systems.agents.kernels.sync import growth_bound, next_sync, sync_due
from fedbandits.systems.feducb_p2p.kernels.releases import flood, play_cell, refresh, release, send
from fedbandits.systems.feducb_p2p.kernels.state import (
    NOT_POOLED,
    Peers,
    State,
    next_arrival,
    one_pool,
)


@inlined
def _play_agent(
    world: Handle, constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key,
    agent: int, start: int, end: int,
) -> None:  # fmt: skip
    """Let one agent play rounds start + 1 … end, in which nobody releases.

    It pools anew whenever an earlier release arrives.
    """
    at = start
    while at < end and state.faults[agent, 0] == NO_FAULT:
        if state.looked[agent] < state.awaited[agent]:
            refresh(constants, peers, state, scratch, agent, at)
        until = min(end, next_arrival(constants, peers.reach[agent], at))
        if state.faults[agent, 0] == NO_FAULT:
            play_cell(world, constants, peers, state, scratch, key, agent, at + 1, until)
        at = until


@inlined
def batch_end(constants: Constants, state: State, stop: int) -> int:
    """Return the round up to which agents can play without a release: the next one, or ``stop``."""
    return int(min(next_sync(constants, state.clock.round_[0]), stop))


@inlined
def end_batch(
    constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key, end: int
) -> None:
    """End a batch that all agents have played up to ``end``: move the clock; release if due."""
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
    world: Handle, constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key,
    first: int, last: int, stop: int, shared: bool,
) -> None:  # fmt: skip
    """Let agents first … last - 1 play on until ``stop`` rounds are done or a fault is noted.

    Where others play at the same time (``shared``), it ends after one batch, and leaves the end of
    the batch to a call without agents.
    """
    while state.clock.round_[0] < stop and not any_fault(state.faults):
        start, end = state.clock.round_[0], batch_end(constants, state, stop)
        for agent in range(first, last):
            _play_agent(world, constants, peers, state, scratch, key, agent, start, end)
        if shared:
            break
        end_batch(constants, peers, state, scratch, key, end)


@compiled
def _call(constants: Constants, peers: Peers, state: State, round_: int) -> None:
    """Call for syncs of the estimators just used, for all agents with a trigger that has fired."""
    estimator = round_ % peers.estimators
    for agent in range(constants.agents):
        cell = agent * peers.estimators + estimator
        due = state.waited[cell] > 0 and sync_due(  # an agent that has not joined calls for nothing
            constants.threshold,
            state.pools.terms[cell],
            state.views.trigger_log_det[cell],
            state.waited[cell],
        )
        if due and state.releases.made[cell] < constants.releases:
            state.calls[agent, round_ % state.calls.shape[1]] = round_
            state.clock.asked[0] = round_
            flood(peers, state, agent, round_, 0)


@compiled
def _answer(
    constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key, round_: int
) -> None:
    """Answer calls of the clique, each as many rounds old as its caller is hops away.

    A call of round t' is for the estimator used in t'. An agent that has released this estimator
    at the end of t' or later has no new record: all calls of one round are answered once.
    """
    if round_ - state.clock.asked[0] > peers.gamma:
        return
    slots = state.calls.shape[1]
    for caller in range(constants.agents):
        for hops in range(min(peers.gamma, round_ - 1) + 1):
            called = round_ - hops
            if state.calls[caller, called % slots] == called:
                for agent in range(constants.agents):
                    if (
                        peers.lag[agent, caller] != NOT_POOLED
                        and peers.distance[agent, caller] == hops
                    ):
                        _answer_once(constants, peers, state, scratch, key, agent, called, round_)


@compiled
def _answer_once(
    constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key, agent: int,
    called: int, round_: int,
) -> None:  # fmt: skip
    releases, cell = state.releases, agent * peers.estimators + called % peers.estimators
    k = releases.made[cell]
    if k == 0 or releases.round_[cell, (k - 1) % releases.round_.shape[1]] < called:
        release(constants, peers, state, scratch, key, cell, round_)


@inlined
def _must_play_in_step(constants: Constants, peers: Peers, state: State, start: int) -> bool:
    """Tell whether the next round must be played in step, even if no trigger fires.

    A call of the last γ rounds may still be answered, a release may be on its way, and visits are
    counted in the order of rounds, which belong to different estimators.
    """
    asked = state.clock.asked[0]
    answers_due = asked > 0 and start < asked + peers.gamma
    order_counts = constants.records_per_person > 0 and peers.estimators > 1
    return bool(answers_due or order_counts or start < state.awaited.max())


@inlined
def _quiet_until(
    constants: Constants, peers: Peers, state: State, scratch: Scratch, stop: int
) -> int:
    """Return a round up to which nobody calls and nothing arrives; the present one if none.

    How many turns of every estimator are quiet is found by doubling.
    """
    start = state.clock.round_[0]
    if _must_play_in_step(constants, peers, state, start):
        return int(start)
    for cell in range(state.heard.size):
        if state.looked[cell] < state.awaited[cell]:
            refresh(constants, peers, state, scratch, cell, start)
    turns = 1
    while start + turns * peers.estimators < stop and _nobody_calls(constants, state, 2 * turns):
        turns *= 2
    if turns == 1:
        return int(start)
    return int(min(start + turns * peers.estimators, stop))


@compiled
def _nobody_calls(constants: Constants, state: State, turns: int) -> bool:
    """Tell whether no estimator can call for a sync in its next ``turns`` uses.

    The trigger's growth is bounded as in :func:`.sync.growth_bound`.
    """
    for cell in range(state.heard.size):
        waited = state.waited[cell] + turns + 1  # one to spare for rounding
        bound = growth_bound(constants, one_pool(state.pools, cell), waited)
        if not bound < constants.threshold / waited:  # a bound that is no number calls
            return False
    return True


@inlined
def _play_quietly(
    world: Handle, constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key,
    end: int,
) -> None:  # fmt: skip
    """Play until ``end``, before which nobody calls: agent by agent, estimator by estimator."""
    start = state.clock.round_[0]
    for agent in range(constants.agents):
        for first in range(start + 1, min(start + peers.estimators, end) + 1):
            cell = agent * peers.estimators + first % peers.estimators
            if state.faults[agent, 0] == NO_FAULT:
                play_cell(world, constants, peers, state, scratch, key, cell, first, end)
    if not any_fault(state.faults):
        state.clock.round_[0] = end
        send(state, start, end)


@inlined
def _play_in_step(
    world: Handle, constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key,
    round_: int,
) -> None:  # fmt: skip
    """Play one round of all agents, then call for syncs and answer calls (Algorithm 3)."""
    for agent in range(constants.agents):
        cell = agent * peers.estimators + round_ % peers.estimators
        if state.looked[cell] < state.awaited[cell]:
            refresh(constants, peers, state, scratch, cell, round_ - 1)
        if state.faults[agent, 0] == NO_FAULT:
            play_cell(world, constants, peers, state, scratch, key, cell, round_, round_)
    if any_fault(state.faults):
        return
    state.clock.round_[0] = round_
    _call(constants, peers, state, round_)
    _answer(constants, peers, state, scratch, key, round_)
    send(state, round_ - 1, round_)


@compiled
def run_triggered_until(
    world: Handle, constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key,
    stop: int,
) -> None:  # fmt: skip
    """Let all agents play on until ``stop`` rounds are done or a fault is noted."""
    while state.clock.round_[0] < stop and not any_fault(state.faults):
        end = _quiet_until(constants, peers, state, scratch, stop)
        if end > state.clock.round_[0]:
            _play_quietly(world, constants, peers, state, scratch, key, end)
        else:
            round_ = state.clock.round_[0] + 1
            _play_in_step(world, constants, peers, state, scratch, key, round_)
