"""Rounds, releases and pools of peers, and the messages that it takes, compiled.

A message that is sent at the end of a round is there before the next one begins. So what h hops
separate is h - 1 rounds late, and the end of a round is the only time at which agents meet.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats
from fedbandits.environments.kernels.worlds import Handle, first_turn
from fedbandits.learners.kernels.ridge import add_to, fill, log_determinant, unpack
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants
from fedbandits.systems.agents.kernels.own_views import take_over
from fedbandits.systems.agents.kernels.pools import Basis, Pool, noise_variance, pool_release
from fedbandits.systems.agents.kernels.rounds import (
    Scratch,
    note_fault,
    play_rounds,
    simulate_release,
)
from fedbandits.systems.agents.kernels.views import begin_view, one_view
from fedbandits.systems.feducb_p2p.kernels.state import (
    NOT_POOLED,
    Peers,
    Releases,
    State,
    one_pool,
)


@compiled
def begin(constants: Constants, peers: Peers, state: State) -> None:
    """Set up pools and views before the first round."""
    for cell in range(state.heard.size):
        agent = cell // peers.estimators
        pool, view = one_pool(state.pools, cell), one_view(state.views, cell)
        begin_view(constants, peers.base[agent], peers.log_term[agent], pool, view)


@inlined
def play_cell(
    world: Handle, constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key,
    cell: int, first: int, end: int,
) -> None:  # fmt: skip
    """Play ``first`` and all rounds to ``end`` in which one agent uses the same estimator."""
    agent = cell // peers.estimators
    play_rounds(
        world, constants, peers.log_term[agent], state.pools.terms[cell],
        one_view(state.views, cell), state.statistic[cell], state.residuals[cell],
        state.visits[agent], state.uncounted[cell], state.tally, state.faults, scratch, key, agent,
        first, end, peers.estimators,
    )  # fmt: skip
    began = first_turn(world.joins, agent, first, peers.estimators)
    state.waited[cell] += max(0, (end - began) // peers.estimators + 1)


@compiled
def newest(releases: Releases, cell: int, round_: int) -> int:
    """Return the number of a cell's newest release by the end of ``round_``; 0 if none."""
    k, depth = releases.made[cell], releases.round_.shape[1]
    while k > 0 and releases.round_[cell, (k - 1) % depth] > round_:
        k -= 1
    return int(k)


@compiled
def refresh(
    constants: Constants, peers: Peers, state: State, scratch: Scratch, cell: int, round_: int
) -> None:
    """Pool the releases that a cell has heard by the end of ``round_``.

    Releases are cumulative, so the newest one of a peer replaces those before. They are added in
    the order of agents. Numbers only grow, so an unchanged sum of them means nothing new.
    """
    state.looked[cell] = round_
    agent, estimator = cell // peers.estimators, cell % peers.estimators
    releases, depth = state.releases, state.releases.round_.shape[1]
    heard = 0
    for other in range(constants.agents):
        lag = peers.lag[agent, other]
        if lag != NOT_POOLED:
            heard += newest(releases, other * peers.estimators + estimator, round_ - lag)
    if heard == state.heard[cell]:
        return
    state.heard[cell] = heard
    released = scratch.released
    fill(released, 0.0)
    count, variance = 0, 0.0
    for other in range(constants.agents):
        lag = peers.lag[agent, other]
        if lag == NOT_POOLED:
            continue
        source = other * peers.estimators + estimator
        k = newest(releases, source, round_ - lag)
        if k > 0:
            add_to(released, releases.value[source, (k - 1) % depth])
            variance += releases.variance[source, (k - 1) % depth]
            count += 1
    pool = one_pool(state.pools, cell)
    fault = pool_heard(
        constants, peers, agent, count, variance, released.reshape(constants.models, -1),
        _fresh(constants, state, cell), pool,
    )  # fmt: skip
    note_fault(state.faults, agent, fault, round_)
    if fault == NO_FAULT:
        own, others, variance = state.statistic[cell], state.statistic[cell], 0.0
        if constants.own_view:
            others, variance = _others(constants, peers, state, cell, round_)
            if state.uncounted.size > 0:
                own = own + state.uncounted[cell]
        fault = take_over(
            constants, peers.log_term[agent], pool, state.uncounted[cell], own,
            state.residuals[cell], others, math.sqrt(variance), one_view(state.views, cell),
        )  # fmt: skip
        note_fault(state.faults, agent, fault, round_)


