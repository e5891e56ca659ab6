"""SAMBA (Ciucanu et al. 2022): secure federated bandits, one arm a data owner."""

from __future__ import annotations

from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.systems.base import Family
from fedbandits.systems.samba.claim import claim
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.presets import PRESETS
from fedbandits.systems.samba.simulate import Simulation

FAMILY = Family(
    paper="Ciucanu et al. 2022, Samba: A Generic Framework for Secure Federated Bandits",
    config_type=Samba,
    presets=PRESETS,
    simulate=Simulation,
    claim=claim,
    plays_in=Bernoulli,
)

__all__ = ["FAMILY", "PRESETS", "Samba", "Simulation", "claim"]
