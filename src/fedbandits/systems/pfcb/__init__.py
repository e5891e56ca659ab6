"""P-FCB (Solanki et al. 2022): buyers that learn producers' qualities, under a constraint."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fedbandits.environments.facts import ProcurementFacts
from fedbandits.federation.roles import Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.random import replicate_key
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.presets import PRESETS
from fedbandits.systems.simulated import simulated_noise

if TYPE_CHECKING:
    from fedbandits.systems.pfcb.plan import PFCBPlan


class PFCBSystem(PackageSystem["PFCBPlan"]):
    """P-FCB, and what it is compared with."""

    name = "pfcb"
    paper = (
        "Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with "
        "Constraints"
    )
    config_type = PFCB
    presets = PRESETS
    facts_type = ProcurementFacts

    def cautions(self, plan: PFCBPlan) -> tuple[str, ...]:
        found: tuple[str, ...] = self.room("claim").cautions(plan)
        return found

    def simulated_supplies(self, plan: PFCBPlan, world: Any, seed: int, replicate: int) -> Supplies:
        size, key = 2 * plan.constants.producers, replicate_key(seed, replicate)

        def supply(role: str, place: int) -> Any:
            del role
            noise = partial(simulated_noise, size, key, place)
            return self.room("roles").BuyerSupply(noise, world.cost[place], world.capacity)

        return supply

    def syncs(self, run: PartiesRun) -> int:
        return int(run.of("buyer")[0].state.releases)

    def epsilon_spent(self, plan: PFCBPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(self.syncs(run))


SYSTEM = PFCBSystem()
