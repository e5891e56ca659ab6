"""Settings as they are written, and the first difference of two configurations."""

from __future__ import annotations

from typing import Any

import msgspec

from fedbandits._schema import expand
from fedbandits.errors import ConfigError


def written(value: Any) -> Any:
    """A setting as one writes it: a part in short, ``growing(1.5, auto)``, all else as it is.

    Where a part cannot be written in short it is the table that a file would have.
    """
    if not isinstance(value, msgspec.Struct):
        return value
    table = msgspec.to_builtins(value)
    config = type(value).__struct_config__
    arguments = [_argument(table[name]) for name in value.__struct_encode_fields__]
    if config.tag == "file":  # a file's path stands for itself
        short = ", ".join(arguments)
    else:
        short = f"{config.tag}({', '.join(arguments)})" if arguments else str(config.tag)
    return short if _read_back(short, type(value)) == value else table


def _argument(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}" if abs(value) < 1e15 else repr(value)
    return str(value)


def _read_back(short: str, kind: type[msgspec.Struct]) -> msgspec.Struct | None:
    """The part that a short form is read as; None if it cannot be."""
    holder = msgspec.defstruct("Holder", [("part", kind)])
    try:
        table = expand({"part": short}, msgspec.inspect.type_info(holder), "")
        return msgspec.convert(table["part"], kind)
    except (ConfigError, msgspec.ValidationError):
        return None


def settings_of(config: msgspec.Struct) -> dict[str, Any]:
    """All settings of a configuration, each as one writes it."""
    return {name: written(getattr(config, name)) for name in config.__struct_fields__}


def changed(config: msgspec.Struct, usual: msgspec.Struct) -> dict[str, Any]:
    """The settings of one configuration that are not those of another, as one writes them."""
    return {
        name: written(getattr(config, name))
        for name in config.__struct_fields__
        if getattr(config, name) != getattr(usual, name)
    }
