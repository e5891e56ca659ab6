"""Files of text as every loader reads them: what is wrong with one is an error that names it."""

from __future__ import annotations

import io

from fedbandits.environments.tables.files import read_bytes
from fedbandits.environments.tables.packed import unpacked
from fedbandits.errors import DataError


def read_text(path: str, missing: str = "no such file") -> str:
    """Read a whole file, UTF-8 with or without a byte order mark.

    Raises DataError if it is no text; where there is no such file, it says ``missing``.
    """
    data = unpacked(path, read_bytes(path, missing))
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
    except ValueError as error:
        raise DataError(f"{path!r}: cannot be read as text: {type(error).__name__}") from None


def is_whole(text: str) -> bool:
    """Tell whether a word is a whole number ≥ 0 in plain digits, few enough for 64 bits."""
    return text.isascii() and text.isdigit() and len(text) <= 18
