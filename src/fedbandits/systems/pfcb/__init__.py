"""P-FCB (Solanki et al. 2022): buyers that learn producers' qualities, under a constraint."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fedbandits.facts import ProcurementFacts
from fedbandits.federation.roles import Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.random import replicate_key
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.pfcb.config import PFCB, PRESETS
from fedbandits.systems.simulated import simulated_noise

if TYPE_CHECKING:
    from fedbandits.systems.application import SharedSecret
    from fedbandits.systems.pfcb.plan import PFCBPlan

#: The role of buyers.
BUYER = "buyer"


class PFCBSystem(PackageSystem["PFCBPlan"]):
    """P-FCB, and the systems that it is compared with."""

    name = "pfcb"
    paper = (
        "Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with "
        "Constraints"
    )
    config_type = PFCB
    presets = PRESETS
    facts_type = ProcurementFacts

    def cautions(self, plan: PFCBPlan) -> tuple[str, ...]:
        found: tuple[str, ...] = self.function("claim", "cautions")(plan)
        return found

    def shared(self, plan: PFCBPlan) -> tuple[SharedSecret, ...]:
        from fedbandits.systems.secure_sums import shared_masks  # a configuration needs no masks

        return shared_masks(plan, BUYER)

    def simulated_supplies(self, plan: PFCBPlan, world: Any, seed: int, replicate: int) -> Supplies:
        from fedbandits.federation.seats import HELPER  # the same
        from fedbandits.systems.secure_sums import (
            simulated_agent_secrets,
            simulated_helper_secrets,
        )

        size, key = plan.constants.release_size, replicate_key(seed, replicate)

        def supply(role: str, place: int) -> Any:
            if role == HELPER:
                return simulated_helper_secrets(plan, place, seed, replicate)
            if role != BUYER:
                return None
            return self.room("application").BuyerSupply(
                partial(simulated_noise, size, key, place), world.cost[place], world.capacity,
                simulated_agent_secrets(plan, place, seed, replicate),
            )  # fmt: skip

        return supply

    def syncs(self, run: PartiesRun) -> int:
        return int(run.of(BUYER)[0].state.releases)

    def epsilon_spent(self, plan: PFCBPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run))


SYSTEM = PFCBSystem()
