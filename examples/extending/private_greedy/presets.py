"""Named variants."""

from __future__ import annotations

from fedbandits.systems import Preset

PRESETS = {
    "private-greedy": Preset("ε-greedy on counts and sums that agents share with noise", {}),
    "greedy-in-clear": Preset("the same without noise: what privacy costs here", {"noise": "none"}),
}
