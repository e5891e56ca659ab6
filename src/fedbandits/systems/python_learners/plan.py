"""What all agents of a learner go by: when they share, and how much they tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.facts import ContextualFacts
from fedbandits.errors import LearnerError
from fedbandits.federation.terms import Schedule
from fedbandits.learners.learner import Learner
from fedbandits.systems.agents.schedule import settled, sync_rounds
from fedbandits.systems.base import Plan

#: Larger releases are a mistake: 512 MiB.
_LARGEST = 1 << 26


class LearnerPlan(Plan, frozen=True, kw_only=True):
    """What all parties go by.

    Parameters
    ----------
    learner
        The class of every agent's learner.
    ends
        The rounds, from 1, at whose end agents release.
    size
        Numbers in a release; 0 where nothing is shared.
    """

    learner: type[Learner]
    ends: Sequence[int] = ()
    size: int = 0

    @property
    def schedule(self) -> Schedule:
        if not len(self.ends):
            return Schedule(rounds=self.rounds)
        return Schedule(
            rounds=self.rounds, releases=len(self.ends), ends=tuple(int(end) for end in self.ends)
        )

    def make(self, agent: int) -> Learner:
        """The learner of an agent, before its first decision."""
        settings = {
            name: getattr(self.config, name)
            for name in self.config.__struct_fields__
            if name != "schedule"
        }
        return self.learner(self.facts, self.rounds, agent, **settings)


def make_plan(
    learner: type[Learner], config: Any, facts: ContextualFacts, rounds: int
) -> LearnerPlan:
    """Work out when agents release, and how much.

    Raises
    ------
    LearnerError
        If a fresh learner's release is no array of numbers.
    """
    plan = LearnerPlan(config=config, facts=facts, rounds=rounds, learner=learner)
    if not learner.shares():
        return plan
    ends = sync_rounds(settled(config.schedule, rounds, facts.parties), rounds)
    size = released(plan.make(0)).size
    return msgspec.structs.replace(plan, ends=ends or (), size=size)


def released(learner: Learner) -> Floats:
    """What a learner tells now, (size,).

    Raises
    ------
    LearnerError
        If it is no array of finite numbers.
    """
    name = type(learner).__name__
    try:
        values = np.array(learner.release(), np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise LearnerError(f"{name}.release: must return an array of numbers: {error}") from None
    if not 0 < values.size <= _LARGEST:
        raise LearnerError(f"{name}.release: returned {values.size:,} numbers, allowed: 1 to 2^26")
    if not np.isfinite(values).all():
        raise LearnerError(f"{name}.release: returned entries that are no numbers")
    return values
