"""FedUCB (Dubey & Pentland 2020): agents that share a linear model, with a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits.federation.run import PartiesRun
from fedbandits.systems.agents.system import AgentsSystem
from fedbandits.systems.feducb.config import PRESETS, FedUCB

if TYPE_CHECKING:
    from fedbandits.systems.agents.plan import AgentsPlan


class FedUCBSystem(AgentsSystem["AgentsPlan"]):
    """FedUCB with a controller."""

    name = "feducb"
    paper = "Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits"
    config_type = FedUCB
    presets = PRESETS
    SHARED_ROOMS = ("fedbandits.systems.agents.application", "fedbandits.systems.agents.audit")

    def syncs(self, run: PartiesRun) -> int:
        return int(run.one("controller").state.releases)

    def epsilon_spent(self, plan: AgentsPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(run.of("agent")[0].state.released.made)


SYSTEM = FedUCBSystem()
