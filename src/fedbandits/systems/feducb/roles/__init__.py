"""FedUCB with a controller, as parties that exchange messages.

An agent keeps its records and its noise; what leaves it is a released running sum. The controller
adds up what all agents release and sends the sum back; it learns nothing else. Both call the
compiled functions that the simulation calls, so the same seed gives the same run.

Nobody waits for anybody. An agent decides on the last sum while a sync is under way. At a deadline
the controller adds up the newest release of each agent, and says which it is.

With secure sums the controller sees no release. Agents mask what they send, and helpers take the
masks off a whole sum; see :mod:`fedbandits.federation.totals`.
"""

from __future__ import annotations

from typing import ClassVar

from fedbandits._typing import Floats
from fedbandits.federation.events import Deadline
from fedbandits.federation.exchange.hub import Gathering, SummingHub, serving
from fedbandits.federation.messages import OutOfOrderError
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.messages import TABLE as TOTALS_TABLE
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.feducb.messages import TABLE, Pooled, SyncCall, SyncRequest, Upload
from fedbandits.systems.feducb.roles.agent import Agent
from fedbandits.systems.secure_sums import totals_roles

#: Role and name of the controller.
CONTROLLER = "controller"


class Controller(SummingHub):
    """Adds up releases; sees nothing but released sums, and when they came."""

    GATHERING = Gathering("agent", Upload, call=SyncCall)
    TOTAL = Pooled
    TRANSITIONS: ClassVar[Transitions] = serving(SyncRequest, Upload, Deadline)

    def __init__(self, seat: Seat, plan: AgentsPlan) -> None:
        super().__init__(seat, plan.constants.release_size, plan.constants.releases)
        self._limits, self._schedule = Limits(plan), plan.constants.schedule

    def _check(self, values: Floats, place: int, number: int) -> None:
        self._limits.check(self.name, values, [place], [number])

    def _call(self, request: SyncRequest) -> Step:
        if self._schedule != TRIGGERED:
            raise OutOfOrderError(f"{self.name}: syncs are fixed, nobody may ask for one")
        return super()._call(request)


def roles(plan: AgentsPlan) -> Roles:
    """Return agents, and who adds up what they release: a controller, with helpers or alone."""
    if plan.secure is not None:
        agents = Role("agent", plan.agent_names, lambda seat, own: Agent(seat, plan, own), True)
        # A share for a sum that is over is made, for what comes after it, and is in no sum.
        return Roles(
            (agents, *totals_roles(plan)),
            TOTALS_TABLE,
            outcomes_may_be_late=True,
            rounds_are_shared=False,
        )
    # Whoever gave up before the controller would ask anew for a sum that is about to come.
    return Roles(
        (
            Role("agent", plan.agent_names, lambda seat, own: Agent(seat, plan, own), True, 2.0),
            Role(CONTROLLER, (CONTROLLER,), lambda seat, _: Controller(seat, plan)),
        ),
        TABLE,
        outcomes_may_be_late=True,
        rounds_are_shared=False,  # each agent numbers its own releases; a sum says which are in it
    )
