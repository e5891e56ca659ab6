"""Contributions of one agent to what is shared, and how its learner makes them.

This is all in which learners differ for an agent: what they tell, and what user code may do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.draws import Draws
from fedbandits.errors import BoundExceededError, LearnerError
from fedbandits.learners.held import Guard
from fedbandits.learners.learner import Learner
from fedbandits.learners.private_learner import PrivateLearner
from fedbandits.systems.python_learners.plan import (
    RECORD_ROOM,
    LearnerPlan,
    record_of,
    released,
)


class OwnRelease:
    """A learner that says itself what its agent tells, or that tells nothing."""

    def __init__(self, plan: LearnerPlan) -> None:
        self._plan = plan

    def decide(self, learner: Any, contexts: Floats, draws: Draws) -> Any:
        """Return what the learner chooses; not checked."""
        return learner.decide(contexts, draws)

    def record(self, place: str, context: Floats, arm: int, reward: float) -> Floats | None:
        """Return what one interaction adds to the sum that is told; None if no sum is kept."""
        del place, context, arm, reward
        return None

    def values(self, learner: Learner, statistic: Floats) -> Floats:
        """Return what is told now, exactly, (size,), of the same size as ever."""
        del statistic
        values = released(learner)
        if values.size != self._plan.size:
            raise LearnerError(
                f"{type(learner).__name__}.release: returned {values.size} numbers, and "
                f"{self._plan.size} before anything was learned; the size must not change"
            )
        return values

    def receive(self, learner: Any, total: Floats, deviation: float) -> None:
        """Hand a learner the total of all agents, whose noise has a deviation."""
        del deviation
        learner.receive(total)


class RecordSum(OwnRelease):
    """A private learner: its agent tells the sum of its records."""

    def __init__(self, plan: LearnerPlan, agent: int) -> None:
        super().__init__(plan)
        #: It makes records, and never learns anything.
        self._recorder: Any = plan.make(agent)
        self._name = type(self._recorder).__name__
        self._rounding, self._clips = plan.rounding, plan.config.out_of_bounds == "clip"
        self._guard = Guard(plan.learner)
        self._guarded = not self._recorder.sees_own_records()

    def decide(self, learner: Any, contexts: Floats, draws: Draws) -> Any:
        """Return what the learner chooses; not checked.

        One that is to act on what is released alone is refused if it keeps anything of it.
        """
        if not self._guarded:
            return learner.decide(contexts, draws)
        before = self._guard.held(learner)
        chosen = learner.decide(contexts, draws)
        if self._guard.held(learner) != before:
            raise LearnerError(
                f"{self._name}.decide: has changed what the learner keeps, itself, in its class or "
                "in its module; that then depends on contexts that no noise covers; work out in "
                "receive what decide needs, or override observe, which weakens the claim"
            )
        return chosen

    def record(self, place: str, context: Floats, arm: int, reward: float) -> Floats:
        """Return what one interaction adds, within its bound and on the grid.

        A method that breaks its contract is refused, and a record beyond its bound that is not to
        be cut down.
        """
        values = record_of(self._recorder, self._guard, context, arm, reward)
        if values.size != self._plan.size:
            raise LearnerError(
                f"{self._name}.record: returned {values.size} numbers, and {self._plan.size} for "
                "another interaction; the size must not change"
            )
        record = within_bound(values, self._plan.record_bound, self._clips)
        if record is None:
            raise BoundExceededError(
                f"{place}: {self._name}.record is longer than record_bound = "
                f"{self._plan.record_bound:g}, or no number; raise record_bound, scale records "
                'down, or set out_of_bounds = "clip"'
            )
        return (record + self._rounding) - self._rounding

    def values(self, learner: Learner, statistic: Floats) -> Floats:
        return statistic

    def receive(self, learner: Any, total: Floats, deviation: float) -> None:
        learner.receive_under_noise(total, deviation)


def contribution_of(plan: LearnerPlan, agent: int) -> OwnRelease:
    """Return how an agent's contribution is made."""
    private = issubclass(plan.learner, PrivateLearner)
    return RecordSum(plan, agent) if private else OwnRelease(plan)


def within_bound(values: Floats, bound: float, clips: bool) -> Floats | None:
    """Return a record within the bound, (size,); None if it must be cut down and may not be.

    What is no number counts as 0 then, and a record of infinite length keeps its infinite entries.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.linalg.norm(values))
    if length <= bound * (1.0 + RECORD_ROOM):
        return values
    if not clips:
        return None
    finite = np.where(np.isnan(values), 0.0, values)
    if np.isinf(finite).any():
        finite = np.where(np.isinf(finite), np.sign(finite), 0.0)
    largest = float(np.abs(finite).max())
    if largest == 0.0:
        return finite
    direction = finite / largest
    length = float(np.linalg.norm(direction)) * largest
    if length <= bound:
        return finite
    # A hair inside, so that rounding cannot leave it outside.
    cut: Floats = direction * (bound * (1.0 - 1e-12) / float(np.linalg.norm(direction)))
    return cut
