"""All that changes in a run of asynchronous FedLinUCB."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.ridge import packed_size
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.agent import Views
from fedbandits.systems.feducb.rules import Rules


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # rounds played
    exchanges: Ints  # an upload and a download each


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents, 2): what stopped an agent, and the round
    regret: Floats  # (agents,) cumulative
    reward: Floats  # (agents,) cumulative
    total: Floats  # (models, d (d + 3) / 2): what the server has added up
    local: Floats  # (agents, models, d (d + 3) / 2): own records since the last exchange
    terms: Floats  # (agents, models, 4): of the pool that an agent's view comes from
    views: Views


def initial_state(rules: Rules) -> State:
    """Zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    agents, models, size = rules.agents, rules.models, int(packed_size(rules.dimension))
    return State(
        clock=Clock(np.zeros(1, np.int64), np.zeros(1, np.int64)),
        faults=np.zeros((agents, 2), np.int64),
        regret=np.zeros(agents),
        reward=np.zeros(agents),
        total=np.zeros((models, size)),
        local=np.zeros((agents, models, size)),
        terms=np.zeros((agents, models, 4)),
        views=act.empty_views(agents, models, rules.dimension),
    )
