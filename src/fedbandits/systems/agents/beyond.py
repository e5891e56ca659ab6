"""Own records that count for no release: an agent that acts on raw records learns from them too.

They are in no pooled sum, so they are added again whenever a view is made from one. For the radius
they are like any other own record: the pool's terms hold for every larger Gram matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._compile import compiled, implements, implements_others
from fedbandits._typing import Floats
from fedbandits.learners.assign import is_zero
from fedbandits.learners.ridge import apply_symmetric, invert_spectrum, log_determinant, unpack
from fedbandits.systems.agents.persons import Persons
from fedbandits.systems.agents.plan import Constants
from fedbandits.systems.agents.views import Pool, Views, refresh_view, view_radius


@compiled
def add_beyond(
    constants: Constants, log_term: float, pool: Pool, beyond: Floats, view: Views
) -> None:
    """Add own records to a view that has just been made from a pool.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
    log_term : float
        What the radius has beside the determinant.
    pool : Pool
        What the view was made from.
    beyond : (models, d (d + 3) / 2) float64
        Packed statistics of the records; nothing where records are protected.
    view : Views
        The agent's own. What serves the trigger stays: these records make no release due.
    """
    if beyond.size == 0:
        return
    dimension = constants.dimension
    gram, moment = np.empty((dimension, dimension)), np.empty(dimension)
    for m in range(constants.models):
        if is_zero(beyond[m]):
            continue
        unpack(beyond[m], gram, moment)
        before = np.linalg.eigvalsh(pool.gram[m])
        for i in range(dimension):
            moment[i] += pool.moment[m, i]
            for j in range(dimension):
                gram[i, j] += pool.gram[m, i, j]
        values, vectors = np.linalg.eigh(gram)
        invert_spectrum(values, vectors, view.inverse[m])
        apply_symmetric(view.inverse, m, moment, view.estimate[m])
        view.log_det[m] += log_determinant(values, 0.0) - log_determinant(before, 0.0)
        beta = view_radius(pool.terms, view.log_det, m, constants.reward_noise, log_term)
        refresh_view(view, m, constants.exploration_scale * beta)


def take_up_beyond(
    persons: Persons | None, constants: Constants, log_term: float, pool: Pool, view: Views
) -> None:
    """:func:`add_beyond` in a loop over rounds; where records are protected, nothing happens.

    Parameters
    ----------
    persons : Persons or None
        What is kept for the agent.
    constants, log_term, pool, view
        See :func:`add_beyond`.
    """
    raise NotImplementedError(f"compiled code alone asks what {type(persons).__name__} has beyond")


@implements(take_up_beyond, Persons)
def _take_up(persons: Any, constants: Any, log_term: Any, pool: Any, view: Any) -> Any:
    add_beyond(constants, log_term, pool, persons.beyond, view)


@implements_others(take_up_beyond)
def _take_nothing(persons: Any, constants: Any, log_term: Any, pool: Any, view: Any) -> Any:
    return None
