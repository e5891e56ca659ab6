"""Sums of an agent's own records, and the records of others counted as records of its own.

Where persons are protected, loops count the visits of persons as parties do; see
:meth:`.Shell._decided`.

A sync adds precision to an agent's knowledge of its parameters; see
:func:`fedbandits.learners.kernels.partial_pooling.precision_beyond`. An own record adds as much as
its context has squared norm. So others count as the precision that they added, over the mean
squared norm of an own record. That is the effective sample size of a prior (Morita, Thall & Müller
2008) for a linear model. The count may exceed the number of others' records: where all arms share a
model, others also tell how large its parameters are.

The count rests on an agent's own records, without noise. It is for the agent's own organisation:
no message has it, and no metric that others may see.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import Record, add_record
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.plan import AgentsPlan

#: Name of the count of others' records, in results and in a party's status.
OTHERS_COUNT_AS = "others_count_as"


def sum_of(
    statistic: Floats, uncounted: Floats, kept: dict[int, Record], rounding: float
) -> Floats:
    """Add up all of an agent's own records, (models, d (d + 3) / 2), whether they count or wait.

    ``statistic`` and ``uncounted`` are of that shape, or nothing; ``kept`` are records that wait.
    ``rounding`` is that of :func:`~fedbandits.learners.kernels.ridge.add_record`.
    """
    total = statistic + uncounted if uncounted.size else statistic.copy()
    for context, reward, model in kept.values():
        add_record(total, model, context, reward, rounding)
    return total


def nothing_uncounted(plan: AgentsPlan, sums: int) -> Floats:
    """Return statistics of no uncounted records, (sums, models, d (d + 3) / 2).

    Records that count for no release are summed for each of ``sums`` running sums, where agents
    learn from such records. Otherwise the last axis has no entries.
    """
    models, size = plan.constants.statistic_shape
    learns = plan.counts_persons and (plan.constants.raw_view or plan.constants.own_view)
    return np.zeros((sums, models, size if learns else 0))


def hears_others(constants: Constants) -> bool:
    """Tell whether agents have views of own records, and ever sync them with others."""
    return constants.own_view and constants.releases > 0


def squared_norms(*statistics: Floats) -> Floats:
    """Add up the squared norms of all contexts in packed statistics: traces of Gram matrices.

    Parameters
    ----------
    statistics : (…, d (d + 3) / 2) float64
        Sums of records, all of the same leading shape. One without entries has no records.

    Returns
    -------
    (…) float64
        The sums of squared norms.
    """
    total = np.zeros(statistics[0].shape[:-1])
    for statistic in statistics:
        total += statistic[..., _diagonal(statistic.shape[-1])].sum(axis=-1)
    return total


def others_count_as(residuals: Floats, squares: Floats, waiting: int = 0) -> Floats:
    """Return how many own records tell an agent as much as others did by the last sync.

    Parameters
    ----------
    residuals : (…, models, 4) float64
        See :func:`~fedbandits.systems.agents.kernels.own_views.take_up_own`.
    squares : (…, models) float64
        Squared norms of own contexts, added up; see :func:`squared_norms`.
    waiting : int
        Own records that are not in ``squares``: they wait for a later release.

    Returns
    -------
    (…) float64
        The number; NaN for an agent without records, or with contexts of norm 0 alone.
    """
    records = residuals[..., 0].sum(axis=-1) - waiting
    added, total = residuals[..., 3].sum(axis=-1), squares.sum(axis=-1)
    known = (records > 0.0) & (total > 0.0)
    mean = np.divide(total, records, out=np.ones_like(total), where=known)
    return np.where(known, added / mean, np.nan)


def number_or_none(number: Floats) -> float | None:
    """Return the count of an agent as its status shows the count: None instead of NaN."""
    return None if np.isnan(number) else float(number)


def _diagonal(size: int) -> list[int]:
    """List where a packed statistic of so many numbers has the diagonal of its Gram matrix."""
    dimension = (math.isqrt(8 * size + 9) - 3) // 2
    return [i * dimension - i * (i - 1) // 2 for i in range(dimension)]
