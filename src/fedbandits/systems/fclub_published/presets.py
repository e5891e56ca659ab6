"""Named FCLUB variants: each is a composition of parts, nothing more."""

from __future__ import annotations

from fedbandits.systems.base import Preset

PRESETS: dict[str, Preset] = {
    "fclub-published": Preset(
        "Liu et al. 2022: FCLUB-CDP as published, and its noise is added",
        {
            "privatizer": "published",
            "acts_on": "synchronized",
            "confidence": "lemma",
            "bonus": "root",
            "alpha1": 1.0,
        },
    ),
    "fclub-authors": Preset(
        "the authors' code for FCLUB-CDP: it adds no noise, and merges clusters in another way",
        {
            "merging": "authors",
            "confidence": "authors",
            "exploration_scale": 0.005,
            "regularization": 1.0,
        },
    ),
    "fclub-dc": Preset(
        "Liu et al. 2022 without noise: clusters in phases, delayed communication", {}
    ),
    "fclub-sync": Preset(
        "Liu et al. 2022 without noise; every observation is shared at once", {"sharing": "always"}
    ),
    "club": Preset(
        "Gentile et al. 2014 on every server alone: edges are deleted round by round",
        {
            "clustering": "edges",
            "sharing": "never",
            "alpha1": 0.25,
            "confidence": "practical(0.25)",
            "regularization": 1.0,
            "edge_regularization": 1.0,
        },
    ),
    "sclub": Preset(
        "Li et al. 2019 on every server alone: users leave clusters, and clusters merge",
        {
            "clustering": "sets",
            "sharing": "never",
            "alpha1": 1.5,
            "alpha2": 0.75,
            "regularization": 1.0,
            "edge_regularization": 1.0,
        },
    ),
    "linucb-per-user": Preset(
        "LinUCB for every user alone; the baseline that collaboration must beat",
        {"clustering": "alone", "sharing": "never", "confidence": "practical(15)"},
    ),
    "homo": Preset(
        "one cluster of all users; every observation is shared at once",
        {"clustering": "together", "sharing": "always"},
    ),
    "homo-dc": Preset(
        "one cluster of all users, delayed communication", {"clustering": "together"}
    ),
}
