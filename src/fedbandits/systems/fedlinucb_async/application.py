"""How applications ask an agent for decisions, and what each party brings."""

from __future__ import annotations

from fedbandits.systems.agents.application import application, supply

__all__ = ["application", "supply"]
