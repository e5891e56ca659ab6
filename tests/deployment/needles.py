"""Secrets that must not be found in traffic, in all the ways in which they could be written."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np

from fedbandits.federation.messages import Codec

#: Numbers that are written shorter are found anywhere by chance.
_LEAST = 8


def written(numbers: Iterable[float]) -> Iterator[bytes]:
    """Numbers as float64 of either byte order, msgpack (which is one of them), and decimal text.

    As float32 two of them in a row: four bytes are found by chance.
    """
    row = [float(number) for number in numbers]
    for number in row:
        text = repr(number).encode()
        if len(text) >= _LEAST:
            yield from (struct.pack("<d", number), struct.pack(">d", number), text)
    with np.errstate(over="ignore"):
        for first, second in itertools.pairwise(row):
            if min(len(repr(first)), len(repr(second))) >= _LEAST:
                for order in "<>":
                    yield np.array([first, second], f"{order}f4").tobytes()


def numbers_in(value: Any) -> list[float]:
    """All numbers of a plain value, in order."""
    if isinstance(value, bool | str | bytes) or value is None:
        return []
    if isinstance(value, int | float | np.floating):
        return [float(value)]
    if isinstance(value, np.ndarray):
        return [float(number) for number in value.ravel()]
    if isinstance(value, msgspec.Struct):
        return numbers_in(msgspec.structs.astuple(value))
    if isinstance(value, dict):
        return numbers_in(tuple(value.values()))
    return [number for each in value for number in numbers_in(each)]


def contents_of(codec: Codec, body: bytes) -> Iterator[bytes]:
    """What of a message must not be found: its type, its statistics as a whole and one by one."""
    message = codec.decode(body)
    yield str(type(message).__struct_config__.tag).encode()
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, bytes) and len(value) >= _LEAST:
            yield value
            if len(value) % 8 == 0:
                yield from written(np.frombuffer(value))
        elif isinstance(value, float):
            yield from written([value])
        elif isinstance(value, tuple):
            yield from (each for each in value if isinstance(each, bytes) and len(each) >= _LEAST)
            yield from written(numbers_in([each for each in value if isinstance(each, float)]))


def found(needles: set[bytes], frames: Iterable[bytes]) -> set[bytes]:
    """Which of them occur in the frames; such as are nearly all zeros occur in any header."""
    traffic = b"\0".join(frames)
    telling = {needle for needle in needles if len(set(needle)) > 4}
    return {needle for needle in telling if needle in traffic}
