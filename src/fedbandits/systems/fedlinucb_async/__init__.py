"""FedLinUCB (He et al. 2022): agents that exchange with a server one by one, in clear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedbandits.environments.facts import ContextualFacts
from fedbandits.federation.roles import Roles
from fedbandits.federation.run import PartiesRun
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems.agents.system import AgentsSystem
from fedbandits.systems.base import Simulation
from fedbandits.systems.fedlinucb_async.config import AsyncFedLinUCB
from fedbandits.systems.fedlinucb_async.presets import PRESETS

if TYPE_CHECKING:  # not imported to start the command
    from fedbandits.systems.fedlinucb_async.plan import AsyncPlan


class AsyncFedLinUCBSystem(AgentsSystem["AsyncPlan"]):
    """Asynchronous FedLinUCB. It claims nothing, so there is nothing to audit."""

    name = "fedlinucb_async"
    paper = (
        "He, Wang, Min & Gu 2022, A Simple and Provably Efficient Algorithm for Asynchronous "
        "Federated Contextual Linear Bandits"
    )
    config_type = AsyncFedLinUCB
    presets = PRESETS

    def plan(self, config: AsyncFedLinUCB, facts: ContextualFacts, rounds: int) -> AsyncPlan:
        from fedbandits.systems.fedlinucb_async.plan import make_plan

        return make_plan(config, facts, rounds)

    def claim(self, plan: AsyncPlan) -> PrivacyClaim:
        from fedbandits.systems.fedlinucb_async.claim import claim

        return claim(plan)

    def simulate(
        self, plan: AsyncPlan, environment: Any, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        from fedbandits.systems.fedlinucb_async.loop import AsyncReplicate

        del threads  # any agent may exchange after any round, so they are played in step
        return AsyncReplicate(plan, environment, seed, replicate)

    def roles(self, plan: AsyncPlan) -> Roles:
        from fedbandits.systems.fedlinucb_async.roles import roles

        return roles(plan)

    def syncs(self, run: PartiesRun) -> int:
        return sum(run.one("server").exchanges.values())

    def epsilon_spent(self, plan: AsyncPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run))


SYSTEM = AsyncFedLinUCBSystem()
