"""Lines between the server and its processes: how one is told, and what an error looks like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedbandits.errors import ConfigError

#: Tells the server one line, given by its parts.
Tell = Callable[..., None]


def error_of(error: Exception) -> dict[str, Any]:
    """Return an error as the page reads it: the message, and the key that it is about."""
    table: dict[str, Any] = {"message": str(error), "path": None, "given": None, "allowed": None}
    if isinstance(error, ConfigError):
        table |= {"path": error.path, "given": error.given, "allowed": error.allowed}
    return table
