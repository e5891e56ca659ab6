"""Named variants of asynchronous FedLinUCB."""

from __future__ import annotations

from fedbandits.systems.base import Preset

PRESETS: dict[str, Preset] = {
    "fedlinucb-async": Preset(
        "He et al. 2022: no noise; an agent exchanges with the server when it has learned enough",
        {},
    ),
}
