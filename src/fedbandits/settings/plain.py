"""Values as a TOML file can hold them."""

from __future__ import annotations

from typing import Any

from fedbandits.errors import ConfigError
from fedbandits.settings.schema import shown


def plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ConfigError(f"given {shown(value)}, allowed: what a TOML file can hold")


def without_none(table: Any) -> Any:
    """TOML has no null: what is not given is left out."""
    if isinstance(table, dict):
        return {key: without_none(value) for key, value in table.items() if value is not None}
    if isinstance(table, list | tuple):
        return [without_none(value) for value in table]
    return table
