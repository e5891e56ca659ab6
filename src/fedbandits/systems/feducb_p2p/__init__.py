"""FedUCB (Dubey & Pentland 2020) without a controller: agents that talk over a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits.federation.run import PartiesRun
from fedbandits.systems.agents.system import AgentsSystem
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.presets import PRESETS

if TYPE_CHECKING:
    from fedbandits.systems.feducb_p2p.plan import PeerPlan


class PeerFedUCBSystem(AgentsSystem["PeerPlan"]):
    """FedUCB on a graph."""

    name = "feducb_p2p"
    paper = "Dubey & Pentland 2020, the same peer to peer (Algorithm 3)"
    config_type = PeerFedUCB
    presets = PRESETS

    def cautions(self, plan: PeerPlan) -> tuple[str, ...]:
        found: tuple[str, ...] = self.room("claim").cautions(plan)
        return found

    def syncs(self, run: PartiesRun) -> int:
        """Releases so far of the agent that made most, over all its estimators."""
        return max(sum(int(state.made) for state in agent.released) for agent in run.of("agent"))

    def epsilon_spent(self, plan: PeerPlan, run: PartiesRun) -> float:
        # The estimators' records are disjoint, so the one that was released most often decides.
        most = max(state.made for agent in run.of("agent") for state in agent.released)
        return plan.epsilon_spent(most)


SYSTEM = PeerFedUCBSystem()
