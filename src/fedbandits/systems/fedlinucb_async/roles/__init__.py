"""Asynchronous FedLinUCB, as parties that exchange messages.

An agent talks to the server when it has learned enough, and waits for nobody. What travels is in
clear. Both call the compiled functions that the simulation calls, so the same seed gives the same
run.

Messages may get lost. An agent keeps what it has uploaded until an answer comes; if it has to go on
without one, its next upload holds those records again, and the server puts it in their place. So
every record counts once.
"""

from __future__ import annotations

from fedbandits.federation.roles import Role, Roles
from fedbandits.systems.fedlinucb_async.messages import TABLE
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan
from fedbandits.systems.fedlinucb_async.roles.agent import AsyncAgent
from fedbandits.systems.fedlinucb_async.roles.server import Server

#: Role and name of the server.
SERVER = "server"


def roles(plan: AsyncPlan) -> Roles:
    """Return agents, and a server that adds up what they upload."""
    agents = plan.agent_names
    return Roles(
        (
            Role("agent", agents, lambda seat, own: AsyncAgent(seat, plan, own), acts=True),
            Role(SERVER, (SERVER,), lambda seat, _: Server(seat, plan)),
        ),
        TABLE,
        outcomes_may_be_late=True,
    )
