"""SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits (Ciucanu et al. 2022)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fedbandits.facts import ArmFacts
from fedbandits.federation.roles import Roles, Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.samba.config import PRESETS, Samba

if TYPE_CHECKING:
    from fedbandits.environments.base import Environment
    from fedbandits.privacy.error_rates import Examined
    from fedbandits.systems.application import SharedSecret
    from fedbandits.systems.samba.plan import SambaPlan


class SambaSystem(PackageSystem["SambaPlan"]):
    """SAMBA, the same messages in clear, and one machine that holds everything."""

    name = "samba"
    paper = (
        "Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure "
        "Federated Multi-Armed Bandits"
    )
    config_type = Samba
    presets = PRESETS
    facts_type = ArmFacts

    def shared(self, plan: SambaPlan) -> tuple[SharedSecret, ...]:
        """List Comp's secret for owners; in a silent run a secret for every pair with a link."""
        shared: tuple[SharedSecret, ...] = self.room("keys").shared(plan)
        return shared

    def roles(self, plan: SambaPlan) -> Roles | None:
        """Return customer, Controller, Comp and data owners; None in a plain run."""
        return None if plan.config.execution == "plain" else super().roles(plan)

    def simulated_supplies(
        self, plan: SambaPlan, world: Any, seed: int, replicate: int
    ) -> Supplies:
        """Make secrets from the seed, and a fresh key of the customer's."""
        supplies: Supplies = self.room("application").simulated_supplies(plan, seed, replicate)
        return supplies

    def examine(
        self, plan: SambaPlan, environment: Environment, scale: float = 1.0
    ) -> Examined | None:
        """Make the table of sight, and guesses; None in a plain run."""
        examined: Examined | None = self.room("audit.examination").examine(self, plan, scale)
        return examined

    def syncs(self, run: PartiesRun) -> int:
        """Count iterations of steps 2 to 5 so far."""
        turns: int = run.one("controller").turns
        return turns

    def epsilon_spent(self, plan: SambaPlan, run: PartiesRun) -> float:
        """Return infinity: no ε is claimed, as messages are encrypted, not noisy."""
        return math.inf


SYSTEM = SambaSystem()
