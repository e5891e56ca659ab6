"""FedUCB (Dubey & Pentland 2020) without a controller: agents that talk over a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedbandits.federation.run import PartiesRun
from fedbandits.systems.agents.system import AgentsSystem
from fedbandits.systems.feducb_p2p.config import PRESETS, PeerFedUCB

if TYPE_CHECKING:
    from fedbandits.systems.feducb_p2p.plan import PeerPlan


class PeerFedUCBSystem(AgentsSystem["PeerPlan"]):
    """FedUCB on a graph."""

    name = "feducb_p2p"
    paper = "Dubey & Pentland 2020, the same peer to peer (Algorithm 3)"
    config_type = PeerFedUCB
    presets = PRESETS
    SHARED_ROOMS = ("fedbandits.systems.agents.application", "fedbandits.systems.agents.audit")

    def cautions(self, plan: PeerPlan) -> tuple[str, ...]:
        found: tuple[str, ...] = self.function("claim", "cautions")(plan)
        return found

    def syncs(self, run: PartiesRun) -> int:
        """Return the releases so far of the agent that made most, over all its estimators."""
        return max(sum(_releases(agent)) for agent in run.of("agent"))

    def epsilon_spent(self, plan: PeerPlan, run: PartiesRun) -> float:
        # The estimators' records are disjoint, so the one that was released most often decides.
        most = max(made for agent in run.of("agent") for made in _releases(agent))
        return plan.epsilon_spent(most)


def _releases(agent: Any) -> list[int]:
    """Return how often an agent has released each of its estimators."""
    return [estimator.released.made for estimator in agent.state.estimators]


SYSTEM = PeerFedUCBSystem()
