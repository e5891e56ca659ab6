"""All that changes in a peer-to-peer run, as arrays that compiled code and a file can hold.

An agent's estimators are rows of one axis: cell = agent · estimators + estimator. Messages on
their way are not kept one by one: a release is kept with the round it was made in, so it is known
who has heard it, and a flood's messages are scheduled for the rounds in which they are sent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.needs import Needs
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.joint import first_joints
from fedbandits.systems.agents.needs import agent_needs
from fedbandits.systems.agents.persons import first_persons
from fedbandits.systems.agents.plan import TRIGGERED
from fedbandits.systems.agents.views import Pool, Views
from fedbandits.systems.feducb_p2p.plan import PeerPlan
from fedbandits.systems.replicate import Tally


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # rounds played
    messages: Ints
    carrying: Ints  # messages that carry statistics
    asked: Ints  # the last round in which anybody called for a sync


class Releases(NamedTuple):
    """What every estimator has released; the last ``depth`` releases are kept, k in slot k - 1."""

    made: Ints  # (cells,)
    round_: Ints  # (cells, depth): at the end of which it was made
    variance: Floats  # (cells, depth): of its noise
    value: Floats  # (cells, depth, models · d (d + 3) / 2)


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents, 2): what stopped an agent, and the round
    tally: Tally  # of every agent
    statistic: Floats  # (cells, models, d (d + 3) / 2): own records so far
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
    persons: Any  # Persons; None where records are protected
    joints: Any  # a Joint of every agent; None without joint views


def initial_state(plan: PeerPlan) -> State:
    """Zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    constants, peers = plan.constants, plan.peers
    agents, models, dimension = constants.agents, constants.models, constants.dimension
    cells, shape = agents * peers.estimators, constants.statistic_shape
    pool = act.empty_pool(models, dimension)
    return State(
        clock=Clock(*(np.zeros(1, np.int64) for _ in Clock._fields)),
        faults=np.zeros((agents, 2), np.int64),
        tally=Tally(np.zeros(agents), np.zeros(agents)),
        statistic=np.zeros((cells, *shape)),
        at_release=np.zeros((cells if constants.raw_view else 0, *shape)),
        waited=np.zeros(cells, np.int64),
        draws=np.zeros((cells, plan.release.slots, constants.release_size)),
        releases=Releases(
            made=np.zeros(cells, np.int64),
            round_=np.zeros((cells, peers.depth), np.int64),
            variance=np.zeros((cells, peers.depth)),
            value=np.zeros((cells, peers.depth, constants.release_size)),
        ),
        calls=np.zeros((agents, _call_slots(plan)), np.int64),
        scheduled=np.zeros((2, peers.floods.shape[1]), np.int64),
        heard=np.zeros(cells, np.int64),
        awaited=np.zeros(cells, np.int64),
        looked=np.zeros(cells, np.int64),
        pools=Pool(*(np.zeros((cells, *array.shape)) for array in pool)),
        views=act.empty_views(cells, models, dimension),
        persons=first_persons(plan, cells),
        joints=first_joints(constants, cells),
    )


def _call_slots(plan: PeerPlan) -> int:
    """A call is answered up to γ rounds after it, when the caller may be calling again."""
    return plan.peers.gamma + 1 if plan.constants.schedule == TRIGGERED else 1


@compiled
def one_pool(pools: Pool, cell: int) -> Pool:
    """One cell's pool, as arrays that share memory with ``pools``."""
    return Pool(
        pools.inverse[cell],
        pools.gram[cell],
        pools.moment[cell],
        pools.terms[cell],
        pools.trigger_inverse[cell],
        pools.trigger_log_det[cell],
        pools.trigger_smallest[cell],
    )


def needs(plan: PeerPlan) -> Needs:
    """What :func:`initial_state` will take, and the rounds after it."""
    constants, peers = plan.constants, plan.peers
    cells = constants.agents * peers.estimators
    return agent_needs(
        plan,
        sums=cells * (1 + constants.raw_view + constants.joint_view),
        draws=cells * plan.release.slots,
        released=cells * peers.depth,
        views=cells,
        pools=cells,
        syncs=float(constants.agents * min(constants.releases * peers.estimators, plan.rounds)),
        senders=constants.agents,
    )
