"""Packed files: one that gzip, bzip2, xz or zip has packed is read as what is in it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable

from fedbandits.errors import DataError

#: Bytes that a file may unpack to: more are hardly one table, and fill a machine's memory.
MOST_UNPACKED = 2**31
#: First bytes of packed files, and what opens them.
_OPENED: dict[bytes, Callable[[io.BytesIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_ZIP = b"PK\x03\x04"
#: What another program must unpack first.
_OTHERS = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"7z\xbc\xaf\x27\x1c": "7z x",
    b"Rar!": "unrar x",
    b"\x1f\x9d": "uncompress",
    b"\x04\x22\x4d\x18": "lz4 -d",
}


def unpacked(path: str, data: bytes, most: int = MOST_UNPACKED) -> bytes:
    """Unpack the content of a file, whatever it is called; other content is returned as it is.

    Raises DataError if it is damaged, holds several files, or unpacks to more than ``most`` bytes:
    no more than that is ever unpacked, since a small file may be made to fill the memory.
    """
    for beginning, command in _OTHERS.items():
        if data.startswith(beginning):
            raise DataError(f"{path}: is compressed; unpack it first ({command})")
    try:
        found = _start(path, data, most + 1)
    except (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zlib.error,
            lzma.LZMAError, zipfile.BadZipFile) as error:  # fmt: skip
        raise DataError(f"{path}: cannot be unpacked: {error}; unpack it first") from None
    if found is None:
        return data
    if len(found) > most:
        raise DataError(
            f"{path}: unpacks to more than {most / 2**30:g} GiB; if that is right, unpack it "
            "first, and give the file that it holds"
        )
    return found


def _start(path: str, data: bytes, size: int) -> bytes | None:
    """Unpack at most ``size`` bytes; None if nothing has packed the content."""
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
