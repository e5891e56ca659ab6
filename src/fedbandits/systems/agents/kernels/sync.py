"""Times of syncs: rounds fixed in advance, or growth of a determinant of raw data."""

from __future__ import annotations

import math

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.pools import Pool

_LONGEST = 2**40


@compiled
def next_sync(constants: Constants, round_: int) -> int:
    """Return the first round after ``round_`` at which a schedule fixed in advance syncs."""
    if constants.period > 0:
        return (round_ // constants.period + 1) * constants.period
    low, high = 0, constants.sync_times.size
    while low < high:
        middle = (low + high) // 2
        if constants.sync_times[middle] <= round_:
            low = middle + 1
        else:
            high = middle
    return int(constants.sync_times[low])


@compiled
def sync_due(threshold: float, terms: Floats, trigger_log_det: Floats, waited: int) -> bool:
    """Tell whether an agent has learned enough since the last sync (Algorithm 1, line 12).

    Parameters
    ----------
    terms : (models, 4) float64
        Terms of the pool that the agent's view comes from.
    trigger_log_det : (models,) float64
        ln det(V + M(ρ_max - ρ_min)I) of the agent's view.
    waited : int
        Rounds Δt since the last sync, this one included.
    """
    growth = 0.0
    for m in range(trigger_log_det.size):
        growth += trigger_log_det[m] - terms[m, 3]
    return growth >= threshold / waited


@compiled
def growth_bound(constants: Constants, pool: Pool, records: int) -> float:
    """Bound the left side of the trigger after so many more records.

    w records of norm at most L raise ln det A by at most n ln(1 + w L²/(n a)), n its order and a
    its smallest eigenvalue.
    """
    order = constants.models * constants.dimension
    smallest, grown, before = pool.trigger_smallest[0], 0.0, 0.0
    for m in range(constants.models):
        smallest = min(smallest, pool.trigger_smallest[m])
        grown += pool.trigger_log_det[m]
        before += pool.terms[m, 3]
    slope = constants.context_bound**2 / (order * smallest)
    return float(grown - before + order * math.log1p(records * slope))


@compiled
def rounds_without_sync(constants: Constants, pool: Pool, waited: int) -> int:
    """Count rounds that can certainly be played before :func:`sync_due` must be asked.

    Until :func:`growth_bound` could reach D/w no agent's records matter for the trigger, so agents
    need not be played in step.
    """
    low, high = waited + 1, waited + 2
    # A threshold that cannot be reached ends the search too: no run is that long.
    while high < _LONGEST and growth_bound(constants, pool, high) < constants.threshold / high:
        low, high = high, 2 * high
    while high - low > 1:  # the left side grows with w, the right side falls
        middle = (low + high) // 2
        if growth_bound(constants, pool, middle) < constants.threshold / middle:
            low = middle
        else:
            high = middle
    return max(1, low - waited - 1)  # one to spare for rounding
