"""Files as bytes: what can be read only once, such as a pipe, is kept for as long as this runs."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import stat
import threading
from typing import NamedTuple

from fedbandits.errors import ConfigError, DataError

#: What pipes held, by path, device and number.
_PIPES: dict[tuple[str, int, int], bytes] = {}
_READING = threading.Lock()
_RELATIVE = "no such file; a path is relative to the folder in which the command is run"


class Stamp(NamedTuple):
    """A sign that tells versions of a file apart without reading it."""

    path: str
    size: int = -1
    changed: int = -1


def stamp(path: str) -> Stamp:
    """Return the stamp of a file; that of a missing one says so, and a pipe has but one version."""
    try:
        found = pathlib.Path(path).stat()
    except (OSError, ValueError):
        return Stamp(path)
    if stat.S_ISFIFO(found.st_mode):
        return Stamp(path, changed=found.st_ino)
    return Stamp(path, found.st_size, found.st_mtime_ns)


def is_pipe(path: str) -> bool:
    """Tell whether a path is that of a pipe, which can be read only once."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def file_digest_of(path: str) -> str:
    """Compute SHA-256 of a file; empty if it cannot be read."""
    try:
        return _digest(stamp(path))
    except (OSError, DataError):
        return ""


@functools.lru_cache(maxsize=64)
def _digest(file: Stamp) -> str:
    if is_pipe(file.path):
        return f"sha256:{hashlib.sha256(read_bytes(file.path)).hexdigest()}"
    with pathlib.Path(file.path).open("rb") as opened:
        return f"sha256:{hashlib.file_digest(opened, 'sha256').hexdigest()}"


def read_bytes(path: str, missing: str = _RELATIVE) -> bytes:
    """Read a whole file or pipe.

    Raises DataError if it cannot be read; where there is no such file, it says ``missing``.
    """
    try:
        found = pathlib.Path(path).stat()
        if stat.S_ISFIFO(found.st_mode):
            with _READING:
                key = (path, found.st_dev, found.st_ino)
                if key not in _PIPES:
                    _PIPES[key] = pathlib.Path(path).read_bytes()
                return _PIPES[key]
        if stat.S_ISCHR(found.st_mode):
            raise DataError(f"{path}: is a terminal or another device; give a file or a pipe")
        return pathlib.Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: {missing}") from None
    except (OSError, ValueError) as error:  # ValueError: a path that cannot be one
        raise DataError(f"{path!r}: cannot be read: {type(error).__name__}") from None


def refuse_elsewhere(path: str) -> None:
    """Refuse a path that other machines could not read.

    Raises
    ------
    ConfigError
        If it is empty, of a table from memory, or that of a pipe.
    """
    if not path or is_pipe(path):
        what = "pipe" if path else "table from memory"
        raise ConfigError(
            f"environment.path: a {what} is not there on the machines of a cluster; "
            "write it to a file that all of them can read, and set path"
        )
