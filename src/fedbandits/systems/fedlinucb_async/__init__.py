"""FedLinUCB (He et al. 2022): agents that exchange with a server one by one, in clear."""

from __future__ import annotations

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.base import Family
from fedbandits.systems.fedlinucb_async.claim import claim
from fedbandits.systems.fedlinucb_async.config import AsyncFedLinUCB
from fedbandits.systems.fedlinucb_async.presets import PRESETS
from fedbandits.systems.fedlinucb_async.simulate import AsyncSimulation

FAMILY = Family(
    paper="He, Wang, Min & Gu 2022, A Simple and Provably Efficient Algorithm for Asynchronous "
    "Federated Contextual Linear Bandits",
    config_type=AsyncFedLinUCB,
    presets=PRESETS,
    simulate=AsyncSimulation,
    claim=claim,
    plays_in=ContextualEnvironment,
)

__all__ = ["FAMILY", "PRESETS", "AsyncFedLinUCB", "AsyncSimulation", "claim"]
