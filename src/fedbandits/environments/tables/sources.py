"""Sources of tables: a file, or an object in the memory of this process."""

from __future__ import annotations

import functools
import hashlib
import pathlib
from typing import NamedTuple

from fedbandits.environments.tables.delimited import read_delimited
from fedbandits.environments.tables.raw import RawTable
from fedbandits.errors import DataError, MissingExtraError

_PARQUET = b"PAR1"
#: Tables that were given in this process, by their digest.
_HELD: dict[str, RawTable] = {}


class Stamp(NamedTuple):
    """A sign that tells versions of a file apart without reading it."""

    path: str
    size: int = -1
    changed: int = -1


def stamp(path: str) -> Stamp:
    """Return the stamp of a file; that of a missing one says so."""
    try:
        found = pathlib.Path(path).stat()
    except (OSError, ValueError):
        return Stamp(path)
    return Stamp(path, found.st_size, found.st_mtime_ns)


def hold(raw: RawTable) -> str:
    """Keep a table for as long as this process runs; return its digest."""
    digest = raw.digest
    _HELD[digest] = raw
    return digest


def digest_of(path: str) -> str:
    """Compute SHA-256 of a file; empty if it cannot be read."""
    try:
        return _digest(stamp(path))
    except OSError:
        return ""


def read_table(path: str, encoding: str, digest: str) -> RawTable:
    """Read the table of a file; without a ``path``, the one of that digest that was given here.

    Parameters
    ----------
    path
        Path of the file, or empty.
    encoding
        Encoding of a file of text.
    digest
        What the data was when it was recorded; empty for any.

    Raises
    ------
    DataError
        If it is missing, is no table, or is another one than recorded.
    """
    if not path:
        return _held(digest)
    data = _bytes(path)
    there = f"sha256:{hashlib.sha256(data).hexdigest()}"
    if digest and digest != there:
        raise DataError(
            f"environment.digest: {path} has changed since this configuration was recorded; put "
            "the old file back, or remove digest to use the new one"
        )
    if data.startswith(_PARQUET):
        return _parquet(path)
    return read_delimited(path, data, encoding)


def _held(digest: str) -> RawTable:
    if digest not in _HELD:
        raise DataError(
            f"environment.digest: the table {digest[:15] or '(none)'}… was given in another "
            "process, and a run does not store data; give it again with "
            "fb.environments.table(data, …), or write it to a file and set path"
        )
    return _HELD[digest]


@functools.lru_cache(maxsize=64)
def _digest(file: Stamp) -> str:
    with pathlib.Path(file.path).open("rb") as opened:
        return f"sha256:{hashlib.file_digest(opened, 'sha256').hexdigest()}"


def _bytes(path: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(
            f"{path}: no such file; a path is relative to the folder in which the command is run"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path that cannot be one
        raise DataError(f"{path!r}: cannot be read: {type(error).__name__}") from None


def _parquet(path: str) -> RawTable:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError(
            f"{path}: is a Parquet file; install what reads it: pip install 'fedbandits[data]', or "
            "save the table as CSV"
        ) from None
    from fedbandits.environments.tables.frames import table_in_memory

    try:
        frame = parquet.read_table(path).to_pandas()
        return table_in_memory(frame)._replace(name=path)
    except (ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {type(error).__name__}") from None
