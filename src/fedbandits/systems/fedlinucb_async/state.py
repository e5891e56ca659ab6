"""All that changes in a run of asynchronous FedLinUCB."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.needs import Needs
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.needs import agent_needs
from fedbandits.systems.agents.plan import AgentsPlan, Constants
from fedbandits.systems.agents.views import Views
from fedbandits.systems.replicate import Tally


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # rounds played
    exchanges: Ints  # an upload and a download each


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents, 2): what stopped an agent, and the round
    tally: Tally  # of every agent
    total: Floats  # (models, d (d + 3) / 2): what the server has added up
    local: Floats  # (agents, models, d (d + 3) / 2): own records since the last exchange
    terms: Floats  # (agents, models, 4): of the pool that an agent's view comes from
    views: Views  # one an agent


def initial_state(constants: Constants) -> State:
    """Zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    agents, shape = constants.agents, constants.statistic_shape
    return State(
        clock=Clock(*(np.zeros(1, np.int64) for _ in Clock._fields)),
        faults=np.zeros((agents, 2), np.int64),
        tally=Tally(np.zeros(agents), np.zeros(agents)),
        total=np.zeros(shape),
        local=np.zeros((agents, *shape)),
        terms=np.zeros((agents, constants.models, 4)),
        views=act.empty_views(agents, constants.models, constants.dimension),
    )


def needs(plan: AgentsPlan) -> Needs:
    """What :func:`initial_state` will take, and the rounds after it."""
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
