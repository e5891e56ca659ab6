"""What an agent of asynchronous FedLinUCB computes, as compiled functions on arrays.

An agent acts on Σ and b, what it last downloaded with λI, until its next exchange; meanwhile its
own records only bring that exchange nearer. The simulation's loop and the parties call these.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.learners.ridge import add_rank_one, invert_statistic
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.systems.agents.plan import Constants
from fedbandits.systems.agents.views import Basis, Pool, Views, load_view, pool_release


@compiled
def take_over(constants: Constants, total: Floats, pool: Pool, view: Views) -> int:
    """Act from now on by what the server has added up.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
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
    basis = Basis(constants.base, constants.log_term, constants.shift, 0.0)
    fault = pool_release(constants, basis, total, pool)
    if fault == NO_FAULT:
        load_view(constants, constants.log_term, pool, view)
    return int(fault)


@compiled
def with_record(
    inverses: Floats, log_dets: Floats, terms: Floats, m: int, context: Floats, threshold: float
) -> tuple[Floats, Floats, bool]:
    """How near a record brings the next exchange; nothing given is changed.

    Parameters
    ----------
    inverses, log_dets : (models, d, d) and (models,) float64
        The inverse of Σ + Σ_local, and its log determinant.
    terms : (models, 4) float64
        Terms of the pool that Σ comes from.
    m, context
        The record.
    threshold : float
        The threshold ln(1 + α).

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
    """Own records that came while an answer was waited for bring the next exchange nearer.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
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


@compiled
def exchange_due(threshold: float, terms: Floats, grown_log_det: Floats) -> bool:
    """Whether det(Σ + Σ_local) > (1 + α) det Σ (He et al. 2022, Algorithm 1, line 8).

    Parameters
    ----------
    threshold : float
        The threshold ln(1 + α).
    terms : (models, 4) float64
        Terms of the pool that Σ comes from.
    grown_log_det : (models,) float64
        The log determinant ln det(Σ + Σ_local).
    """
    growth = 0.0
    for m in range(grown_log_det.size):
        growth += grown_log_det[m] - terms[m, 3]
    return growth > threshold
