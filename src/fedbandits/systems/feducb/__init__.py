"""FedUCB (Dubey & Pentland 2020): agents that share a linear model, with a controller."""

from __future__ import annotations

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.base import Family
from fedbandits.systems.feducb.audit import games
from fedbandits.systems.feducb.claim import claim
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.presets import PRESETS
from fedbandits.systems.feducb.simulate import Simulation

FAMILY = Family(
    paper="Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits",
    config_type=FedUCB,
    presets=PRESETS,
    simulate=Simulation,
    claim=claim,
    plays_in=ContextualEnvironment,
    games=games,
)

__all__ = ["FAMILY", "PRESETS", "FedUCB", "Simulation", "claim"]
