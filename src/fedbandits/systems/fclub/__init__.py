"""FCLUB (Liu et al. 2022): users on servers, who fall into clusters that nobody knows."""

from __future__ import annotations

from fedbandits.environments.clustered import Clustered
from fedbandits.systems.base import Family
from fedbandits.systems.fclub.audit import games
from fedbandits.systems.fclub.claim import claim
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.presets import PRESETS
from fedbandits.systems.fclub.simulate import Simulation

FAMILY = Family(
    paper="Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits",
    config_type=FCLUB,
    presets=PRESETS,
    simulate=Simulation,
    claim=claim,
    plays_in=Clustered,
    games=games,
)

__all__ = ["FAMILY", "FCLUB", "PRESETS", "Simulation", "claim"]
