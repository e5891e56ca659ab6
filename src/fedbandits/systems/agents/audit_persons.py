"""Linear agents in two worlds that differ in all records of one person, for an audit.

The person comes to one agent again and again: k times as the claim counts them, in different
batches, and then many times more. Every visit is replaced. Others come in between, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.environments.base import Environment
from fedbandits.environments.facts import ContextualFacts
from fedbandits.environments.persons import Visit
from fedbandits.learners.kernels.ridge import Record
from fedbandits.systems.agents.audit_run import AgentsRun
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.games import packed_record

#: Rounds from one visit of the person to the next: others come in between.
_EVERY = 2
_PERSON = "the person"


def facts_for(config: AgentsConfig, world: Environment) -> Any:
    """Facts of a small world, with persons where the variant protects them: an audit names them."""
    facts = world.facts
    if config.protects_persons and isinstance(facts, ContextualFacts) and facts.persons is None:
        return msgspec.structs.replace(facts, persons=facts.parties)
    return facts


class PersonRun(AgentsRun):
    """All visits of one person to one agent are replaced; parameters as of :class:`AgentsRun`.

    The target is the person's first visit. What is known of all other records is what they are, not
    what the agent says of them: so it shows if the agent counts more of the person's.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        plan: Any = self.run.plan
        #: What the other records of the audited agent add to its releases.
        self._known: Floats = np.zeros(plan.constants.release_size)

    def _replaces(self, agent: int, round_: int) -> bool:
        since = round_ - self._target.round_
        return agent == self._target.agent and since >= 0 and since % _EVERY == 0

    def _shown(self, features: Floats32, agent: int, round_: int) -> Any:
        somebody = f"{agent} {round_}"
        return Visit(_PERSON if self._replaces(agent, round_) else somebody, features)

    def _note(self, agent: int, round_: int, context: Floats32, reward: float) -> None:
        if agent == self._target.agent and not self._replaces(agent, round_):
            self._known += packed_record(Record(context.astype(np.float64), reward))

    def _others(self, agent: Any, world: int, round_: int) -> Floats:
        return self._known

    def _entered(self, ends: Sequence[int]) -> Floats:
        since = np.array(ends) - self._target.round_
        visits = np.where(since >= 0, since // _EVERY + 1, 0)
        return np.minimum(visits, self._config.records_per_person).astype(np.float64)
