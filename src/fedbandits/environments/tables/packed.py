"""Packed files: one that gzip, bzip2, xz or zip has packed is read as what is in it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib

from fedbandits.errors import DataError

#: First bytes of packed files, and what unpacks them.
_UNPACK = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ\x00": lzma.decompress}
_ZIP = b"PK\x03\x04"
#: What another program must unpack first.
_OTHERS = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"7z\xbc\xaf\x27\x1c": "7z x",
    b"Rar!": "unrar x",
    b"\x1f\x9d": "uncompress",
    b"\x04\x22\x4d\x18": "lz4 -d",
}


def unpacked(path: str, data: bytes) -> bytes:
    """Unpack the content of a file, whatever it is called; other content is returned as it is.

    Raises DataError if it is damaged, or holds several files.
    """
    for beginning, command in _OTHERS.items():
        if data.startswith(beginning):
            raise DataError(f"{path}: is compressed; unpack it first ({command})")
    try:
        if data.startswith(_ZIP):
            return _of_zip(path, data)
        for beginning, unpack in _UNPACK.items():
            if data.startswith(beginning):
                return unpack(data)
    except (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zlib.error,
            lzma.LZMAError, zipfile.BadZipFile) as error:  # fmt: skip
        raise DataError(f"{path}: cannot be unpacked: {error}; unpack it first") from None
    return data


def _of_zip(path: str, data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        names = [name for name in opened.namelist() if not name.endswith("/")]
        names = [name for name in names if not name.startswith("__MACOSX/")]
        if "[Content_Types].xml" in names or "mimetype" in names:
            raise DataError(f"{path}: is a spreadsheet or another document; save it as CSV (UTF-8)")
        if len(names) != 1:
            raise DataError(
                f"{path}: is a zip file of {len(names)} files; unpack it, and give one of them"
            )
        return opened.read(names[0])
