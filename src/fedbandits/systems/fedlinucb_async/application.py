"""How applications ask an agent for decisions, what each party brings, and what it learns."""

from __future__ import annotations

from fedbandits.systems.agents.application import application, supply
from fedbandits.systems.agents.export import export

__all__ = ["application", "export", "supply"]
