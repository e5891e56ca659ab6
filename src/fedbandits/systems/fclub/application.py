"""How applications ask a local server for recommendations, and what each party brings."""

from __future__ import annotations

from fedbandits.systems.servers.application import application, supply

__all__ = ["application", "supply"]
