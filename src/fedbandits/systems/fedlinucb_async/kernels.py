"""Compiled functions on arrays of an agent of asynchronous FedLinUCB.

An agent acts on Σ and b, its last download with λI, until its next exchange; meanwhile its own
records only bring that exchange nearer. The simulation's loop and the parties call these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.kernels.worlds import Handle
from fedbandits.learners.kernels.ridge import (
    add_rank_one,
    add_to,
    any_fault,
    fill,
    put_square,
)
from fedbandits.random import Key
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.exact_sums import take_over
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.rounds import Scratch, note_fault, play_rounds
from fedbandits.systems.agents.kernels.views import (
    Views,
    begin_view,
    one_view,
)
from fedbandits.systems.kernels import Clock, Tally


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents, 2): the fault that stopped an agent, and its round
    tally: Tally  # of every agent
    statistic: Floats  # (agents, models, d (d + 3) / 2): own records since the last exchange
    residuals: Floats  # (agents, models, 4): of no use here
    draws: Floats  # (agents, 0, models · d (d + 3) / 2): there is no noise
    views: Views  # one an agent
    visits: Ints  # (agents, 0): persons are not protected
    uncounted: Floats  # (agents, models, 0): all records count
    total: Floats  # (models, d (d + 3) / 2): the server's sum of all uploads
    terms: Floats  # (agents, models, 4): of the pool that an agent's view comes from


@compiled
def with_record(
    inverses: Floats, log_dets: Floats, terms: Floats, m: int, context: Floats, threshold: float
) -> tuple[Floats, Floats, bool]:
    """Return how near a record brings the next exchange; nothing given is changed.

    Parameters
    ----------
    inverses, log_dets : (models, d, d) and (models,) float64
        The inverse of Σ + Σ_local, and its log determinant.
    terms : (models, 4) float64
        Terms of the pool that Σ comes from.
    m, context
        The record.

    Returns
    -------
    inverse : (1, d, d) float64
        That of model ``m`` with the record.
    log_dets : (models,) float64
        All of them with it.
    due : bool
        See :func:`exchange_due`.
    """
    inverse, grown = inverses[m : m + 1].copy(), log_dets.copy()
    grown[m] += add_rank_one(inverse, 0, context, np.empty(context.size))
    return inverse, grown, exchange_due(threshold, terms, grown)


@allocation_free
def exchange_due(threshold: float, terms: Floats, grown_log_det: Floats) -> bool:
    """Tell whether det(Σ + Σ_local) > (1 + α) det Σ (He et al. 2022, Algorithm 1, line 8).

    Parameters
    ----------
    terms : (models, 4) float64
        Terms of the pool that Σ comes from.
    grown_log_det : (models,) float64
        The log determinant ln det(Σ + Σ_local).
    """
    growth = 0.0
    for m in range(grown_log_det.size):
        growth += grown_log_det[m] - terms[m, 3]
    return growth > threshold


@compiled
def begin(constants: Constants, state: State, pool: Pool) -> None:
    """Set up the views of all agents before the first round."""
    for agent in range(constants.agents):
        view = one_view(state.views, agent)
        begin_view(constants, constants.base, constants.log_term, pool, view)
        put_square(pool.terms, state.terms, agent)


@allocation_free
def _exchange(
    constants: Constants, state: State, pool: Pool, view: Views, agent: int, round_: int
) -> None:
    """Upload one agent's records since its last exchange, and download the total."""
    local = state.statistic[agent]
    for m in range(constants.models):
        add_to(state.total[m], local[m])
        fill(local[m], 0.0)
    fault = take_over(constants, state.total, pool, view)
    put_square(pool.terms, state.terms, agent)
    state.clock.syncs[0] += 1
    note_fault(state.faults, agent, fault, round_)


@compiled
def run_until(
    world: Handle, constants: Constants, state: State, scratch: Scratch, pool: Pool, key: Key,
    stop: int,
) -> None:  # fmt: skip
    """Play on until ``stop`` rounds are done or a fault is noted.

    Parameters
    ----------
    pool : Pool
        A buffer; nothing in it outlives an exchange.
    """
    while state.clock.round_[0] < stop and not any_fault(state.faults):
        round_ = state.clock.round_[0] + 1
        for agent in range(constants.agents):
            view, terms = one_view(state.views, agent), state.terms[agent]
            play_rounds(
                world, constants, constants.log_term, terms, view, state.statistic[agent],
                state.residuals[agent], state.visits[agent], state.uncounted[agent], state.tally,
                state.faults, scratch, key, agent, round_, round_, 1,
            )  # fmt: skip
            if exchange_due(constants.threshold, terms, view.trigger_log_det):
                _exchange(constants, state, pool, view, agent, round_)
        if not any_fault(state.faults):
            state.clock.round_[0] = round_
