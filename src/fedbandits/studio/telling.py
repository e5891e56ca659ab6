"""Lines between the server and its processes: how one is told, and what an error looks like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedbandits.errors import ConfigError
from fedbandits.settings.reference.columns import UnnamedColumnError

#: Tells the server one line, given by its parts.
Tell = Callable[..., None]


def error_of(error: Exception) -> dict[str, Any]:
    """Return an error as the page reads it: the message, and the key that it is about.

    ``asks`` is there if a column must be named: each role, and the columns that may have it.
    """
    message = str(error).removeprefix("init --data: ")
    table: dict[str, Any] = {"message": message, "path": None, "given": None, "allowed": None}
    if isinstance(error, ConfigError):
        table |= {"path": error.path, "given": error.given, "allowed": error.allowed}
    if isinstance(error, UnnamedColumnError):
        table["asks"] = [asked._asdict() for asked in error.asks]
    return table
