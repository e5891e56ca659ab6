"""The parties: agents that play and release, and an adder that adds up what they release."""

from __future__ import annotations

from fedbandits.federation.roles import Role, Roles

from ..messages import TABLE
from ..plan import GreedyPlan
from .adder import Adder
from .agent import Agent, AgentSupply, choices

__all__ = ["AgentSupply", "choices", "roles"]


def roles(plan: GreedyPlan) -> Roles:
    """Who takes part, and how each party is made."""
    agents = tuple(f"agent-{i}" for i in range(plan.facts.parties))
    return Roles(
        (
            # An agent waits twice as long as the adder: a sum may come at the adder's deadline.
            Role("agent", agents, lambda seat, own: Agent(seat, plan, own), True, 2.0),
            Role("adder", ("adder",), lambda seat, _: Adder(seat, plan)),
        ),
        TABLE,
    )
