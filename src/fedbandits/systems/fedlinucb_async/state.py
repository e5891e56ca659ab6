"""The state of a run before the first round, and the memory that it takes."""

from __future__ import annotations

import math

import numpy as np

from fedbandits.environments.base import Needs
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.views import empty_views
from fedbandits.systems.agents.needs import agent_needs
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.fedlinucb_async.kernels import Clock, State
from fedbandits.systems.kernels import Tally


def initial_state(constants: Constants) -> State:
    """Make zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    agents, shape = constants.agents, constants.statistic_shape
    return State(
        clock=Clock(*(np.zeros(1, np.int64) for _ in Clock._fields)),
        faults=np.zeros((agents, 2), np.int64),
        tally=Tally(np.zeros(agents), np.zeros(agents)),
        total=np.zeros(shape),
        local=np.zeros((agents, *shape)),
        terms=np.zeros((agents, constants.models, 4)),
        views=empty_views(agents, constants.models, constants.dimension),
        visits=np.zeros(0, np.int64),
    )


def needs(plan: AgentsPlan) -> Needs:
    """Estimate what :func:`initial_state` will take, and the rounds after it."""
    constants = plan.constants
    agents, d = constants.agents, constants.models * constants.dimension
    steps = float(plan.rounds * agents)
    # A determinant grows by its factor only so often, and all agents may notice it.
    often = d * math.log1p(steps) * (1.0 / constants.threshold + agents)
    return agent_needs(
        plan,
        sums=agents + 3,
        draws=0,
        released=0,
        views=agents,
        pools=1,
        syncs=min(steps, often),
        senders=1,
    )
