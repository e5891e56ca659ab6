"""Who takes part: agents, and a controller that has nothing to do where they share nothing."""

from __future__ import annotations

from fedbandits.federation.roles import Role, Roles
from fedbandits.systems.python_learners.agent import LearnerAgent
from fedbandits.systems.python_learners.controller import LearnerController
from fedbandits.systems.python_learners.messages import TABLE
from fedbandits.systems.python_learners.plan import LearnerPlan


def roles(plan: LearnerPlan) -> Roles:
    """The parties of a learner."""
    agents = tuple(f"agent-{i}" for i in range(plan.facts.parties))
    return Roles(
        (
            Role("agent", agents, lambda seat, own: LearnerAgent(seat, plan, own), True, 2.0),
            Role("controller", ("controller",), lambda seat, _: LearnerController(seat, plan)),
        ),
        TABLE,
        outcomes_may_be_late=True,
    )
