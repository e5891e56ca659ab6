"""The state of a run before the first round, and the memory that it takes."""

from __future__ import annotations

import numpy as np

from fedbandits.environments.base import Needs
from fedbandits.systems.agents.counting import first_persons
from fedbandits.systems.agents.kernels.pools import empty_pool
from fedbandits.systems.agents.kernels.views import empty_views
from fedbandits.systems.agents.needs import agent_needs
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.feducb.kernels import Clock, State
from fedbandits.systems.kernels import Tally


def initial_state(plan: AgentsPlan) -> State:
    """Make zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    constants = plan.constants
    agents, models, dimension = constants.agents, constants.models, constants.dimension
    persons = first_persons(plan, agents)
    return State(
        clock=Clock(*(np.zeros(1, np.int64) for _ in Clock._fields)),
        faults=np.zeros((agents, 2), np.int64),
        tally=Tally(np.zeros(agents), np.zeros(agents)),
        statistic=np.zeros((agents, *constants.statistic_shape)),
        residuals=np.zeros((agents, models, 4)),
        draws=np.zeros((agents, plan.release.slots, constants.release_size)),
        pool=empty_pool(models, dimension),
        views=empty_views(_views(plan), models, dimension),
        visits=persons.visits,
        uncounted=persons.uncounted,
        newest=np.zeros((agents if constants.leaves_out_own else 0, constants.release_size)),
        total=np.zeros(constants.release_size if constants.step > 0.0 else 0, np.int64),
    )


def _views(plan: AgentsPlan) -> int:
    """Count views: one of each agent that learns from own records at once, or one of all."""
    constants = plan.constants
    return constants.agents if constants.raw_view or constants.own_view else 1


def needs(plan: AgentsPlan) -> Needs:
    """Estimate what :func:`initial_state` will take, and the rounds after it."""
    constants = plan.constants
    agents = constants.agents
    return agent_needs(
        plan,
        sums=agents + 2 + (2 * agents if constants.leaves_out_own else 0),
        draws=agents * plan.release.slots,
        released=0,
        views=_views(plan),
        pools=1,
        syncs=min(constants.releases, plan.rounds),
        senders=agents,
    )
