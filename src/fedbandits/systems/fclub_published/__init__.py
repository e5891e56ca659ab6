"""FCLUB as published (Liu et al. 2022): users on servers, in clusters that nobody knows."""

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

    def plan(
        self, config: PublishedFCLUB, facts: ClusteredFacts, rounds: int
    ) -> PublishedFCLUBPlan:
        from fedbandits.systems.fclub_published.plan import make_plan

        return make_plan(config, facts, rounds)

    def claim(self, plan: PublishedFCLUBPlan) -> PrivacyClaim:
        from fedbandits.systems.fclub_published.claim import claim

        return claim(plan)

    def simulate(
        self, plan: PublishedFCLUBPlan, environment: Any, seed: int, replicate: int,
        threads: int = 1,
    ) -> Simulation:  # fmt: skip
        from fedbandits.systems.fclub_published.loop import PublishedFCLUBReplicate

        del threads  # what happens in a round is too little to be shared
        return PublishedFCLUBReplicate(plan, environment, seed, replicate)

    def roles(self, plan: PublishedFCLUBPlan) -> Roles:
        from fedbandits.systems.fclub_published.roles import roles

        return roles(plan)

    def simulated_noise(self, plan: PublishedFCLUBPlan, key: Key, server: int) -> Any:
        from fedbandits.systems.fclub_published.loop import simulated_noise

        del server  # clusters have names of their own
        return partial(simulated_noise, plan.constants, key)

    def syncs(self, run: PartiesRun) -> int:
        return sum(run.network.transcript.messages[kind] for kind in _UPLOADS)

    def epsilon_spent(self, plan: PublishedFCLUBPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run), run.of("server")[0].phase)

    def games(self, plan: PublishedFCLUBPlan, environment: Environment) -> Sequence[Game]:
        from fedbandits.systems.fclub_published.audit import games

        del environment
        return games(self, plan)


SYSTEM = PublishedFCLUBSystem()
