"""Named FedUCB variants: each is a composition of parts, nothing more."""

from __future__ import annotations

from fedbandits.systems.base import Preset

_IN_CLEAR = {"privatizer": "none"}

PRESETS: dict[str, Preset] = {
    "feducb": Preset("sound: growing batches, Toeplitz noise, agents act on releases alone", {}),
    "feducb-published": Preset(
        "Dubey & Pentland 2020 as published: determinant trigger, tree noise, raw local view",
        {
            "schedule": "determinant(M log T)",
            "privatizer": "tree(published)",
            "local_view": "raw",
            "confidence": "published",
        },
    ),
    "feducb-nonprivate": Preset("the sound variant without noise: what privacy costs", _IN_CLEAR),
    "linucb-alone": Preset(
        "no communication: what collaboration brings",
        {**_IN_CLEAR, "schedule": "never", "local_view": "raw"},
    ),
    "linucb-pooled": Preset(
        "every record shared in clear after every round: the floor",
        {**_IN_CLEAR, "schedule": "every(1)"},
    ),
    "dislinucb": Preset(
        "Wang et al. 2020: in clear, all sync when a determinant has grown enough",
        {**_IN_CLEAR, "schedule": "determinant(wang)", "local_view": "raw"},
    ),
    "ldp-silo": Preset(
        "Zhou & Chowdhury 2024: equal batches, calibrated tree, agents act on own raw records",
        {"schedule": "every(auto)", "privatizer": "tree", "local_view": "raw"},
    ),
}
