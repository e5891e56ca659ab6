"""An agent's records at a release, and its estimates from a sum of some agents' releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.own_views import load_own_view
from fedbandits.systems.agents.kernels.pools import (
    Basis,
    Pool,
    basis_of_all,
    empty_pool,
    noise_variance,
    pool_release,
)
from fedbandits.systems.agents.kernels.views import Views, empty_view


class Released(NamedTuple):
    """An agent's records when it released: what came later is in no sum yet."""

    records: int  # that counted
    statistic: Floats
    noisy: Floats  # what left; nothing where nobody takes it out of a sum


def no_release() -> Floats:
    """Return what stands for an own release that is not needed, or was not made."""
    return np.zeros(0)


def basis_of(constants: Constants, newest: Sequence[int]) -> Basis:
    """Return the basis of a sum of some agents' releases, by their numbers, 0 where none is."""
    heard = [(agent, release) for agent, release in enumerate(newest) if release]
    variance = sum(noise_variance(constants, agent, release) for agent, release in heard)
    # As published: 2Λ for each one heard, ρ_min for each one that is not.
    base = constants.base
    shift = base + len(heard) * (constants.shift - base) / constants.agents
    return Basis(base, constants.log_term, shift, math.sqrt(variance))


def _basis_of_sum(constants: Constants, newest: Sequence[int]) -> Basis:
    """Return :func:`basis_of`; where all numbers are alike, bit for bit as the loop has it."""
    alike = min(newest) == max(newest)
    return basis_of_all(constants, newest[0]) if alike else basis_of(constants, newest)


def records_after(had: Released | None, statistic: Floats, counted: int) -> Floats | None:
    """Return the sum of records after a release; None if there are none.

    Parameters
    ----------
    had
        What the agent had at that release; None if there was no release.
    statistic : (models, d (d + 3) / 2) float64
        The sum of the records that count by now.
    """
    if had is None:
        return statistic.copy()
    return statistic - had.statistic if had.records != counted else None


def pool_of_sum(
    constants: Constants, newest: Sequence[int], values: Floats, fresh: Floats | None
) -> Pool | None:
    """Make estimates from a sum of releases; None if its Gram matrix is not positive definite.

    Parameters
    ----------
    newest
        The number of every agent's release in the sum, 0 where there is none.
    values : (release_size,) float64
        The sum.
    fresh : (models, d (d + 3) / 2) float64, optional
        Own records that are not in it and count at once.
    """
    pool = empty_pool(constants.models, constants.dimension)
    sums = values.reshape(constants.models, -1)
    if fresh is not None:
        sums = sums + fresh
    fault = pool_release(constants, _basis_of_sum(constants, newest), sums, pool)
    return pool if fault == NO_FAULT else None


def others_in_sum(
    constants: Constants, agent: int, newest: Sequence[int], values: Floats, had: Released | None
) -> tuple[Floats, float]:
    """Return the sum without an agent's own part, (models, d (d + 3) / 2), and the variance left.

    Of a sum that shows releases, the agent's own release is taken out, and its noise with it. Of a
    secure sum only its records are: decisions that depend on its own noise could take it away.

    Parameters
    ----------
    agent
        Whose part is left out.
    newest, values
        See :func:`pool_of_sum`.
    had
        What the agent had at its release in the sum; None if there is none.
    """
    variance = _basis_of_sum(constants, newest).deviation ** 2
    own = no_release()
    if had is not None:
        own = had.statistic.reshape(-1) if constants.step > 0.0 else had.noisy
    if newest[agent] and constants.step == 0.0:
        variance -= noise_variance(constants, agent, newest[agent])
    others = values - own if own.size else values
    return others.reshape(constants.models, -1), max(variance, 0.0)


def view_of_sum(
    constants: Constants, mine: Floats, residuals: Floats, others: Floats, variance: float
) -> tuple[Views, Floats] | None:
    """Make a view of own records and others' releases, and residuals as they are with it.

    Returns None if they add up to no Gram matrix.

    Parameters
    ----------
    mine, residuals
        See :func:`~fedbandits.systems.agents.kernels.own_views.load_own_view`; both stay.
    others, variance
        What :func:`others_in_sum` returns.
    """
    view, kept = empty_view(constants), residuals.copy()
    fault = load_own_view(constants, mine, kept, others, math.sqrt(variance), view)
    return (view, kept) if fault == NO_FAULT else None
