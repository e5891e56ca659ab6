"""An agent that decides by a learner in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.draws import Draws
from fedbandits.errors import BoundExceededError, LearnerError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, EndRound, Observe
from fedbandits.federation.messages import OutOfOrderError, pack, unpack
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.systems.python_learners.messages import Told, Total
from fedbandits.systems.python_learners.plan import LearnerPlan, released


class LearnerSupply(NamedTuple):
    """What an agent brings.

    Parameters
    ----------
    draws
        ``draws(number)`` is what its learner makes the decision of that number by.
    """

    draws: Callable[[int], Draws]


class OpenDecision(msgspec.Struct, frozen=True):
    """A decision whose reward has not come yet."""

    arm: int
    context: Floats  # (d,)


class AgentState(PartyState, frozen=True, kw_only=True):
    """All that changes in an agent.

    Parameters
    ----------
    decisions
        How many were made.
    open
        Decisions whose rewards have not come, by their numbers.
    releases, totals
        How often it has released, and the number of the last sum that it was told.
    memory
        What the learner keeps, in a state that was saved; otherwise the learner has it.
    """

    stage: str = "ready"
    decisions: int = 0
    open: dict[int, OpenDecision] = msgspec.field(default_factory=dict)
    releases: int = 0
    totals: int = 0
    memory: bytes = b""


class LearnerAgent(ActingParty[AgentState]):
    """One agent.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by.
    supply
        What it brings.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", Decide): ("ready",),
        ("ready", Observe): ("ready",),
        ("ready", EndRound): ("ready",),
        ("ready", Total): ("ready",),
    }

    def __init__(self, seat: Seat, plan: LearnerPlan, supply: LearnerSupply) -> None:
        super().__init__(seat, AgentState())
        self._plan, self._place, self._draws = plan, seat.place, supply.draws
        self._controller = seat.one("controller")
        self.learner = plan.make(seat.place)

    @property
    def next_end(self) -> int | None:
        made = self._state.releases
        return int(self._plan.ends[made]) if made < len(self._plan.ends) else None

    def dump(self) -> bytes:
        self._state = self._after(memory=self.learner.dump())
        return super().dump()

    def _resume(self) -> None:
        self.learner = self._plan.make(self._place)
        if self._state.memory:
            self.learner.load(self._state.memory)

    def _compute(self, event: Any) -> Step:
        match event:
            case Decide():
                return self._decide(event)
            case Observe():
                return self._observe(event)
            case EndRound():
                return self._release(event)
            case _:
                return self._take_over(event)

    def _decide(self, event: Decide) -> Step:
        contexts, number = self._contexts(event.situation), self._state.decisions + 1
        chosen = self.learner.decide(contexts, self._draws(number))
        arm = _whole(chosen)
        if arm is None or not 0 <= arm < len(contexts):
            raise LearnerError(
                f"{type(self.learner).__name__}.decide: returned {chosen!r}, allowed: a row's "
                f"number, from 0 to {len(contexts) - 1}"
            )
        opened = OpenDecision(arm, contexts[arm].copy())
        return Step(
            self._after(decisions=number), answer=Decision(number, arm), opened=(number, opened)
        )

    def _contexts(self, situation: Any) -> Floats:
        """A decision set as rows, (arms, d); refuses what is none."""
        facts = self._plan.facts
        dimension, columns = facts.features_shape
        shape: tuple[int, ...] = getattr(situation, "shape", ())
        if len(shape) == 2 and shape[0] == dimension and 1 <= shape[1] <= columns:
            rows = np.array(situation.T, np.float64)
            if np.isfinite(rows).all():
                return rows if facts.models == 1 else np.repeat(rows, facts.arms, axis=0)
        raise LocalProtocolError(
            f"{self.name}: a decision set is {dimension} finite numbers for each of at most "
            f"{columns} columns, as the terms say"
        )

    def _observe(self, event: Observe) -> Step:
        number, arm = event.decision.number, event.decision.action
        found = self._state.open.get(number)
        if found is None or arm != found.arm:
            raise LocalProtocolError(f"{self.name}: no decision {number} for arm {arm} is open")
        low, high = self._plan.facts.reward_range
        reward = event.outcome
        if isinstance(reward, bool) or not isinstance(reward, int | float | np.number):
            raise LocalProtocolError(f"{self.name}, decision {number}: a reward is a number")
        if not low <= reward <= high:
            raise BoundExceededError(
                f"{self.name}, decision {number}: a reward is outside its bounds"
            )

        def learn() -> tuple[()]:
            self.learner.observe(found.context, found.arm, float(reward))
            return ()

        return Step(self._state, write=learn, closed=number)

    def _release(self, event: EndRound) -> Step:
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: round {event.round_} is over, expected {self.next_end}"
            )
        values, number = released(self.learner), self._state.releases + 1
        if values.size != self._plan.size:
            raise LearnerError(
                f"{type(self.learner).__name__}.release: returned {values.size} numbers, and "
                f"{self._plan.size} before anything was learned; the size must not change"
            )
        told = Told(
            sender=self.name, receiver=self._controller, release=number, statistic=pack(values)
        )
        return Step(self._after(releases=number), [told])

    def _take_over(self, message: Total) -> Step:
        if not self._state.totals < message.release <= len(self._plan.ends):
            raise OutOfOrderError(
                f"{self.name}: sum {message.release} after sum {self._state.totals}"
            )
        total = unpack(message.statistic, self._plan.size)

        def take() -> tuple[()]:
            self.learner.receive(np.array(total))
            return ()

        return Step(self._after(totals=message.release), write=take)


def _whole(chosen: Any) -> int | None:
    """A whole number as Python's own; None if it is none."""
    if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer):
        return None
    return int(chosen)
