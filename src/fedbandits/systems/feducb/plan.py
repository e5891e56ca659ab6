"""From a configuration and facts to what the compiled loop and the parties go by."""

from __future__ import annotations

from fedbandits.environments.facts import ContextualFacts
from fedbandits.systems.agents.plan import AgentsPlan, Pooling, plan_pooling
from fedbandits.systems.feducb.config import FedUCB


def make_plan(config: FedUCB, facts: ContextualFacts, rounds: int) -> AgentsPlan:
    """Work out what all parties go by: a controller adds up the releases of all agents.

    Raises
    ------
    ConfigError
        See :func:`~fedbandits.systems.agents.plan.plan_pooling`.
    """
    agents = facts.parties
    orders = agents if config.local_view == "raw" else 1
    return plan_pooling(config, facts, rounds, Pooling(agents, 1, orders))
