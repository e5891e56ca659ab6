"""P-FCB (Solanki et al. 2022): buyers that learn producers' qualities, under a constraint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fedbandits.environments.base import Environment
from fedbandits.environments.facts import ProcurementFacts
from fedbandits.federation.roles import Roles, Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.random import replicate_key
from fedbandits.systems.base import Simulation, System
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.presets import PRESETS

if TYPE_CHECKING:
    from fedbandits.systems.pfcb.plan import PFCBPlan
    from fedbandits.systems.pfcb.roles import BuyerSupply


class PFCBSystem(System["PFCBPlan"]):
    """P-FCB, and what it is compared with."""

    name = "pfcb"
    paper = (
        "Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with "
        "Constraints"
    )
    config_type = PFCB
    presets = PRESETS
    facts_type = ProcurementFacts

    def plan(self, config: PFCB, facts: ProcurementFacts, rounds: int) -> PFCBPlan:
        from fedbandits.systems.pfcb.plan import make_plan

        return make_plan(config, facts, rounds)

    def claim(self, plan: PFCBPlan) -> PrivacyClaim:
        from fedbandits.systems.pfcb.claim import claim

        return claim(plan)

    def cautions(self, plan: PFCBPlan) -> tuple[str, ...]:
        from fedbandits.systems.pfcb.claim import cautions

        return cautions(plan)

    def simulate(
        self, plan: PFCBPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        """One compiled replicate; threads are not used, since replicates run side by side."""
        from fedbandits.systems.pfcb.loop import PFCBReplicate

        return PFCBReplicate(plan, environment, seed, replicate)

    def roles(self, plan: PFCBPlan) -> Roles:
        from fedbandits.systems.pfcb.roles import roles

        return roles(plan)

    def simulated_supplies(self, plan: PFCBPlan, world: Any, seed: int, replicate: int) -> Supplies:
        from fedbandits.systems.pfcb.roles import BuyerSupply
        from fedbandits.systems.simulated import simulated_noise

        size, key = 2 * plan.constants.producers, replicate_key(seed, replicate)

        def supply(role: str, place: int) -> BuyerSupply:
            del role
            noise = partial(simulated_noise, size, key, place)
            return BuyerSupply(noise, world.cost[place], world.capacity)

        return supply

    def syncs(self, run: PartiesRun) -> int:
        return int(run.of("buyer")[0].releases)

    def epsilon_spent(self, plan: PFCBPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run))

    def games(self, plan: PFCBPlan, environment: Environment) -> Sequence[Game]:
        from fedbandits.systems.pfcb.audit import games

        return games(self, plan)


SYSTEM = PFCBSystem()
