"""One key of a TOML text is changed, and everything else stays: comments, order, blank lines."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import tomli_w

from fedbandits._schema import shown
from fedbandits.errors import ConfigError
from fedbandits.settings.reference.keys import in_toml
from fedbandits.settings.toml_files import parse_toml, steps_in

#: The most steps of a path.
_DEEPEST = 20
_HEADER = re.compile(r"\s*\[(\[?)\s*([\w.-]+)\s*\]?\]\s*(?:#.*)?\Z")


def with_value(text: str, path: str, value: Any) -> str:
    """Return a TOML text in which one key has another value.

    The line of the key is replaced, or a line is added to its table. Where that does not give the
    wanted table, as with values over several lines, the whole text is written anew.

    Parameters
    ----------
    text
        The text, which is valid TOML.
    path
        The key, such as ``rounds`` or ``systems[0].epsilon``.
    value
        The new value; None takes the key out.

    Raises
    ------
    ConfigError
        If the path leads to no table of the text, the text is not valid TOML, or the value cannot
        be written in it.
    """
    steps = steps_in(path)
    if not steps or len(steps) > _DEEPEST:
        raise ConfigError(f"{shown(path)}: leads to no table of this configuration")
    *tables, key = steps
    try:
        wanted = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}") from None
    _assign(wanted, tables, key, value, path)
    try:
        whole = tomli_w.dumps(wanted)
        edited = _edited(text, tables, key, value)
        return edited if edited is not None and parse_toml(edited) == wanted else whole
    except tomllib.TOMLDecodeError:  # a table without a header of its own
        return whole
    except (TypeError, RecursionError):
        raise ConfigError(
            f"{path}: given {shown(value)}, allowed: what TOML can hold, and no null inside"
        ) from None


def _assign(table: Any, tables: list[str], key: str, value: Any, path: str) -> None:
    for step in tables:
        try:
            table = table[int(step)] if isinstance(table, list) else table.setdefault(step, {})
        except (IndexError, ValueError):
            table = None
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: leads to no table of this configuration")
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _edited(text: str, tables: list[str], key: str, value: Any) -> str | None:
    """Change one line of a text; None if its table has no header of its own."""
    lines = text.split("\n")
    span = _span(lines, tables)
    if span is None:
        return None
    begin, end = span
    pattern = re.compile(rf"(\s*{re.escape(key)}\s*=\s*)(.*?)(\s+#.*)?\Z")
    for place in range(begin, end):
        found = pattern.match(lines[place])
        if found:
            new = [] if value is None else [f"{found[1]}{in_toml(value)}{found[3] or ''}"]
            return "\n".join([*lines[:place], *new, *lines[place + 1 :]])
    while end > begin and not lines[end - 1].split("#")[0].strip():
        end -= 1
    new = [] if value is None else [f"{key} = {in_toml(value)}"]
    return "\n".join([*lines[:end], *new, *lines[end:]])


def _span(lines: list[str], tables: list[str]) -> tuple[int, int] | None:
    """Return the first line of a table, and the line behind it."""
    begin, counts = 0 if not tables else None, dict[str, int]()
    for place, line in enumerate(lines):
        found = _HEADER.match(line)
        if not found:
            continue
        if begin is not None:
            return begin, place
        name = [found[2]]
        if found[1]:
            counts[found[2]] = counts.get(found[2], -1) + 1
            name.append(str(counts[found[2]]))
        if name == tables:
            begin = place + 1
    return None if begin is None else (begin, len(lines))
