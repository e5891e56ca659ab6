"""FedUCB (Dubey & Pentland 2020) without a controller: agents that talk over a graph."""

from __future__ import annotations

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.base import Family
from fedbandits.systems.feducb_p2p.audit import games
from fedbandits.systems.feducb_p2p.claim import cautions, claim
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.presets import PRESETS
from fedbandits.systems.feducb_p2p.simulate import PeerSimulation

FAMILY = Family(
    paper="Dubey & Pentland 2020, the same peer to peer (Algorithm 3)",
    config_type=PeerFedUCB,
    presets=PRESETS,
    simulate=PeerSimulation,
    claim=claim,
    plays_in=ContextualEnvironment,
    cautions=cautions,
    games=games,
)

__all__ = ["FAMILY", "PRESETS", "PeerFedUCB", "PeerSimulation", "claim"]
