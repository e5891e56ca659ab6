"""Parties of a learner: agents, and a controller, idle where they share nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import Message, OutOfOrderError, pack, unpack
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.federation.totals.messages import TABLE as TOTALS_TABLE
from fedbandits.systems.python_learners.agent import LearnerAgent
from fedbandits.systems.python_learners.messages import TABLE, AgentRelease, Limits, Total
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.secure_sums import totals_roles


class ControllerState(PartyState, frozen=True, kw_only=True):
    """All that changes in a controller."""

    stage: str = "serving"
    releases: int = 0  # how many sums it has sent
    newest: Ints  # (agents,) the number of every agent's newest release
    included: Ints  # (agents,) the same as they were in the last sum
    values: Floats  # (agents, size) every agent's newest release


class LearnerController(Party[ControllerState]):
    """Adds up every agent's newest release, once all have released, or at a deadline.

    Sums are taken in the order of agents.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("serving", AgentRelease): ("serving",),
        ("serving", Deadline): ("serving",),
    }

    def __init__(self, seat: Seat, plan: LearnerPlan) -> None:
        agents = plan.facts.parties
        state = ControllerState(
            newest=np.zeros(agents, np.int64),
            included=np.zeros(agents, np.int64),
            values=np.zeros((agents, plan.size)),
        )
        super().__init__(seat, state)
        self._plan, self._agents, self._limits = plan, seat.names("agent"), Limits(plan)
        self._place = {name: i for i, name in enumerate(self._agents)}

    @property
    def awaited(self) -> int | None:
        state = self._state
        some = bool((state.newest > state.included).any())
        return state.releases + 1 if some and self._left else super().awaited

    @property
    def _left(self) -> bool:
        return self._state.releases < self._plan.most_sums

    def _compute(self, event: Any) -> Step:
        return self._end_waiting(event) if isinstance(event, Deadline) else self._collect(event)

    def _collect(self, message: AgentRelease) -> Step:
        state, place = self._state, self._place[message.sender]
        if not state.newest[place] < message.release <= len(self._plan.ends):
            raise OutOfOrderError(
                f"{self.name}: release {message.release} from {message.sender}, after "
                f"{state.newest[place]} of {len(self._plan.ends)}"
            )
        values = unpack(message.statistic, self._plan.size)
        self._limits.check(self.name, values, [message.release])
        waiting = state.newest <= state.included
        waiting[place] = False
        complete = not waiting.any() and self._left
        after = self._after(releases=state.releases + 1) if complete else state

        def keep() -> Sequence[Message]:
            state.newest[place] = message.release
            state.values[place] = values
            return self._sums(after.releases) if complete else ()

        return Step(after, write=keep)

    def _end_waiting(self, event: Deadline) -> Step:
        """Add up what there is, if something new is."""
        if event.number != self.awaited or not self._left:
            return Step(self._state)
        after = self._after(releases=self._state.releases + 1)
        return Step(after, write=lambda: self._sums(after.releases))

    def _sums(self, number: int) -> Sequence[Message]:
        state = self._state
        total = np.zeros(self._plan.size)
        for values in state.values:  # in order, so that every run adds alike
            total += values
        state.included[:] = state.newest
        packed, alike = pack(total), bool((state.newest == number).all())
        newest = () if alike else tuple(state.newest.tolist())
        return [
            Total(sender=self.name, receiver=agent, release=number, statistic=packed, newest=newest)
            for agent in self._agents
        ]


def roles(plan: LearnerPlan) -> Roles:
    """Return the parties of a learner: agents, and a controller, with helpers or alone."""
    agents = plan.agent_names
    if plan.secure is not None:
        secure = Role("agent", agents, lambda seat, own: LearnerAgent(seat, plan, own), True)
        return Roles(
            (secure, *totals_roles(plan)),
            TOTALS_TABLE,
            outcomes_may_be_late=True,
            rounds_are_shared=False,
        )
    return Roles(
        (
            Role("agent", agents, lambda seat, own: LearnerAgent(seat, plan, own), True, 2.0),
            Role("controller", ("controller",), lambda seat, _: LearnerController(seat, plan)),
        ),
        TABLE,
        outcomes_may_be_late=True,
        rounds_are_shared=False,  # each agent numbers its own releases; a sum says which are in it
    )
