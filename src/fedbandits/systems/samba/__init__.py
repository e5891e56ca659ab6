"""SAMBA (Ciucanu et al. 2022): secure federated bandits, one arm a data owner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fedbandits.environments.base import Environment
from fedbandits.environments.facts import ArmFacts
from fedbandits.federation.roles import Roles, Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems.base import Simulation, System
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.presets import PRESETS

if TYPE_CHECKING:
    from fedbandits.systems.samba.plan import SambaPlan


class SambaSystem(System["SambaPlan"]):
    """SAMBA, the same messages in clear, and one machine that holds everything."""

    name = "samba"
    paper = "Ciucanu et al. 2022, Samba: A Generic Framework for Secure Federated Bandits"
    config_type = Samba
    presets = PRESETS
    facts_type = ArmFacts

    def plan(self, config: Samba, facts: ArmFacts, rounds: int) -> SambaPlan:
        from fedbandits.systems.samba.plan import make_plan

        return make_plan(config, facts, rounds)

    def claim(self, plan: SambaPlan) -> PrivacyClaim:
        from fedbandits.systems.samba.claim import claim

        return claim(plan)

    def simulate(
        self, plan: SambaPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        from fedbandits.systems.samba.loop import SambaReplicate

        return SambaReplicate(plan, environment, seed, replicate, threads)

    def roles(self, plan: SambaPlan) -> Roles | None:
        """Customer, Controller, Comp and data owners; nobody exchanges anything in a plain run."""
        from fedbandits.systems.samba.roles import roles

        return None if plan.config.execution == "plain" else roles(plan)

    def simulated_supplies(
        self, plan: SambaPlan, world: Any, seed: int, replicate: int
    ) -> Supplies:
        """Secrets from the seed; the customer's key is a fresh one all the same."""
        from fedbandits.systems.samba.roles import simulated_supplies

        return simulated_supplies(plan, seed, replicate)

    def syncs(self, run: PartiesRun) -> int:
        """Iterations of steps 2 to 5 so far."""
        return run.network.transcript.messages["BitList"]

    def epsilon_spent(self, plan: SambaPlan, run: PartiesRun) -> float:
        """No ε is claimed: what leaves is encrypted, not noisy."""
        return math.inf


SYSTEM = SambaSystem()
