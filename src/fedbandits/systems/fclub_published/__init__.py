"""FCLUB as published (Liu et al. 2022): users on servers, in clusters that nobody knows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fedbandits.federation.run import PartiesRun
from fedbandits.random import Key
from fedbandits.systems.fclub_published.config import PublishedFCLUB
from fedbandits.systems.fclub_published.presets import PRESETS
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

    def simulated_noise(self, plan: PublishedFCLUBPlan, key: Key, server: int) -> Any:
        del server  # clusters have names of their own
        return partial(self.room("loop").simulated_noise, plan.constants, key)

    def syncs(self, run: PartiesRun) -> int:
        return sum(run.network.transcript.messages[kind] for kind in _UPLOADS)

    def epsilon_spent(self, plan: PublishedFCLUBPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run), run.of("server")[0].state.phase)


SYSTEM = PublishedFCLUBSystem()
