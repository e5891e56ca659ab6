"""FedUCB with a controller, as parties that exchange messages.

An agent keeps its records and its noise; what leaves it is a released running sum. The controller
adds up what all agents release and sends the sum back; it learns nothing else. Both call the
compiled functions that the simulation calls, so the same seed gives the same run.

Nobody waits for anybody. An agent decides on the last sum while a sync is under way. At a deadline
the controller adds up the newest release of each agent, and says which it is.
"""

from __future__ import annotations

from fedbandits.federation.roles import Role, Roles
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.feducb.messages import TABLE
from fedbandits.systems.feducb.roles.agent import Agent
from fedbandits.systems.feducb.roles.controller import Controller

#: Role and name of the controller.
CONTROLLER = "controller"


def roles(plan: AgentsPlan) -> Roles:
    """Return agents, and a controller that adds up what they release."""
    # Whoever gave up before the controller would ask anew for a sum that is about to come.
    return Roles(
        (
            Role("agent", plan.agent_names, lambda seat, own: Agent(seat, plan, own), True, 2.0),
            Role(CONTROLLER, (CONTROLLER,), lambda seat, _: Controller(seat, plan)),
        ),
        TABLE,
        outcomes_may_be_late=True,
    )
