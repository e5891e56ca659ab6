"""FCLUB as it should be: releases that keep their claim, and clusters as a mixture."""

from __future__ import annotations

from fedbandits.environments.clustered import Clustered
from fedbandits.systems.base import Family
from fedbandits.systems.fclub_mixture.audit import games
from fedbandits.systems.fclub_mixture.claim import claim
from fedbandits.systems.fclub_mixture.config import MixtureFCLUB
from fedbandits.systems.fclub_mixture.presets import PRESETS
from fedbandits.systems.fclub_mixture.simulate import Simulation

FAMILY = Family(
    paper="after Liu et al. 2022, Federated Online Clustering of Bandits",
    config_type=MixtureFCLUB,
    presets=PRESETS,
    simulate=Simulation,
    claim=claim,
    plays_in=Clustered,
    games=games,
)

__all__ = ["FAMILY", "PRESETS", "MixtureFCLUB", "Simulation", "claim"]
