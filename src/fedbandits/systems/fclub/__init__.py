"""FCLUB as it should be: releases that keep their claim, and clusters as a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fedbandits.environments.base import Environment
from fedbandits.environments.facts import ClusteredFacts
from fedbandits.federation.roles import Roles
from fedbandits.federation.run import PartiesRun
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.random import Key
from fedbandits.systems.base import Simulation
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.presets import PRESETS
from fedbandits.systems.servers.system import ServersSystem

if TYPE_CHECKING:
    from fedbandits.systems.fclub.plan import FCLUBPlan


class FCLUBSystem(ServersSystem["FCLUBPlan"]):
    """FCLUB as it should be."""

    name = "fclub"
    paper = "after Liu et al. 2022, Federated Online Clustering of Bandits"
    config_type = FCLUB
    presets = PRESETS

    def plan(self, config: FCLUB, facts: ClusteredFacts, rounds: int) -> FCLUBPlan:
        from fedbandits.systems.fclub.plan import make_plan

        return make_plan(config, facts, rounds)

    def claim(self, plan: FCLUBPlan) -> PrivacyClaim:
        from fedbandits.systems.fclub.claim import claim

        return claim(plan)

    def simulate(
        self, plan: FCLUBPlan, environment: Any, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        from fedbandits.systems.fclub.loop import FCLUBReplicate

        del threads  # what happens in a round is too little to be shared
        return FCLUBReplicate(plan, environment, seed, replicate)

    def roles(self, plan: FCLUBPlan) -> Roles:
        from fedbandits.systems.fclub.roles import roles

        return roles(plan)

    def simulated_noise(self, plan: FCLUBPlan, key: Key, server: int) -> Any:
        from fedbandits.systems.fclub.loop import simulated_noise

        return partial(simulated_noise, plan, key, server, plan.facts.users_of(server))

    def syncs(self, run: PartiesRun) -> int:
        return run.network.transcript.messages["Release"]

    def epsilon_spent(self, plan: FCLUBPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run) // plan.constants.servers)

    def games(self, plan: FCLUBPlan, environment: Environment) -> Sequence[Game]:
        from fedbandits.systems.fclub.audit import games

        del environment
        return games(self, plan)


SYSTEM = FCLUBSystem()
