"""The loop over rounds, where the rounds of release are fixed in advance.

Between two releases agents do not touch one another, so the loop runs agent by agent through a
whole batch; each pools by itself what arrives meanwhile.
"""

from __future__ import annotations

from fedbandits._compile import compiled, inlined
from fedbandits.environments.kernels.worlds import Handle
from fedbandits.learners.kernels.ridge import any_fault
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.rounds import Scratch
from fedbandits.systems.agents.kernels.sync import next_sync
from fedbandits.systems.feducb_p2p.kernels.releases import play_cell, refresh, release, send
from fedbandits.systems.feducb_p2p.kernels.state import Peers, State, next_arrival


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
