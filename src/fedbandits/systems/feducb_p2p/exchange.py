"""What agents release, hear and pool, and the messages that it takes, as compiled functions.

A message that is sent at the end of a round is there before the next one begins. So what h hops
separate is h - 1 rounds late, and the end of a round is the only time at which agents meet.
"""

from __future__ import annotations

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.feducb.agent import (
    initial_pool,
    load_view,
    noise_variance,
    one_view,
)
from fedbandits.systems.feducb.play import Scratch, simulate_release
from fedbandits.systems.feducb.rules import Rules
from fedbandits.systems.feducb_p2p.peer import pool_heard
from fedbandits.systems.feducb_p2p.rules import NOT_POOLED, Peers
from fedbandits.systems.feducb_p2p.state import Releases, State, one_pool


@compiled
def begin(rules: Rules, peers: Peers, state: State) -> None:
    """Set up what every agent knows before the first round."""
    for cell in range(state.heard.size):
        agent = cell // peers.estimators
        pool = one_pool(state.pools, cell)
        initial_pool(rules, peers.base[agent], pool)
        load_view(rules, peers.log_term[agent], pool, one_view(state.views, cell))


@compiled
def newest(releases: Releases, cell: int, round_: int) -> int:
    """Number of a cell's newest release that was made by the end of ``round_``; 0 if none."""
    k, depth = releases.made[cell], releases.round_.shape[1]
    while k > 0 and releases.round_[cell, (k - 1) % depth] > round_:
        k -= 1
    return int(k)


@compiled
def refresh(
    rules: Rules, peers: Peers, state: State, scratch: Scratch, cell: int, round_: int
) -> None:
    """Pool what a cell has heard by the end of ``round_``, if there is anything new.

    Releases are cumulative, so the newest one of a peer replaces those before. They are added in
    the order of agents. Numbers only grow, so an unchanged sum of them means nothing new.
    """
    state.looked[cell] = round_
    agent, estimator = cell // peers.estimators, cell % peers.estimators
    releases, depth = state.releases, state.releases.round_.shape[1]
    heard = 0
    for other in range(rules.agents):
        lag = peers.lag[agent, other]
        if lag != NOT_POOLED:
            heard += newest(releases, other * peers.estimators + estimator, round_ - lag)
    if heard == state.heard[cell]:
        return
    state.heard[cell] = heard
    released = scratch.released
    released[:] = 0.0
    count, variance = 0, 0.0
    for other in range(rules.agents):
        lag = peers.lag[agent, other]
        if lag == NOT_POOLED:
            continue
        source = other * peers.estimators + estimator
        k = newest(releases, source, round_ - lag)
        if k > 0:
            released += releases.value[source, (k - 1) % depth]
            variance += releases.variance[source, (k - 1) % depth]
            count += 1
    pool = one_pool(state.pools, cell)
    fault = pool_heard(
        rules,
        peers,
        agent,
        count,
        variance,
        released.reshape(rules.models, -1),
        _fresh(rules, state, cell),
        pool,
    )
    if fault != NO_FAULT:
        state.faults[agent, 0], state.faults[agent, 1] = fault, round_
        return
    load_view(rules, peers.log_term[agent], pool, one_view(state.views, cell))


@compiled
def _fresh(rules: Rules, state: State, cell: int) -> Floats:
    """Own records since the last own release."""
    fresh: Floats = state.statistic[cell][:0]
    if rules.raw_view:
        fresh = state.statistic[cell] - state.settled[cell]
    return fresh


@compiled
def refresh_all(rules: Rules, peers: Peers, state: State, scratch: Scratch) -> None:
    """Bring every cell up to date, as it would be before the next round."""
    for cell in range(state.heard.size):
        refresh(rules, peers, state, scratch, cell, state.clock.round_[0])


@compiled
def release(
    rules: Rules,
    peers: Peers,
    state: State,
    scratch: Scratch,
    key: Key,
    cell: int,
    round_: int,
) -> None:
    """Release a cell's running sum at the end of ``round_``, and send it to the neighbours."""
    releases = state.releases
    k = releases.made[cell] + 1
    if k > rules.releases:
        return
    agent, estimator = cell // peers.estimators, cell % peers.estimators
    name = (k - 1) * peers.estimators + estimator + 1  # k, if there is one estimator
    slot = (k - 1) % releases.round_.shape[1]
    simulate_release(
        rules, state.statistic[cell], state.draws[cell], k, key, agent, name, scratch.noisy
    )
    releases.made[cell] = k
    releases.round_[cell, slot] = round_
    releases.variance[cell, slot] = noise_variance(rules, agent, k)
    releases.value[cell, slot] = scratch.noisy
    state.waited[cell] = 0
    if rules.raw_view:
        state.settled[cell] = state.statistic[cell]
    for other in range(rules.agents):
        lag = peers.lag[other, agent]
        if lag != NOT_POOLED:
            waiting = other * peers.estimators + estimator
            state.awaited[waiting] = max(state.awaited[waiting], round_ + lag)
    flood(peers, state, agent, round_, 1)


@compiled
def flood(peers: Peers, state: State, agent: int, round_: int, carrying: int) -> None:
    """Count a message to the neighbours, and schedule those by which it will be passed on."""
    hops = peers.floods.shape[1]
    for hop in range(hops):
        count = peers.floods[agent, hop]
        state.scheduled[0, (round_ + hop) % hops] += count
        state.scheduled[1, (round_ + hop) % hops] += count * carrying


@compiled
def send(state: State, start: int, end: int) -> None:
    """Count the messages that are sent in rounds start + 1 … end."""
    hops = state.scheduled.shape[1]
    for round_ in range(start + 1, min(end, start + hops) + 1):
        slot = round_ % hops
        state.clock.messages[0] += state.scheduled[0, slot]
        state.clock.carrying[0] += state.scheduled[1, slot]
        state.scheduled[:, slot] = 0
