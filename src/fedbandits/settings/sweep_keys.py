"""The keys of a sweep, and the notation of their values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fedbandits._schema import shown
from fedbandits.errors import ConfigError
from fedbandits.settings.toml_files import parse_toml, steps_in

#: Largest number of points of a sweep.
MOST_POINTS = 10_000
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "\"'"
_RANGE = re.compile(r"(?P<low>[^:,]+):(?P<high>[^:,]+):(?P<kind>log|lin)(?P<count>\d{1,4})\Z")
#: Keys that cannot be swept, with the reason.
_REFUSED = {
    "seed": "all points have the same seed, so that they can be compared; raise replicates to see "
    "how results scatter",
    "replicates": "all points have the same number of replicates",
    "checkpoints": "it changes what is kept, and nothing that is played",
    "name": "it names the whole sweep",
    "best_alone": "it names a system in the results of all points",
    "module": "all points run the same code",
    "module_digests": "all points run the same code",
    "environment.kind": "environments have different keys; write an experiment for each",
}
_REFUSED_OF_SYSTEMS = {
    "preset": "presets are compared side by side; write a [[systems]] table for each",
    "label": "it names a system in the results of all points",
}
_FORM = (
    'allowed: rounds, environment.KEY or systems.WHICH.KEY, where WHICH is a label, a number or "*"'
)


class SweepKeys(msgspec.Struct, frozen=True):
    """The keys of a configuration that make it a sweep.

    Parameters
    ----------
    sweep
        Keys that take several values, each with the list of its values:
        ``"systems.*.epsilon" = [0.3, 1.0]``. All combinations are run. A file with this table is a
        sweep.
    """

    sweep: dict[str, Any] = msgspec.field(default_factory=dict)


def take_sweep(raw: dict[str, Any]) -> dict[str, Any]:
    """Remove the table ``[sweep]`` from a configuration, in place; return it with full paths."""
    given = raw.pop("sweep", {})
    if not isinstance(given, dict):
        raise ConfigError(
            f"sweep: given {shown(given)}, allowed: a table [sweep] of keys, each with the list of "
            "its values"
        )
    return dict(_flat(given, ""))


def without_sweep(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the table of one experiment; refuse the table of a sweep, which is many experiments."""
    table = dict(raw)
    swept = take_sweep(table)
    if swept:
        raise ConfigError(
            f"sweep: this configuration is a sweep over {', '.join(swept)}, so it is many "
            "experiments. Run it with `fedbandits run` or fb.sweep. For one of them, empty the "
            "table with --set sweep={}, and set the key"
        )
    return table


def parse_option(option: str) -> tuple[str, list[Any]]:
    """Read ``key.path=value,value,…`` of a command line: the key, and its values.

    Values are in TOML notation; a bare word is a string. Commas in quotes and brackets belong to a
    value. ``0.1:10:log5`` is five values from 0.1 to 10 with equal ratios, ``0:8:lin5`` with equal
    steps.
    """
    path, equals, text = option.partition("=")
    pieces = list(_pieces(text))
    if not equals or not path.strip() or not all(pieces) or "\n" in option:
        raise ConfigError(f"--sweep {option}: write key.path=value,value,…")
    values = [value for piece in pieces for value in _values(piece)]
    if len(values) == 1 and isinstance(values[0], list):  # written as in a file
        values = values[0]
    return path.strip(), values


def steps_of(path: str) -> tuple[str, ...]:
    """Split a key's path into steps; refuse a key that cannot be swept, with the reason."""
    steps = tuple(steps_in(path))
    whole = ".".join(steps)
    reason = _REFUSED.get(whole) or _REFUSED.get(steps[0] if steps else "")
    if steps[:1] == ("systems",) and len(steps) == 3:
        reason = _REFUSED_OF_SYSTEMS.get(steps[2])
    if reason:
        raise ConfigError(f"sweep.{whole}: cannot be swept: {reason}")
    fits = {
        "rounds": steps == ("rounds",),
        "environment": len(steps) > 1,
        "systems": len(steps) > 2,
    }
    if not steps or not fits.get(steps[0], False):
        raise ConfigError(f"sweep.{whole}: cannot be swept; {_FORM}")
    return steps


def values_of(path: str, given: Any) -> tuple[Any, ...]:
    """Read the values of one key; refuse an empty list, and a repeated value."""
    if isinstance(given, str) and _RANGE.match(given.strip()):
        given = _range(given.strip())
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise ConfigError(
            f"sweep.{path}: given {shown(given)}, allowed: a list of values, such as [0.3, 1.0]"
        )
    values = [value.item() if hasattr(value, "item") else value for value in given]
    seen = set()
    for value in values:
        if _identity(value) in seen:
            raise ConfigError(f"sweep.{path}: has the value {shown(value)} twice; remove one")
        seen.add(_identity(value))
    return tuple(values)


def _flat(table: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        path = f"{place}.{key}" if place else key
        if isinstance(value, dict):
            yield from _flat(value, path)
        else:
            yield path, value


def _pieces(text: str) -> Iterator[str]:
    """Split a text at commas outside of quotes and brackets."""
    depth, quote, begin = 0, "", 0
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in _QUOTES:
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[begin:index].strip()
            begin = index + 1
    yield text[begin:].strip()


def _values(text: str) -> list[Any]:
    """Read the values of one piece; a range has several."""
    if _RANGE.match(text):
        return _range(text)
    try:
        return [parse_toml(f"value = {text}")["value"]]
    except ValueError:  # TOMLDecodeError is a ValueError: a bare word is a string
        return [text]


def _range(text: str) -> list[float]:
    range_ = _RANGE.match(text)
    try:
        low, high = float(range_["low"]), float(range_["high"])  # type: ignore[index]
    except ValueError:
        raise ConfigError(f"sweep: {text}: write LOW:HIGH:log5 or LOW:HIGH:lin5") from None
    count, log = int(range_["count"]), range_["kind"] == "log"  # type: ignore[index]
    if not (math.isfinite(low) and math.isfinite(high) and low < high and count > 1):
        raise ConfigError(f"sweep: {text}: needs LOW < HIGH, and at least 2 values")
    if log and low <= 0.0:
        raise ConfigError(f"sweep: {text}: equal ratios need LOW > 0")
    shares = [index / (count - 1) for index in range(count)]
    values = [low * (high / low) ** s if log else low + (high - low) * s for s in shares]
    rounded = [low, *(float(f"{value:.6g}") for value in values[1:-1]), high]  # ends as written
    return [int(v) if v.is_integer() and not log and "." not in text else v for v in rounded]


def _identity(value: Any) -> tuple[bool, Any]:
    """Return a key that distinguishes values; in Python True is equal to 1."""
    if isinstance(value, int | float | str):
        return isinstance(value, bool), value
    return False, repr(value)
