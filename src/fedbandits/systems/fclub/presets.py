"""Named variants: each is a composition of parts, nothing more."""

from __future__ import annotations

from fedbandits.systems.base import Preset

#: What is sent, with which noise, and what users of other servers may change.
_SHARING = (
    "releases", "noise", "local_view", "trust", "epsilon", "delta", "unit", "records_per_person",
)  # fmt: skip

PRESETS: dict[str, Preset] = {
    "fclub": Preset(
        "the sound variant: noisy sums of users in fixed rounds, clusters from a mixture model", {}
    ),
    "fclub-released": Preset(
        "servers act only on releases, so the claim also holds for interactive data",
        {"local_view": "released"},
    ),
    "fclub-clusters": Preset(
        "one noisy sum for each cluster: less noise, but the claim treats clusters as public",
        {"releases": "clusters"},
    ),
    "fclub-local": Preset(
        "servers without communication; shows the benefit of clusters alone",
        {"releases": "never"},
        stands_for="alone",
        sharing=_SHARING,
    ),
    "fclub-clear": Preset(
        "sums of users without noise; the difference is the cost of privacy",
        {"noise": "none"},
        stands_for="pooled",
        sharing=_SHARING,
    ),
}
