"""From raw tables to typed structs, with errors that name the place, the value and the remedy."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect

from fedbandits._schema import expand, explain, refuse_odd_numbers, shown
from fedbandits.errors import ConfigError

__all__ = ["convert", "shown"]


@functools.cache
def _type_info(target: Any) -> Any:
    """What a type is made of; a sweep asks for the same few types thousands of times."""
    return inspect.type_info(target)


def convert(raw: Mapping[str, Any], target: Any, place: str) -> Any:
    """Check ``raw`` against a struct type and build it.

    Parameters
    ----------
    raw
        A table as TOML gives it. Parts may be written short: ``"growing(1.5)"`` for
        ``{kind = "growing", factor = 1.5}``, and a path for a part that is called ``file``.
    target
        A msgspec struct type, or a tagged union of such.
    place
        Path of the table in the configuration, empty for its root.

    Raises
    ------
    ConfigError
        Naming the key's path, what was given and what is allowed.
    """
    try:
        refuse_odd_numbers(raw, place)
        expanded = expand(raw, _type_info(target), place)
        return msgspec.convert(expanded, target)
    except RecursionError:
        raise ConfigError(f"{place or 'the configuration'}: is nested too deeply") from None
    except msgspec.ValidationError as error:
        raise ConfigError(explain(error, expanded, target, place)) from None
