"""A count of the visits that count, of a person who comes too often to an agent.

The person comes more often than is charged for, to one agent, one visit after the other. Each of
the first k visits must move what is released by its own record, and no later one by anything: also
not once the agent has gone on from what it had kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.stage import Visit
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.games import audit_key, contexts, packed_record
from fedbandits.systems.party_games import SmallWorld

#: Visits that are charged for and played, at most, and how many more there are.
MOST_VISITS, MORE_VISITS = 60, 3
#: Records are rounded to a grid.
_ROUNDED = 1e-6
_REWARD = 0.5


def person_checks(small: SmallWorld) -> list[ProtocolCheck]:
    """Return a check of a person that comes too often; none where records are protected."""
    if not small.plan.config.protects_persons:
        return []
    most = small.plan.config.records_per_person
    looks_at = f"a person who comes {most + MORE_VISITS} times to one agent, of which {most} count"
    return [ProtocolCheck(looks_at, lambda: _counted(small))]


def _counted(small: SmallWorld) -> tuple[str, tuple[str, ...]]:
    most, run = int(small.plan.config.records_per_person), small.begin(0, secure=False)
    agent: Any = run.players[0]
    moved, wrong = list[bool](), list[str]()
    for visit in range(1, most + MORE_VISITS + 1):
        if visit == most + MORE_VISITS:
            agent.load(agent.dump())  # visits that counted are kept
        before = _released(agent)
        record = _visit(small, agent, visit)
        change = _released(agent) - before
        moved.append(bool(change.any()))
        if moved[-1] and np.abs(change - record).max() > _ROUNDED * np.abs(record).max():
            wrong.append(f"visit {visit} moves what is released by more than its record")
    if moved != [visit <= most for visit in range(1, len(moved) + 1)]:
        wrong.append(f"{sum(moved)} of {len(moved)} visits count, {most} are charged for")
    return f"{sum(moved)} of {len(moved)} visits of a person count", tuple(wrong)


def _released(agent: Any) -> Floats:
    """Return the sum that is released, (size,): of one model, whichever estimator has it."""
    statistic: Floats = agent.state.statistic.copy()
    summed: Floats = statistic.reshape(-1, statistic.shape[-1]).sum(axis=0)
    return summed


def _visit(small: SmallWorld, agent: Any, visit: int) -> Floats:
    """Let the person come, and return the record of the visit, (size,)."""
    config, facts = small.plan.config, small.plan.facts
    drawn = contexts(
        audit_key(0), 0, visit, facts.dimension, facts.features_shape[1], config.context_bound
    )
    features = drawn.astype(np.float32)
    decision = agent.decide(Visit("a person", features))
    reward = _REWARD * float(config.reward_bound)
    agent.observe(decision, reward + float(small.plan.constants.centre))
    agent.end_round(visit)  # or the next record would be kept for a later release
    context = features[:, min(int(decision.action), features.shape[1] - 1)]
    return packed_record(Record(context.astype(np.float64), reward))
