"""Constants and state of a run among peers."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.sync import next_sync
from fedbandits.systems.agents.kernels.views import Views
from fedbandits.systems.kernels import Clock, Tally

#: Lag of two agents of which neither uses the other's releases.
NOT_POOLED = -1


class Peers(NamedTuple):
    """Constants that follow from the graph, as compiled code takes them."""

    distance: Ints  # (M, M): hops between two agents
    lag: Ints  # (M, M): rounds until an agent (row) can use a release of another, or NOT_POOLED
    reach: Ints  # (M,): an agent's largest lag
    base: Floats  # (M,): λ₁ of an agent's pool, or Mρ_min
    log_term: Floats  # (M,): of the radius
    floods: Ints  # (M, hops): messages of every hop of an agent's flood
    gamma: int
    estimators: int
    depth: int  # releases of one estimator that may be in use or on their way at once


class Releases(NamedTuple):
    """Releases of every estimator; the last ``depth`` are kept, k in slot k - 1."""

    made: Ints  # (cells,)
    round_: Ints  # (cells, depth): at the end of which it was made
    variance: Floats  # (cells, depth): of its noise
    value: Floats  # (cells, depth, models · d (d + 3) / 2)


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents, 2): the fault that stopped an agent, and its round
    tally: Tally  # of every agent
    statistic: Floats  # (cells, models, d (d + 3) / 2): own records so far
    residuals: Floats  # (cells, models, 4): see agents.kernels.own_views.take_up_own
    at_release: Floats  # the same at the last own release; nothing with a released view
    waited: Ints  # (cells,): uses since the last own release
    draws: Floats  # (cells, slots, models · d (d + 3) / 2): noise draws in use
    releases: Releases
    calls: Ints  # (agents, γ + 1): the last round, of those with this remainder, it called in
    scheduled: Ints  # (2, hops): messages to be sent by round modulo hops, and those that carry
    heard: Ints  # (cells,): numbers of the releases that the pool is made of, added up
    awaited: Ints  # (cells,): the last round at whose end something new arrives
    looked: Ints  # (cells,): the round after which it last looked for it
    pools: Pool  # one a cell
    views: Views  # one a cell
    visits: Ints  # (agents, persons): how many visits of each person count
    uncounted: Floats  # (cells, models, d (d + 3) / 2 or 0): records that count for no release


@compiled
def one_pool(pools: Pool, cell: int) -> Pool:
    """Return one cell's pool, as arrays that share memory with ``pools``."""
    return Pool(
        pools.inverse[cell],
        pools.gram[cell],
        pools.moment[cell],
        pools.terms[cell],
        pools.trigger_inverse[cell],
        pools.trigger_log_det[cell],
        pools.trigger_smallest[cell],
    )


@compiled
def next_arrival(constants: Constants, reach: int, round_: int) -> int:
    """Return the first round after ``round_`` at whose end an agent can have news to pool.

    Parameters
    ----------
    reach : int
        The agent's largest lag. In a connected graph every smaller one occurs too.
    """
    arrival = next_sync(constants, round_)
    for lag in range(1, reach + 1):
        arrival = min(arrival, next_sync(constants, max(round_ - lag, 0)) + lag)
    return arrival
