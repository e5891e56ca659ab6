"""Named variants: each is a composition of parts, nothing more."""

from __future__ import annotations

from fedbandits.systems.base import Preset

PRESETS: dict[str, Preset] = {
    "fclub": Preset(
        "sound: noisy running sums of users in rounds fixed in advance, clusters as a mixture",
        {},
    ),
    "fclub-released": Preset(
        "servers act on releases alone, so that the claim holds for interactive data too",
        {"local_view": "released"},
    ),
    "fclub-clusters": Preset(
        "one noisy sum a cluster: less noise, a weaker claim, which takes the clusters as public",
        {"releases": "clusters"},
    ),
    "fclub-local": Preset(
        "every server by itself: what clusters bring without any release",
        {"releases": "never"},
    ),
    "fclub-clear": Preset(
        "users' sums leave in clear: what privacy costs",
        {"noise": "none"},
    ),
}
