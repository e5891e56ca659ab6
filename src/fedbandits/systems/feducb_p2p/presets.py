"""Named peer-to-peer variants: each is a composition of parts, nothing more."""

from __future__ import annotations

from fedbandits.systems.base import Preset

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
