"""All that changes in a peer-to-peer run, as arrays that compiled code and a file can hold.

An agent's estimators are rows of one axis: cell = agent · estimators + estimator. Messages on
their way are not kept one by one: a release is kept with the round it was made in, so it is known
who has heard it, and a flood's messages are scheduled for the rounds in which they are sent.
"""

from __future__ import annotations

import numpy as np

from fedbandits.environments.base import Needs
from fedbandits.systems.agents.counting import first_persons
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.agents.kernels.pools import Pool, empty_pool
from fedbandits.systems.agents.kernels.views import empty_views
from fedbandits.systems.agents.needs import agent_needs
from fedbandits.systems.feducb_p2p.kernels.state import Clock, Releases, State
from fedbandits.systems.feducb_p2p.plan import PeerPlan
from fedbandits.systems.kernels import Tally


def initial_state(plan: PeerPlan) -> State:
    """Make zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    constants, peers = plan.constants, plan.peers
    agents, models, dimension = constants.agents, constants.models, constants.dimension
    cells, shape = agents * peers.estimators, constants.statistic_shape
    pool = empty_pool(models, dimension)
    persons = first_persons(plan, cells)
    return State(
        clock=Clock(*(np.zeros(1, np.int64) for _ in Clock._fields)),
        faults=np.zeros((agents, 2), np.int64),
        tally=Tally(np.zeros(agents), np.zeros(agents)),
        statistic=np.zeros((cells, *shape)),
        residuals=np.zeros((cells, models, 4)),
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
        views=empty_views(cells, models, dimension),
        visits=persons.visits,
        uncounted=persons.uncounted,
    )


def _call_slots(plan: PeerPlan) -> int:
    """Count slots of calls: one is answered within γ rounds, when its caller may call again."""
    return plan.peers.gamma + 1 if plan.constants.schedule == TRIGGERED else 1


def needs(plan: PeerPlan) -> Needs:
    """Estimate what :func:`initial_state` will take, and the rounds after it."""
    constants, peers = plan.constants, plan.peers
    cells = constants.agents * peers.estimators
    return agent_needs(
        plan,
        sums=cells * (1 + constants.raw_view),
        draws=cells * plan.release.slots,
        released=cells * peers.depth,
        views=cells,
        pools=cells,
        syncs=float(constants.agents * min(constants.releases * peers.estimators, plan.rounds)),
        senders=constants.agents,
    )
