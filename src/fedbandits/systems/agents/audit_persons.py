"""Persons who come too often to an agent that protects persons, for an audit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.open_world import Visit
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.games import audit_key, contexts, packed_record
from fedbandits.systems.party_games import SmallWorld
from fedbandits.systems.visits_audit import Visited, visits_check

#: The reward of every visit, in units of its bound.
_REWARD = 0.5


def person_checks(small: SmallWorld) -> list[ProtocolCheck]:
    """Return a check of a person that comes too often; none where records are protected."""
    if not small.plan.config.protects_persons:
        return []
    most = int(small.plan.config.records_per_person)
    return [visits_check("one agent", most, partial(_visited, small))]


def _visited(small: SmallWorld) -> Visited:
    agent: Any = small.begin(0, secure=False).players[0]
    return Visited(agent, partial(_released, agent), partial(_visit, small, agent))


def _released(agent: Any) -> Floats:
    """Return the sum that is released, (size,): of one model, whichever estimator has it."""
    statistic: Floats = agent.state.statistic
    summed: Floats = statistic.reshape(-1, statistic.shape[-1]).sum(axis=0)
    return summed


def _visit(small: SmallWorld, agent: Any, visit: int) -> Floats:
    """Let the person come, and return the record of the visit, (size,)."""
    config, facts = small.plan.config, small.plan.facts
    dimension, columns = facts.features_shape
    drawn = contexts(audit_key(0), 0, visit, dimension, columns, config.context_bound)
    features = drawn.astype(np.float32)
    decision = agent.decide(Visit("a person", features))
    reward = _REWARD * float(config.reward_bound)
    agent.observe(decision, reward + float(small.plan.constants.centre))
    agent.end_round(visit)  # or the next record would be kept for a later release
    context = features[:, min(int(decision.action), columns - 1)]
    return packed_record(Record(context.astype(np.float64), reward))
