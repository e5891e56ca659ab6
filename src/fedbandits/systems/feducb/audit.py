"""FedUCB with a controller in two neighbouring worlds, for an audit."""

from __future__ import annotations

from fedbandits.systems.agents.audit import games, noise_checks

__all__ = ["games", "noise_checks"]
