"""The memory of a learner in plain Python as bytes, and back: exact, with arrays at any depth."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from fedbandits.errors import LearnerError, SnapshotError

_ARRAY, _SCALAR, _TUPLE = 1, 2, 3
_KINDS = "biuf"
_ENCODER, _PLAIN = msgspec.msgpack.Encoder(), (bool, int, float, str, bytes, type(None))


def pack_memory(memory: dict[str, Any], owner: str) -> bytes:
    """Pack everything that a learner keeps, by the names of its attributes.

    It may keep numbers, texts, arrays of numbers, and lists, tuples and tables of these. Raises
    LearnerError with the attribute of ``owner`` that holds something else.
    """
    return _ENCODER.encode({name: _packed(v, f"{owner}.{name}") for name, v in memory.items()})


def unpack_memory(data: bytes) -> dict[str, Any]:
    """Unpack what :func:`pack_memory` packed into new arrays; SnapshotError if it is no such."""
    try:
        found = msgspec.msgpack.decode(data, type=dict[str, Any], ext_hook=_unpacked)
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise SnapshotError(f"the saved memory of a learner has another layout: {error}") from None
    return found


def _packed(value: Any, place: str) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        return msgspec.msgpack.Ext(_ARRAY, _array_bytes(value))
    if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
        return msgspec.msgpack.Ext(_SCALAR, _array_bytes(np.asarray(value)))
    if isinstance(value, list):
        return [_packed(inner, f"{place}[{i}]") for i, inner in enumerate(value)]
    if isinstance(value, tuple):
        inside = [_packed(inner, f"{place}[{i}]") for i, inner in enumerate(value)]
        return msgspec.msgpack.Ext(_TUPLE, _ENCODER.encode(inside))
    if isinstance(value, dict) and all(type(key) in (str, int) for key in value):
        return {key: _packed(inner, f"{place}[{key!r}]") for key, inner in value.items()}
    raise LearnerError(
        f"{place}: is a {type(value).__name__}, which cannot be saved; keep numbers, texts, arrays "
        "of numbers, and lists or tables of these, or write your own dump and load"
    )


def _array_bytes(value: np.ndarray[Any, Any]) -> bytes:
    little = value.dtype.newbyteorder("<")
    return _ENCODER.encode((little.str, value.shape, np.ascontiguousarray(value, little).tobytes()))


def _unpacked(code: int, data: memoryview) -> Any:
    if code == _TUPLE:
        return tuple(msgspec.msgpack.decode(data, type=list[Any], ext_hook=_unpacked))
    dtype, shape, content = msgspec.msgpack.decode(data, type=tuple[str, tuple[int, ...], bytes])
    if np.dtype(dtype).kind not in _KINDS:
        raise ValueError("an array of an unknown type")
    array = np.frombuffer(content, dtype).reshape(shape).copy()
    return array[()] if code == _SCALAR else array
