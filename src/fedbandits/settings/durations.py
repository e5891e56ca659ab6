"""Lengths of time as people write them: ``"90 s"``, ``"1.5 h"``, ``"7 days"``, or seconds."""

from __future__ import annotations

import math
import re

from fedbandits.errors import ConfigError

_UNITS = {
    "ms": 0.001, "s": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0,
    "d": 86_400.0, "day": 86_400.0, "week": 604_800.0,
}  # fmt: skip
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*\Z")
_MOST = 100 * 365 * 86_400.0


def seconds(given: float | str, place: str) -> float:
    """A length of time in seconds.

    Raises
    ------
    ConfigError
        Naming the place, if it is none, or not between a millisecond and a hundred years.
    """
    found = math.nan
    if isinstance(given, str):
        match = _WRITTEN.match(given)
        if match is not None:
            unit = _UNITS.get(match[2], _UNITS.get(match[2].removesuffix("s"), math.nan))
            found = float(match[1]) * unit
    elif not isinstance(given, bool):
        found = float(given)
    if not 0.001 <= found <= _MOST:
        raise ConfigError(
            f'{place}: given {given!r}, allowed: a length of time such as "30 s", "15 min", "1 h" '
            'or "7 days", or a number of seconds'
        )
    return found
