"""FCLUB as published (Liu et al. 2022): users on servers, in clusters that nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits.federation.run import PartiesRun
from fedbandits.systems.fclub_published.declare import PRESETS, PublishedFCLUB
from fedbandits.systems.servers.system import ServersSystem

if TYPE_CHECKING:
    from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan

_UPLOADS = ("PhaseReport", "Upload", "Observation")


class PublishedFCLUBSystem(ServersSystem["PublishedFCLUBPlan"]):
    """FCLUB as published, and the baselines that it is held against."""

    name = "fclub_published"
    paper = "Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits"
    config_type = PublishedFCLUB
    presets = PRESETS

    def syncs(self, run: PartiesRun) -> int:
        return sum(run.network.transcript.messages[kind] for kind in _UPLOADS)

    def epsilon_spent(self, plan: PublishedFCLUBPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run), run.of("server")[0].state.phase)


SYSTEM = PublishedFCLUBSystem()
