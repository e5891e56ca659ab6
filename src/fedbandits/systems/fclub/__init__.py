"""FCLUB as it should be: releases that keep their claim, and clusters as a mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits.federation.run import PartiesRun
from fedbandits.systems.fclub.declare import FCLUB, PRESETS
from fedbandits.systems.servers.system import ServersSystem

if TYPE_CHECKING:
    from fedbandits.systems.fclub.plan import FCLUBPlan


class FCLUBSystem(ServersSystem["FCLUBPlan"]):
    """FCLUB as it should be."""

    name = "fclub"
    paper = "after Liu et al. 2022, Federated Online Clustering of Bandits"
    config_type = FCLUB
    presets = PRESETS

    def syncs(self, run: PartiesRun) -> int:
        return run.network.transcript.messages["Release"]

    def epsilon_spent(self, plan: FCLUBPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run) // plan.constants.servers)


SYSTEM = FCLUBSystem()
