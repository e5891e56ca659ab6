"""All that changes in a FedUCB run, as arrays that compiled code and a file can hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.ridge import packed_size
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.agent import Pool, Views
from fedbandits.systems.feducb.rules import Plan


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
    regret: Floats  # (agents,) cumulative
    reward: Floats  # (agents,) cumulative
    statistic: Floats  # (agents, models, d (d + 3) / 2): own records so far
    draws: Floats  # (agents, slots, models · d (d + 3) / 2): noise draws in use
    pool: Pool
    views: Views


def initial_state(resolved: Plan) -> State:
    """Zeros in every place; the loop's ``begin`` makes it the state before the first round."""
    rules = resolved.rules
    agents, models, dimension = rules.agents, rules.models, rules.dimension
    size = int(packed_size(dimension))
    one = [np.zeros(1, np.int64) for _ in range(4)]
    return State(
        clock=Clock(one[0], one[1], one[2], one[3]),
        faults=np.zeros((agents, 2), np.int64),
        regret=np.zeros(agents),
        reward=np.zeros(agents),
        statistic=np.zeros((agents, models, size)),
        draws=np.zeros((agents, resolved.release.slots, models * size)),
        pool=act.empty_pool(models, dimension),
        views=act.empty_views(agents if rules.raw_view else 1, models, dimension),
    )
