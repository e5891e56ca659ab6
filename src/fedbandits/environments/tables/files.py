"""Files as bytes and as text: pipes are kept, packed files unpacked, others refused."""

from __future__ import annotations

import bz2
import functools
import gzip
import hashlib
import io
import lzma
import os
import pathlib
import stat
import threading
import zipfile
import zlib
from collections.abc import Callable
from typing import NamedTuple

from fedbandits.errors import ConfigError, DataError

#: Contents of pipes, by path, device and number.
_PIPES: dict[tuple[str, int, int], bytes] = {}
_READING = threading.Lock()
_RELATIVE = "no such file; a path is relative to the folder in which the command is run"
#: Largest unpacked size in bytes: larger files are hardly tables, and fill a machine's memory.
MOST_UNPACKED = 2**31
#: First bytes of packed files, and functions that open them.
_OPENED: dict[bytes, Callable[[io.BytesIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_ZIP = b"PK\x03\x04"
#: First bytes of files that another program must unpack, and the command.
_OTHERS = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"7z\xbc\xaf\x27\x1c": "7z x",
    b"Rar!": "unrar x",
    b"\x1f\x9d": "uncompress",
    b"\x04\x22\x4d\x18": "lz4 -d",
}


class Stamp(NamedTuple):
    """A sign that identifies versions of a file without reading it."""

    path: str
    size: int = -1
    changed: int = -1


def stamp(path: str) -> Stamp:
    """Return the stamp of a file; a missing file has a stamp too, and a pipe has one version."""
    try:
        status = pathlib.Path(path).stat()
    except (OSError, ValueError):
        return Stamp(path)
    if stat.S_ISFIFO(status.st_mode):
        return Stamp(path, changed=status.st_ino)
    return Stamp(path, status.st_size, status.st_mtime_ns)


def is_pipe(path: str) -> bool:
    """Tell whether a path is a pipe, which can be read only once."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def file_digest_of(path: str) -> str:
    """Compute SHA-256 of a file; empty if the file cannot be read."""
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

    Raises DataError if the file cannot be read; ``missing`` is the text of the error for a missing
    file.
    """
    try:
        status = pathlib.Path(path).stat()
        if stat.S_ISFIFO(status.st_mode):
            with _READING:
                key = (path, status.st_dev, status.st_ino)
                if key not in _PIPES:
                    _PIPES[key] = pathlib.Path(path).read_bytes()
                return _PIPES[key]
        if stat.S_ISCHR(status.st_mode):
            raise DataError(f"{path}: is a terminal or another device; give a file or a pipe")
        return pathlib.Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: {missing}") from None
    except (OSError, ValueError) as error:  # ValueError: an impossible path
        raise DataError(f"{path!r}: cannot be read: {type(error).__name__}") from None


def refuse_elsewhere(path: str) -> None:
    """Refuse a path that other machines could not read.

    Raises
    ------
    ConfigError
        If the ``path`` is empty, for a table from memory, or a pipe.
    """
    if not path or is_pipe(path):
        what = "pipe" if path else "table from memory"
        raise ConfigError(
            f"environment.path: a {what} is not there on the machines of a cluster; "
            "write it to a file that all of them can read, and set path"
        )


def unpacked(path: str, data: bytes, most: int = MOST_UNPACKED) -> bytes:
    """Unpack the content of a file, whatever its name; return other content unchanged.

    Raises DataError if the content is damaged, holds several files, or unpacks to more than
    ``most`` bytes. No more than ``most`` bytes are ever unpacked, since a small file may be made to
    fill the memory. Errors name ``path``.
    """
    for beginning, command in _OTHERS.items():
        if data.startswith(beginning):
            raise DataError(f"{path}: is compressed; unpack it first ({command})")
    try:
        content = _start(path, data, most + 1)
    except (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zlib.error,
            lzma.LZMAError, zipfile.BadZipFile) as error:  # fmt: skip
        raise DataError(f"{path}: cannot be unpacked: {error}; unpack it first") from None
    if content is None:
        return data
    if len(content) > most:
        raise DataError(
            f"{path}: unpacks to more than {most / 2**30:g} GiB; if that is right, unpack it "
            "first, and give the file that it holds"
        )
    return content


def _start(path: str, data: bytes, size: int) -> bytes | None:
    """Unpack at most ``size`` bytes; None if the content is not packed."""
    if data.startswith(_ZIP):
        return _start_of_zip(path, data, size)
    for beginning, opened in _OPENED.items():
        if data.startswith(beginning):
            with opened(io.BytesIO(data)) as file:
                return file.read(size)
    return None


def _start_of_zip(path: str, data: bytes, size: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        names = [name for name in opened.namelist() if not name.endswith("/")]
        names = [name for name in names if not name.startswith("__MACOSX/")]
        if "[Content_Types].xml" in names or "mimetype" in names:
            raise DataError(f"{path}: is a spreadsheet or another document; save it as CSV (UTF-8)")
        if len(names) != 1:
            raise DataError(
                f"{path}: is a zip file of {len(names)} files; unpack it, and give one of them"
            )
        with opened.open(names[0]) as file:
            return file.read(size)


def read_text(path: str, missing: str = "no such file") -> str:
    """Read a whole file, UTF-8 with or without a byte order mark.

    Raises DataError if the file is no text; ``missing`` is the text of the error for a missing
    file.
    """
    data = unpacked(path, read_bytes(path, missing))
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
    except ValueError as error:
        raise DataError(f"{path!r}: cannot be read as text: {type(error).__name__}") from None


def is_whole(text: str) -> bool:
    """Tell whether a word is a whole number ≥ 0 in plain digits, few enough for 64 bits."""
    return text.isascii() and text.isdigit() and len(text) <= 18
