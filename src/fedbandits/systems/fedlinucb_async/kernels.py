"""Compiled functions on arrays of an agent of asynchronous FedLinUCB.

An agent acts on Σ and b, what it last downloaded with λI, until its next exchange; meanwhile its
own records only bring that exchange nearer. The simulation's loop and the parties call these.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.kernels.worlds import Handle
from fedbandits.learners.kernels.ridge import (
    add_rank_one,
    add_to,
    any_fault,
    apply_symmetric,
    copy_square,
    fill,
    invert_statistic,
    put_square,
    unpack,
)
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.pools import NOT_POSITIVE, Pool
from fedbandits.systems.agents.kernels.rounds import Scratch, note_fault, play_rounds
from fedbandits.systems.agents.kernels.views import (
    Views,
    begin_view,
    explored_variance,
    one_view,
    refresh_view,
    view_radius,
)
from fedbandits.systems.kernels import Tally


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # rounds played
    exchanges: Ints  # an upload and a download each


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents, 2): what stopped an agent, and the round
    tally: Tally  # of every agent
    total: Floats  # (models, d (d + 3) / 2): what the server has added up
    local: Floats  # (agents, models, d (d + 3) / 2): own records since the last exchange
    terms: Floats  # (agents, models, 4): of the pool that an agent's view comes from
    views: Views  # one an agent
    visits: Ints  # (0,): persons are not protected


@allocation_free
def take_over(constants: Constants, total: Floats, pool: Pool, view: Views) -> int:
    """Act from now on by what the server has added up.

    Parameters
    ----------
    total : (models, d (d + 3) / 2) float64
        The sum of what agents have uploaded to the server.
    pool : Pool
        Receives the estimates and what the radius is made of.
    view : Views
        The agent's view; left as it is if there is a fault.

    Returns
    -------
    int
        ``NO_FAULT``, or why ``total`` cannot be a sum of records.
    """
    fault = NO_FAULT
    for m in range(constants.models):
        gram, terms = pool.gram[m], pool.terms[m]
        log_det = _invert_sum(total[m], constants.base, gram, pool.inverse[m], pool.moment[m])
        if math.isnan(log_det):
            fault = NOT_POSITIVE
        terms[0], terms[1], terms[3] = 1.0, log_det, log_det
        terms[2] = constants.published_bias
        radius_is_proved = not (constants.published_confidence or constants.deviations)
        if radius_is_proved and fault == NO_FAULT:
            terms[2] = _ridge_bias(gram, constants.base, constants.parameter_bound)
    if fault == NO_FAULT:
        for m in range(constants.models):
            copy_square(pool.inverse, m, pool.trigger_inverse)
            copy_square(pool.inverse, m, view.inverse)
            copy_square(pool.inverse, m, view.trigger_inverse)
            apply_symmetric(pool.inverse, m, pool.moment[m], view.estimate[m])
            log_det = pool.terms[m, 1]
            pool.trigger_log_det[m] = log_det
            view.log_det[m], view.trigger_log_det[m] = log_det, log_det
            scale, noise = constants.exploration_scale, constants.reward_noise
            if constants.deviations:
                refresh_view(view, m, math.sqrt(explored_variance(scale, noise**2)))
            else:
                beta = view_radius(pool.terms, view.log_det, m, noise, constants.log_term)
                refresh_view(view, m, scale * beta)
    return fault


@allocation_free
def _invert_sum(
    statistic: Floats, ridge: float, gram: Floats, inverse: Floats, moment: Floats
) -> float:
    """Compute Σ = λI + G, its inverse and the moment, of one model's sum.

    Nothing is noise here, so no eigenvalue is needed. They would cost ten times as much, and an
    exchange may come after every step.

    Returns
    -------
    float
        ln det Σ, or NaN if Σ is not positive definite.
    """
    log_det = invert_statistic(statistic, ridge, gram, inverse, moment)
    unpack(statistic, gram, moment)
    for i in range(moment.size):
        gram[i, i] += ridge
    return log_det


@compiled
def _ridge_bias(gram: Floats, ridge: float, parameter_bound: float) -> float:
    """Return λS/√λ_min(Σ): how far the ridge can keep an estimate from θ*, in the norm of Σ."""
    return parameter_bound * ridge / math.sqrt(np.linalg.eigvalsh(gram)[0])


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


@compiled
def count_for_trigger(constants: Constants, sums: Floats, view: Views) -> None:
    """Count own records that came during a wait for an answer: an exchange comes nearer.

    Parameters
    ----------
    sums : (models, d (d + 3) / 2) float64
        What the server has added up, and these records.
    view : Views
        The agent's view, after :func:`take_over`.
    """
    d, shift = constants.dimension, constants.base + constants.trigger_shift
    factor, inverse, theta = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    for m in range(constants.models):
        log_det = invert_statistic(sums[m], shift, factor, inverse, theta)
        if not math.isnan(log_det):  # but for rounding there is one
            view.trigger_log_det[m] = log_det
            view.trigger_inverse[m] = inverse


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
    """Set up what every agent knows before the first round."""
    for agent in range(constants.agents):
        view = one_view(state.views, agent)
        begin_view(constants, constants.base, constants.log_term, pool, view)
        put_square(pool.terms, state.terms, agent)


@allocation_free
def _exchange(
    constants: Constants, state: State, pool: Pool, view: Views, agent: int, round_: int
) -> None:
    """Upload what one agent has learned since its last exchange, and download the total."""
    local = state.local[agent]
    for m in range(constants.models):
        add_to(state.total[m], local[m])
        fill(local[m], 0.0)
    fault = take_over(constants, state.total, pool, view)
    put_square(pool.terms, state.terms, agent)
    state.clock.exchanges[0] += 1
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
                world,
                constants,
                constants.log_term,
                terms,
                view,
                state.local[agent],
                scratch.residuals,  # nobody asks for them
                state.visits,  # nobody comes twice
                state.local[agent],
                state.tally,
                state.faults,
                scratch,
                key,
                agent,
                round_,
                round_,
                1,
            )
            if exchange_due(constants.threshold, terms, view.trigger_log_det):
                _exchange(constants, state, pool, view, agent, round_)
        if not any_fault(state.faults):
            state.clock.round_[0] = round_
