"""Values of states and messages as plain values, cut to what fits on a page."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from fedbandits.federation.messages import Message

#: So many entries of a list are shown, and so many bytes.
MOST = 12
#: What every message has, whatever is in it.
ENVELOPE = frozenset(Message.__struct_fields__)


def shown(value: Any) -> Any:
    """Return ``value`` as a plain value that fits in JSON.

    Bytes become their length and beginning, arrays their shape and beginning. Of lists and tables
    the first entries are left, and how many follow.
    """
    if value is None or isinstance(value, str | bool | int):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return {"bytes": len(value), "hex": value[:MOST].hex()}
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "begin": [shown(v) for v in _first(value)]}
    if isinstance(value, np.generic):
        return shown(value.item())
    if isinstance(value, msgspec.Struct):
        return fields_of(value)
    if hasattr(value, "_asdict"):  # a named tuple
        return {name: shown(each) for name, each in value._asdict().items()}
    if isinstance(value, dict):
        return _table(value)
    if isinstance(value, Iterable):
        return _list(list(value))
    return repr(value)


def fields_of(value: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a struct as plain values, without the envelope of a message."""
    hidden = ENVELOPE if isinstance(value, Message) else frozenset()
    names = (name for name in value.__struct_fields__ if name not in hidden)
    return {name: shown(getattr(value, name)) for name in names}


def _first(array: Any) -> list[Any]:
    first: list[Any] = array.ravel()[:MOST].tolist()
    return first


def _list(values: list[Any]) -> list[Any]:
    found = [shown(value) for value in values[:MOST]]
    return [*found, f"and {len(values) - MOST} more"] if len(values) > MOST else found


def _table(values: dict[Any, Any]) -> dict[str, Any]:
    found = {_key(key): shown(value) for key, value in islice(values.items(), MOST)}
    return found | {"more": len(values) - MOST} if len(values) > MOST else found


def _key(key: Any) -> str:
    return key[:MOST].hex() if isinstance(key, bytes) else str(key)
