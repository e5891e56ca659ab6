"""FedUCB (Dubey & Pentland 2020): agents that share a linear model, with a controller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fedbandits.environments.base import Environment
from fedbandits.environments.facts import ContextualFacts
from fedbandits.federation.roles import Roles
from fedbandits.federation.run import PartiesRun
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems.agents.system import AgentsSystem
from fedbandits.systems.base import Simulation
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.presets import PRESETS

if TYPE_CHECKING:  # not imported to start the command
    from fedbandits.systems.agents.plan import AgentsPlan


class FedUCBSystem(AgentsSystem["AgentsPlan"]):
    """FedUCB with a controller."""

    name = "feducb"
    paper = "Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits"
    config_type = FedUCB
    presets = PRESETS

    def plan(self, config: FedUCB, facts: ContextualFacts, rounds: int) -> AgentsPlan:
        from fedbandits.systems.feducb.plan import make_plan

        return make_plan(config, facts, rounds)

    def claim(self, plan: AgentsPlan) -> PrivacyClaim:
        from fedbandits.systems.feducb.claim import claim

        return claim(plan)

    def simulate(
        self, plan: AgentsPlan, environment: Any, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        from fedbandits.systems.feducb.loop import FedUCBReplicate

        return FedUCBReplicate(plan, environment, seed, replicate, threads)

    def roles(self, plan: AgentsPlan) -> Roles:
        from fedbandits.systems.feducb.roles import roles

        return roles(plan)

    def syncs(self, run: PartiesRun) -> int:
        return int(run.one("controller").releases)

    def epsilon_spent(self, plan: AgentsPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(run.of("agent")[0].released.made)

    def games(self, plan: AgentsPlan, environment: Environment) -> Sequence[Game]:
        from fedbandits.systems.agents.audit import games

        return games(self, plan, plan.config)


SYSTEM = FedUCBSystem()
