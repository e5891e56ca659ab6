"""FedUCB with a controller, as one compiled loop over agents and rounds.

Between two syncs agents do not touch one another, so the loop runs agent by agent through a whole
batch. With a data-dependent trigger a batch is as long as the trigger certainly cannot fire.

A function with one caller is pasted into it: compiled apart, it would be optimised twice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats, Ints
from fedbandits.environments.kernels.worlds import Handle
from fedbandits.learners.kernels.released_sum import find_directions
from fedbandits.learners.kernels.ridge import add_to, any_fault, fill
from fedbandits.privacy.kernels import NO_FAULT, add_share
from fedbandits.random import Key
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants
from fedbandits.systems.agents.kernels.own_views import load_view_along
from fedbandits.systems.agents.kernels.pools import (
    Pool,
    basis_of_all,
    initial_pool,
    noise_variance,
    pool_release,
)
from fedbandits.systems.agents.kernels.rounds import (
    Scratch,
    note_fault,
    play_rounds,
    simulate_release,
)
from fedbandits.systems.agents.kernels.sync import next_sync, rounds_without_sync, sync_due
from fedbandits.systems.agents.kernels.views import (
    Views,
    add_uncounted,
    load_view,
    one_view,
)
from fedbandits.systems.kernels import Clock, Tally

#: Number of matrices that are factored together.
_MATRICES = 64


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents, 2): the fault that stopped an agent, and its round
    tally: Tally  # of every agent
    statistic: Floats  # (agents, models, d (d + 3) / 2): own records so far
    residuals: Floats  # (agents, models, 4): see agents.kernels.own_views.take_up_own
    draws: Floats  # (agents, slots, models · d (d + 3) / 2): noise draws in use
    pool: Pool
    views: Views  # one that all agents share, or a raw one of each
    visits: Ints  # (agents, persons): how many visits of each person count
    uncounted: Floats  # (agents, models, d (d + 3) / 2 or 0): records that count for no release
    newest: Floats  # (agents or 0, models · d (d + 3) / 2): last releases, to leave out own ones
    total: Ints  # (models · d (d + 3) / 2 or 0,): a secure sum in whole steps


@inlined
def _play(
    world: Handle, constants: Constants, state: State, scratch: Scratch, key: Key, agent: int,
    start: int, end: int,
) -> None:  # fmt: skip
    """Play rounds start + 1 … end of one agent, with its own view or the one that all share."""
    view = agent if constants.raw_view or constants.own_view else 0
    play_rounds(
        world, constants, constants.log_term, state.pool.terms, one_view(state.views, view),
        state.statistic[agent], state.residuals[agent], state.visits[agent], state.uncounted[agent],
        state.tally, state.faults, scratch, key, agent, start + 1, end, 1,
    )  # fmt: skip


@inlined
def _sync(constants: Constants, state: State, scratch: Scratch, key: Key) -> None:
    """Let all agents release, the controller sum, and all agents take over the sum."""
    clock = state.clock
    k = clock.syncs[0] + 1
    released, noisy = scratch.released, scratch.noisy
    fill(released, 0.0)
    for i in range(state.total.size):
        state.total[i] = 0
    for agent in range(constants.agents):
        simulate_release(
            constants, state.statistic[agent], state.draws[agent], k, key, agent, k, noisy
        )
        if constants.step > 0.0:
            add_share(noisy, state.total)
        else:
            add_to(released, noisy)
        if state.newest.shape[0] > 0:
            for i in range(noisy.size):
                state.newest[agent, i] = noisy[i]
    for i in range(state.total.size):
        released[i] = constants.step * state.total[i]
    total = released.reshape(constants.models, -1)
    fault = pool_release(constants, basis_of_all(constants, k), total, state.pool)
    note_fault(state.faults, 0, fault, clock.round_[0])
    if fault != NO_FAULT:
        return
    clock.syncs[0] = k
    clock.waited[0] = 0
    clock.messages[0] += 2 * constants.agents
    if constants.own_view:
        fault = load_own_views(constants, state, released)
        note_fault(state.faults, 0, fault, clock.round_[0])
    else:
        _load_views(constants, state)


@compiled
def load_own_views(constants: Constants, state: State, released: Floats) -> int:
    """Set every agent's view to its own records and others' releases; return the last fault.

    Directions are found for a few agents at a time, which is several times faster.
    """
    d, models, found = constants.dimension, constants.models, NO_FAULT
    variance = basis_of_all(constants, state.clock.syncs[0]).deviation ** 2
    together = max(1, _MATRICES // models)
    others = np.zeros((together * models, released.size // models))
    values, directions = np.empty((len(others), d)), np.empty((len(others), d, d))
    noises = np.empty(together)
    for first in range(0, constants.agents, together):
        last = min(first + together, constants.agents)
        for agent in range(first, last):
            place = (agent - first) * models
            noises[agent - first] = _others(
                constants, state, agent, released, variance, others[place : place + models]
            )
        count = (last - first) * models
        find_directions(others[:count], values[:count], directions[:count])
        for agent in range(first, last):
            place = (agent - first) * models
            own = state.statistic[agent]
            if state.uncounted.size > 0:
                own = own + state.uncounted[agent]
            fault = load_view_along(
                constants, own, state.residuals[agent], others[place : place + models],
                values[place : place + models], directions[place : place + models],
                math.sqrt(max(noises[agent - first], 0.0)), one_view(state.views, agent),
            )  # fmt: skip
            if fault != NO_FAULT:
                found = fault
    return found


@compiled
def _others(
    constants: Constants, state: State, agent: int, released: Floats, variance: float,
    others: Floats,
) -> float:  # fmt: skip
    """Write the sum of others' releases, (models, size / models); return its noise's variance.

    Own noise stays in a secure sum: only own records are taken out. ``released`` (size,) is the
    sum, and ``variance`` that of its noise.
    """
    size, left_out = others.shape[1], state.newest.shape[0] > 0
    for m in range(others.shape[0]):
        for i in range(size):
            own = state.newest[agent, m * size + i] if left_out else state.statistic[agent, m, i]
            others[m, i] = released[m * size + i] - own
    if left_out:
        return variance - noise_variance(constants, agent, state.clock.syncs[0])
    return variance


@inlined
def _load_views(constants: Constants, state: State) -> None:
    """Set every view by the pool."""
    for v in range(state.views.theta.shape[0]):
        view = one_view(state.views, v)
        load_view(constants, constants.log_term, state.pool, view)
        add_uncounted(constants, constants.log_term, state.pool, state.uncounted[v], view)


@inlined
def _begin(constants: Constants, state: State) -> None:
    """Set up pool and views before the first round."""
    initial_pool(constants, constants.base, state.pool)
    _load_views(constants, state)


@inlined
def batch_end(constants: Constants, state: State, stop: int) -> int:
    """Return the round up to which agents can play without a sync: the next one, or ``stop``."""
    start = state.clock.round_[0]
    if constants.schedule == TRIGGERED:
        return int(
            min(start + rounds_without_sync(constants, state.pool, state.clock.waited[0]), stop)
        )
    return int(min(next_sync(constants, start), stop))


@inlined
def end_batch(
    world: Handle, constants: Constants, state: State, scratch: Scratch, key: Key, end: int
) -> None:
    """End a batch that all agents have played up to ``end``: move the clock, and sync if due."""
    clock = state.clock
    start = clock.round_[0]
    if any_fault(state.faults):
        return
    clock.round_[0] = end
    clock.waited[0] += end - start
    if clock.syncs[0] >= constants.releases:
        return
    due = end == next_sync(constants, start)
    if constants.schedule == TRIGGERED:
        requests = 0
        for v in range(state.views.theta.shape[0]):
            grown = state.views.trigger_log_det[v]
            # An agent has waited since the last sync, or since it joined, if that was later.
            waited = min(clock.waited[0], end - world.joins[v] + 1)
            asks = waited > 0 and sync_due(constants.threshold, state.pool.terms, grown, waited)
            requests += 1 if asks else 0
        due = requests > 0
        if due:  # the requests, and the call to sync
            clock.messages[0] += requests + constants.agents
    if due:  # one place: it is pasted in
        _sync(constants, state, scratch, key)


@compiled
def run_until(
    world: Handle, constants: Constants, state: State, scratch: Scratch, key: Key, first: int,
    last: int, stop: int, shared: bool,
) -> None:  # fmt: skip
    """Let agents first … last - 1 play on until ``stop`` rounds are done.

    To play until round 0 sets up the state before the first round. It ends before if a fault
    is noted. Where others play at the same time (``shared``), it ends after one batch, and leaves
    the end of the batch to a call without agents.
    """
    if stop == 0:
        _begin(constants, state)
    while state.clock.round_[0] < stop and not any_fault(state.faults):
        start = state.clock.round_[0]
        end = batch_end(constants, state, stop)
        for agent in range(first, last):
            _play(world, constants, state, scratch, key, agent, start, end)
        if shared:
            break
        end_batch(world, constants, state, scratch, key, end)
