"""The plan of FedUCB with a controller, for the compiled loop and the parties."""

from __future__ import annotations

from fedbandits.facts import ContextualFacts
from fedbandits.systems.agents.plan import AgentsPlan, Pooling, plan_pooling
from fedbandits.systems.aggregation import secure_totals
from fedbandits.systems.feducb.config import FedUCB


def make_plan(config: FedUCB, facts: ContextualFacts, rounds: int) -> AgentsPlan:
    """Work out what all parties go by: a controller adds up the releases of all agents.

    Raises
    ------
    ConfigError
        See :func:`~fedbandits.systems.agents.plan.plan_pooling`.
    """
    agents = facts.parties
    pooling = Pooling(
        agents, sums=1, orders=agents if config.local_view == "raw" else 1,
        secure=secure_totals(config.aggregation, agents),
    )  # fmt: skip
    return plan_pooling(config, facts, rounds, pooling)
