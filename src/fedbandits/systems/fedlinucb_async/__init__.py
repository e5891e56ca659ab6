"""FedLinUCB (He et al. 2022): agents that exchange with a server one by one, in clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits.federation.run import PartiesRun
from fedbandits.systems.agents.system import AgentsSystem
from fedbandits.systems.fedlinucb_async.config import PRESETS, AsyncFedLinUCB

if TYPE_CHECKING:
    from fedbandits.systems.fedlinucb_async.plan import AsyncPlan


class AsyncFedLinUCBSystem(AgentsSystem["AsyncPlan"]):
    """Asynchronous FedLinUCB."""

    name = "fedlinucb_async"
    paper = (
        "He, Wang, Min & Gu 2022, A Simple and Provably Efficient Algorithm for Asynchronous "
        "Federated Contextual Linear Bandits"
    )
    config_type = AsyncFedLinUCB
    presets = PRESETS
    SHARED_ROOMS = ("fedbandits.systems.agents.application",)

    def syncs(self, run: PartiesRun) -> int:
        return int(run.one("server").state.exchanges.sum())

    def epsilon_spent(self, plan: AsyncPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run))


SYSTEM = AsyncFedLinUCBSystem()
