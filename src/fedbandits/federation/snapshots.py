"""A party's state as bytes, and back: exact, checked, and the same bytes for the same state."""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

import msgspec
import numpy as np

from fedbandits._schema import prepared
from fedbandits.errors import SnapshotError

_CHECKSUM_BYTES = 16
_ARRAYS = {"<f8", "<f4", "<i8", "<u8", "<u4", "|b1", "|u1"}
AnyState = TypeVar("AnyState")


def _encode_array(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.newbyteorder("<").str in _ARRAYS:
        little = value.dtype.newbyteorder("<")
        return little.str, value.shape, np.ascontiguousarray(value, little).tobytes()
    raise NotImplementedError(f"a party's state has a value of type {type(value).__name__}")


def _decode_array(kind: Any, value: Any) -> Any:
    del kind
    dtype, shape, data = value
    if dtype not in _ARRAYS:
        raise ValueError("an array of an unknown type")
    return np.frombuffer(data, dtype).reshape(shape).copy()


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode_array)


def plain(state: Any) -> bytes:
    """Encode a struct of numbers, texts, arrays and structs."""
    return _ENCODER.encode(state)


def read(kind: type[AnyState], data: bytes | msgspec.Raw) -> AnyState:
    """Decode bytes of :func:`plain`; arrays are new and writable.

    Raises SnapshotError if the bytes have another layout.
    """
    try:
        return msgspec.msgpack.decode(data, type=prepared(kind), dec_hook=_decode_array)
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise SnapshotError(f"a saved state has another layout: {error}") from None


def encode(state: Any) -> bytes:
    """Encode as :func:`plain` does, with a checksum in front."""
    body = plain(state)
    return hashlib.blake2b(body, digest_size=_CHECKSUM_BYTES).digest() + body


def decode(kind: type[AnyState], data: bytes) -> AnyState:
    """Decode bytes of :func:`encode`; raises SnapshotError if they are damaged."""
    body = data[_CHECKSUM_BYTES:]
    if hashlib.blake2b(body, digest_size=_CHECKSUM_BYTES).digest() != data[:_CHECKSUM_BYTES]:
        raise SnapshotError("a saved state is damaged: its checksum is wrong")
    return read(kind, body)
