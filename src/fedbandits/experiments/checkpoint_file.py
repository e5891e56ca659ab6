"""The file of one checkpoint: its header is checked before anything of its size is read.

A line that names the format; SHA-256 of the header, its length; the header, JSON; the arrays' bytes
one after another, as they are in memory. Nothing is packed, so a file holds no more than its size.
The digests show damage. They have no key: who can write checkpoints can write any result.
"""

from __future__ import annotations

import hashlib
import math
import os
import pathlib
import stat
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits.errors import CheckpointError

_NAME = b"fedbandits checkpoint "
_MAGIC = _NAME + b"6\n"
_PREFIX = len(_MAGIC) + 32 + 8
#: A header holds a configuration, a name and a shape for each array, and times.
_LARGEST_HEADER = 16 << 20

Arrays = Mapping[str, NDArray[Any]]
#: Name, type and shape of an array.
Layout = tuple[str, str, tuple[int, ...]]


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The identity of a checkpoint, its place, and the arrays that follow."""

    #: Identity of the code, of the configuration, of systems and of a world from elsewhere.
    kernels: str
    config: str
    systems: tuple[str, ...]
    environment: str = ""
    position: int = 0  # the next checkpointed round
    spells: tuple[tuple[float, float], ...] = ()  # when it was being played
    arrays: tuple[Layout, ...] = ()  # in the order of their bytes
    digest: str = ""  # SHA-256 of these bytes


class Opened(NamedTuple):
    """A checkpoint of which the header alone was read."""

    file: pathlib.Path
    header: Header
    start: int  # of the arrays' bytes
    size: int  # of the file


def layout_of(arrays: Arrays) -> tuple[Layout, ...]:
    """Return the names, types and shapes of arrays."""
    return tuple((name, a.dtype.str, tuple(a.shape)) for name, a in arrays.items())


def encode(header: Header, arrays: Arrays) -> bytes:
    """Encode a file; the header's ``arrays`` and ``digest`` are filled in here."""
    body = b"".join(array.tobytes() for array in arrays.values())
    filled = msgspec.structs.replace(
        header, arrays=layout_of(arrays), digest=hashlib.sha256(body).hexdigest()
    )
    head = msgspec.json.encode(filled)
    length = len(head).to_bytes(8, "little")
    return b"".join((_MAGIC, hashlib.sha256(head).digest(), length, head, body))


def open_file(file: pathlib.Path) -> Opened | None:
    """Read a file's header; None if there is no file.

    Raises CheckpointError if it is damaged, of another format, or no file.
    """
    found = _read(file, 0, _PREFIX)
    if found is None:
        return None
    prefix, size = found
    if not prefix.startswith(_MAGIC):
        if prefix.startswith(_NAME):
            raise CheckpointError(
                f"{file}: a checkpoint of another format; "
                "run without --resume, or choose another --out"
            )
        damaged(file)
    length = int.from_bytes(prefix[-8:], "little")
    if len(prefix) < _PREFIX or length > min(_LARGEST_HEADER, size - _PREFIX):
        damaged(file)
    head = _part(file, _PREFIX, length)
    if hashlib.sha256(head).digest() != prefix[len(_MAGIC) : -8]:
        damaged(file)
    return Opened(file, _decoded(file, head), _PREFIX + length, size)


def read_arrays(opened: Opened, expected: tuple[Layout, ...]) -> dict[str, NDArray[Any]]:
    """Read the arrays, in the expected layout and no other.

    If layout or size is another one, CheckpointError is raised before anything is read.
    """
    if opened.header.arrays != expected:
        damaged(opened.file)
    sizes = [np.dtype(kind).itemsize * math.prod(shape) for _, kind, shape in expected]
    if opened.size != opened.start + sum(sizes):
        damaged(opened.file)
    body = _part(opened.file, opened.start, sum(sizes))
    if hashlib.sha256(body).hexdigest() != opened.header.digest:
        damaged(opened.file)
    arrays, at = {}, 0
    for (name, kind, shape), size in zip(expected, sizes, strict=True):
        flat = np.frombuffer(body, np.dtype(kind), math.prod(shape), at)
        arrays[name], at = flat.reshape(shape).copy(), at + size
    return arrays


def damaged(file: pathlib.Path) -> NoReturn:
    """Refuse a file with a CheckpointError."""
    raise CheckpointError(f"{file}: damaged; delete it or run without --resume")


def _decoded(file: pathlib.Path, head: bytes) -> Header:
    try:
        header = msgspec.json.decode(head, type=Header)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        damaged(file)
    times = [time for spell in header.spells for time in spell]
    if header.position < 0 or not all(map(math.isfinite, times)):
        damaged(file)
    return header


def _part(file: pathlib.Path, start: int, length: int) -> bytes:
    found = _read(file, start, length)
    if found is None or len(found[0]) != length:
        damaged(file)
    return found[0]


def _read(file: pathlib.Path, start: int, length: int) -> tuple[bytes, int] | None:
    """Read so many bytes of a file, and its size; None if there is no file."""
    try:
        # Not to wait for the other end of a pipe that lies there.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                damaged(file)
            stream.seek(start)
            return stream.read(length), found.st_size
    except FileNotFoundError:
        return None
    except OSError:
        damaged(file)
