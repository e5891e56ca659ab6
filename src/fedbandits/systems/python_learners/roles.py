"""Parties of a learner: agents, and a controller, idle where they share nothing."""

from __future__ import annotations

from typing import ClassVar

from fedbandits._typing import Floats
from fedbandits.federation.events import Deadline
from fedbandits.federation.exchange.hub import Gathering, SummingHub, serving
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Transitions
from fedbandits.federation.totals.messages import TABLE as TOTALS_TABLE
from fedbandits.systems.python_learners.agent import LearnerAgent
from fedbandits.systems.python_learners.messages import TABLE, AgentRelease, Limits, Total
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.secure_sums import totals_roles


class LearnerController(SummingHub):
    """Adds up every agent's newest release."""

    GATHERING = Gathering("agent", AgentRelease)
    TOTAL = Total
    TRANSITIONS: ClassVar[Transitions] = serving(AgentRelease, Deadline)

    def __init__(self, seat: Seat, plan: LearnerPlan) -> None:
        super().__init__(seat, plan.size, len(plan.ends))
        self._limits = Limits(plan)

    def _check(self, values: Floats, place: int, number: int) -> None:
        self._limits.check(self.name, values, [number])


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
