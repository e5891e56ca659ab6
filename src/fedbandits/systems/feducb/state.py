"""All that changes in a run, as arrays that compiled code and a file can hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.needs import Needs
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.joint import first_joints
from fedbandits.systems.agents.needs import agent_needs
from fedbandits.systems.agents.persons import first_persons
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.views import Pool, Views
from fedbandits.systems.replicate import Tally


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # rounds played
    releases: Ints  # syncs made
    waited: Ints  # rounds since the last sync
    messages: Ints


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents, 2): what stopped an agent, and the round
    tally: Tally  # of every agent
    statistic: Floats  # (agents, models, d (d + 3) / 2): own records so far
    draws: Floats  # (agents, slots, models · d (d + 3) / 2): noise draws in use
    pool: Pool
    views: Views  # one that all agents share, or a raw one of each
    persons: Any  # Persons; None where records are protected
    joints: Any  # a Joint of every agent; None without joint views
    newest: Floats  # (agents or 0, models · d (d + 3) / 2): with joint views, the last releases


def initial_state(plan: AgentsPlan) -> State:
    """Zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    constants = plan.constants
    agents, models, dimension = constants.agents, constants.models, constants.dimension
    return State(
        clock=Clock(*(np.zeros(1, np.int64) for _ in Clock._fields)),
        faults=np.zeros((agents, 2), np.int64),
        tally=Tally(np.zeros(agents), np.zeros(agents)),
        statistic=np.zeros((agents, *constants.statistic_shape)),
        draws=np.zeros((agents, plan.release.slots, constants.release_size)),
        pool=act.empty_pool(models, dimension),
        views=act.empty_views(agents if constants.raw_view else 1, models, dimension),
        persons=first_persons(plan, agents),
        joints=first_joints(constants, agents),
        newest=np.zeros((agents if constants.joint_view else 0, constants.release_size)),
    )


def needs(plan: AgentsPlan) -> Needs:
    """What :func:`initial_state` will take, and the rounds after it."""
    constants = plan.constants
    agents = constants.agents
    return agent_needs(
        plan,
        sums=agents + 2 + (2 * agents if constants.joint_view else 0),
        draws=agents * plan.release.slots,
        released=0,
        views=agents if constants.raw_view else 1,
        pools=1,
        syncs=min(constants.releases, plan.rounds),
        senders=agents,
    )
