"""Notations of settings for people: short forms, plain Python, units, and tables in a notebook."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from fedbandits._html import brief, call_of, table, titled
from fedbandits._schema import convert, expand, shown
from fedbandits.errors import ConfigError
from fedbandits.systems import find_preset

_UNITS = {
    "ms": 0.001, "s": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0,
    "d": 86_400.0, "day": 86_400.0, "week": 604_800.0,
}  # fmt: skip
_LENGTH_OF_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*\Z")
_LONGEST_TIME = 100 * 365 * 86_400.0


def plain(value: Any) -> Any:
    """Convert numbers and arrays of numpy to Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ConfigError(f"given {shown(value)}, allowed: what a TOML file can hold")


def without_none(table: Any) -> Any:
    """Leave out keys without a value: TOML has no null."""
    if isinstance(table, dict):
        return {key: without_none(value) for key, value in table.items() if value is not None}
    if isinstance(table, list | tuple):
        return [without_none(value) for value in table]
    return table


def seconds(given: float | str, place: str) -> float:
    """Return a length of time in seconds: ``"90 s"``, ``"1.5 h"``, ``"7 days"``, or a number.

    Raises ConfigError, with the place, if the time is not between a millisecond and a hundred
    years.
    """
    length = math.nan
    if isinstance(given, str):
        match = _LENGTH_OF_TIME.match(given)
        if match is not None:
            unit = _UNITS.get(match[2], _UNITS.get(match[2].removesuffix("s"), math.nan))
            length = float(match[1]) * unit
    elif not isinstance(given, bool):
        length = float(given)
    if not 0.001 <= length <= _LONGEST_TIME:
        raise ConfigError(
            f'{place}: given {given!r}, allowed: a length of time such as "30 s", "15 min", "1 h" '
            'or "7 days", or a number of seconds'
        )
    return length


def written(value: Any) -> Any:
    """Write a setting: a part in short, ``growing(1.5, auto)``, other values unchanged.

    A part without a short form is written as the table of a file.
    """
    if not isinstance(value, msgspec.Struct):
        return value
    fields = msgspec.to_builtins(value)
    config = type(value).__struct_config__
    arguments = [_argument(fields[name]) for name in value.__struct_encode_fields__]
    if config.tag == "file":  # the path stands for the file
        short = ", ".join(arguments)
    else:
        short = f"{config.tag}({', '.join(arguments)})" if arguments else str(config.tag)
    return short if _read_back(short, type(value)) == value else fields


def _argument(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}" if abs(value) < 1e15 else repr(value)
    return str(value)


def _read_back(short: str, kind: type[msgspec.Struct]) -> msgspec.Struct | None:
    """Read a part from its short form; return None if it is not readable."""
    holder = msgspec.defstruct("Holder", [("part", kind)])
    try:
        expanded = expand({"part": short}, msgspec.inspect.type_info(holder), "")
        return msgspec.convert(expanded["part"], kind)
    except (ConfigError, msgspec.ValidationError):
        return None


def settings_of(config: msgspec.Struct) -> dict[str, Any]:
    """Return all settings of a configuration, in written form."""
    return {name: written(getattr(config, name)) for name in config.__struct_fields__}


def changed(config: msgspec.Struct, usual: msgspec.Struct) -> dict[str, Any]:
    """Return the settings that differ from those of another configuration, in written form."""
    return {
        name: written(getattr(config, name))
        for name in config.__struct_fields__
        if getattr(config, name) != getattr(usual, name)
    }


def changed_in_preset(preset: str, config: msgspec.Struct) -> dict[str, Any]:
    """Return the settings that differ from the preset's; all settings of an unknown preset."""
    system = find_preset(preset)
    if system is None:
        return settings_of(config)
    return changed(config, convert(system.presets[preset].settings, system.config_type, preset))


def variant_line(preset: str, label: str, config: msgspec.Struct) -> str:
    """Write a preset with its settings as the call that makes it."""
    named = {} if label == preset else {"label": label}
    return call_of("system", named | changed_in_preset(preset, config), preset)


def variant_html(preset: str, label: str, config: msgspec.Struct) -> str:
    """Show all settings of a preset in a notebook, with a mark on changed settings."""
    changed_settings = changed_in_preset(preset, config)
    rows = [
        (key, brief(value), "set here" if key in changed_settings else "")
        for key, value in settings_of(config).items()
    ]
    title = preset if label == preset else f"{preset} as {label!r}"
    return titled(title, table(rows, ("setting", "value", "")))


def experiment_html(
    name: str, numbers: str, environment: str, systems: Iterable[tuple[str, str, msgspec.Struct]]
) -> str:
    """Show an experiment in a notebook; ``systems`` are labels, presets and configurations."""
    rows = [
        (label, preset, call_of("", changed_in_preset(preset, config))[1:-1])
        for label, preset, config in systems
    ]
    return titled(
        f"Experiment {name!r}",
        table([("runs", numbers), ("environment", environment)])
        + table(rows, ("system", "preset", "settings that are not the preset's")),
    )
