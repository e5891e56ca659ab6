"""Named peer-to-peer variants: each is a composition of parts, nothing more."""

from __future__ import annotations

from fedbandits.systems.base import Preset

PRESETS: dict[str, Preset] = {
    "feducb-p2p": Preset(
        "sound: growing batches, everybody pools the newest release of every peer it has heard",
        {},
    ),
    "feducb-p2p-published": Preset(
        "Dubey & Pentland 2020, Algorithm 3: γ estimators in turn, cliques, raw trigger, tree",
        {
            "schedule": "determinant(M log T)",
            "privatizer": "tree(published)",
            "local_view": "raw",
            "confidence": "published",
        },
    ),
}
