"""The configuration of a peer-to-peer FedUCB variant: FedUCB's parts, on a graph; and presets."""

from __future__ import annotations

import msgspec

from fedbandits.federation.graphs import Complete, Graph
from fedbandits.systems.agents.config import AgentsConfig, Determinant, PositiveInt
from fedbandits.systems.base import Preset


class PeerFedUCB(AgentsConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of FedUCB without a controller (Dubey & Pentland 2020, Algorithm 3).

    Parameters
    ----------
    graph
        Which agents are linked: ``complete``, ``ring``, ``line``, ``star``, ``grid``,
        ``erdos-renyi(p)``, ``barabasi-albert(links)``, or the path of an edge list.
    gamma
        γ, the number of hops that a message travels, one in each round.
    schedule
        When agents release. ``growing``, ``every``, ``evenly`` and ``never`` are fixed in advance:
        all agents release in the same rounds, and add up the newest releases of all peers within γ
        hops. ``determinant`` is Algorithm 3: γ estimators take turns, and an agent can call for a
        sync in its clique.

    Notes
    -----
    The other settings are as for :class:`~fedbandits.systems.agents.config.AgentsConfig`.
    """

    graph: Graph = msgspec.field(default_factory=Complete)
    gamma: PositiveInt = 1

    @property
    def estimators(self) -> int:
        """Number of sets of statistics that an agent keeps; they take turns."""
        return self.gamma if isinstance(self.schedule, Determinant) else 1


PRESETS: dict[str, Preset] = {
    "feducb-p2p": Preset(
        "the sound variant: growing batches; agents add up the newest releases of their peers",
        {},
    ),
    "feducb-p2p-hybrid": Preset(
        "own records, and what peers released as far as its noise allows, in one estimate",
        {"local_view": "joint"},
    ),
    "feducb-p2p-published": Preset(
        "Dubey & Pentland 2020, Algorithm 3: γ estimators, cliques, raw trigger, tree noise",
        {
            "schedule": "determinant(M log T)",
            "privatizer": "tree(published)",
            "local_view": "raw",
            "confidence": "published",
        },
    ),
}
