"""FedUCB (Dubey & Pentland 2020) without a controller: agents that talk over a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fedbandits.environments.base import Environment
from fedbandits.environments.facts import ContextualFacts
from fedbandits.federation.graphs import Complete
from fedbandits.federation.roles import Roles
from fedbandits.federation.run import PartiesRun
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems.agents.system import AgentsSystem
from fedbandits.systems.base import Simulation
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.presets import PRESETS

if TYPE_CHECKING:  # not imported to start the command
    from fedbandits.systems.feducb_p2p.plan import PeerPlan


class PeerFedUCBSystem(AgentsSystem["PeerPlan"]):
    """FedUCB on a graph."""

    name = "feducb_p2p"
    paper = "Dubey & Pentland 2020, the same peer to peer (Algorithm 3)"
    config_type = PeerFedUCB
    presets = PRESETS

    def plan(self, config: PeerFedUCB, facts: ContextualFacts, rounds: int) -> PeerPlan:
        from fedbandits.systems.feducb_p2p.plan import make_plan

        return make_plan(config, facts, rounds)

    def claim(self, plan: PeerPlan) -> PrivacyClaim:
        from fedbandits.systems.feducb_p2p.claim import claim

        return claim(plan)

    def cautions(self, plan: PeerPlan) -> tuple[str, ...]:
        from fedbandits.systems.feducb_p2p.claim import cautions

        return cautions(plan)

    def simulate(
        self, plan: PeerPlan, environment: Any, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        from fedbandits.systems.feducb_p2p.loop import PeerReplicate

        return PeerReplicate(plan, environment, seed, replicate, threads)

    def roles(self, plan: PeerPlan) -> Roles:
        from fedbandits.systems.feducb_p2p.roles import roles

        return roles(plan)

    def syncs(self, run: PartiesRun) -> int:
        """Releases so far of the agent that made most, over all its estimators."""
        return max(sum(int(state.made) for state in agent.released) for agent in run.of("agent"))

    def epsilon_spent(self, plan: PeerPlan, run: PartiesRun) -> float:
        # The estimators' records are disjoint, so the one that was released most often decides.
        most = max(state.made for agent in run.of("agent") for state in agent.released)
        return plan.epsilon_spent(most)

    def games(self, plan: PeerPlan, environment: Environment) -> Sequence[Game]:
        """The configured mechanism, then two agents that talk to each other.

        Where an agent keeps several estimators a record is in one of them alone: the releases of
        one are attacked.
        """
        from fedbandits.systems.agents.audit import games

        return games(self, plan, msgspec.structs.replace(plan.config, graph=Complete()))


SYSTEM = PeerFedUCBSystem()