@compiled
def _fresh(constants: Constants, state: State, cell: int) -> Floats:
    """Return own records since the last own release."""
    fresh: Floats = state.statistic[cell][:0]
    if constants.raw_view:
        fresh = state.statistic[cell] - state.at_release[cell]
    return fresh


@compiled
def refresh_all(constants: Constants, peers: Peers, state: State, scratch: Scratch) -> None:
    """Bring every cell up to date, as it would be before the next round."""
    for cell in range(state.heard.size):
        refresh(constants, peers, state, scratch, cell, state.clock.round_[0])


@compiled
def release(
    constants: Constants, peers: Peers, state: State, scratch: Scratch, key: Key, cell: int,
    round_: int,
) -> None:  # fmt: skip
    """Release a cell's running sum at the end of ``round_``, and send it to the neighbours."""
    releases = state.releases
    k = releases.made[cell] + 1
    if k > constants.releases:
        return
    agent, estimator = cell // peers.estimators, cell % peers.estimators
    name = (k - 1) * peers.estimators + estimator + 1  # k, if there is one estimator
    slot = (k - 1) % releases.round_.shape[1]
    simulate_release(
        constants, state.statistic[cell], state.draws[cell], k, key, agent, name, scratch.noisy
    )
    releases.made[cell] = k
    releases.round_[cell, slot] = round_
    releases.variance[cell, slot] = noise_variance(constants, agent, k)
    for i in range(scratch.noisy.size):
        releases.value[cell, slot, i] = scratch.noisy[i]
    state.waited[cell] = 0
    if constants.raw_view:
        for m in range(constants.models):
            for i in range(state.statistic.shape[2]):
                state.at_release[cell, m, i] = state.statistic[cell, m, i]
    for other in range(constants.agents):
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
        state.scheduled[0, slot] = state.scheduled[1, slot] = 0


@compiled
def pool_heard(
    constants: Constants, peers: Peers, agent: int, count: int, variance: float, released: Floats,
    fresh: Floats, pool: Pool,
) -> int:  # fmt: skip
    """Turn the newest releases that an agent has heard into estimates and their radius.

    Parameters
    ----------
    count : int
        How many agents' releases there are, its own included.
    variance : float
        The variances of their noise, added up.
    released : (models, d (d + 3) / 2) float64
        Their sum; receives ``fresh`` too.
    fresh : (models or 0, d (d + 3) / 2) float64
        With a raw view, own records since the last own release: they are in no release yet.
    pool : Pool
        Receives the estimates and the terms of the radius.

    Returns
    -------
    int
        ``NO_FAULT``, or why there is no result.
    """
    base = peers.base[agent]
    # As published: 2Λ for each one heard, ρ_min for each one that is not.
    shift = base + count * (constants.shift - base) / constants.agents
    basis = Basis(base, peers.log_term[agent], shift, math.sqrt(variance))
    for m in range(fresh.shape[0]):
        add_to(released[m], fresh[m])
    fault = pool_release(constants, basis, released, pool)
    if constants.schedule == TRIGGERED:
        _note_synced(constants, base, fresh, pool)
    return fault


@compiled
def _note_synced(constants: Constants, base: float, fresh: Floats, pool: Pool) -> None:
    """Note ln det S, with which the trigger compares; S = V without fresh records.

    S ⪰ base · I up to noise; eigenvalues below are held there, where a logarithm would fail.
    """
    gram, moment = (
        np.empty((constants.dimension, constants.dimension)),
        np.empty(constants.dimension),
    )
    for m in range(constants.models):
        unpack(fresh[m], gram, moment)
        values = np.linalg.eigvalsh(pool.gram[m] - gram)
        pool.terms[m, 3] = log_determinant(np.maximum(values, base), 0.0)


@compiled
def _others(
    constants: Constants, peers: Peers, state: State, cell: int, round_: int
) -> tuple[Floats, float]:
    """Add up the newest releases of others that a cell has heard; return its variance too."""
    releases, depth = state.releases, state.releases.round_.shape[1]
    others, variance = np.zeros(constants.entry_scale.size), 0.0
    agent, estimator = cell // peers.estimators, cell % peers.estimators
    for other in range(constants.agents):
        lag = peers.lag[agent, other]
        if lag == NOT_POOLED or other == agent:
            continue
        source = other * peers.estimators + estimator
        k = newest(releases, source, round_ - lag)
        if k > 0:
            add_to(others, releases.value[source, (k - 1) % depth])
            variance += releases.variance[source, (k - 1) % depth]
    return others.reshape((constants.models, -1)), variance
