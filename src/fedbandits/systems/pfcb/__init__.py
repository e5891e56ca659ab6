"""P-FCB (Solanki et al. 2022): buyers that learn producers' qualities, under a constraint."""

from __future__ import annotations

from fedbandits.environments.procurement import Procurement
from fedbandits.systems.base import Family
from fedbandits.systems.pfcb.audit import games
from fedbandits.systems.pfcb.claim import cautions, claim
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.presets import PRESETS
from fedbandits.systems.pfcb.simulate import Simulation

FAMILY = Family(
    paper="Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with "
    "Constraints",
    config_type=PFCB,
    presets=PRESETS,
    simulate=Simulation,
    claim=claim,
    plays_in=Procurement,
    cautions=cautions,
    games=games,
)

__all__ = ["FAMILY", "PFCB", "PRESETS", "Simulation", "claim"]
