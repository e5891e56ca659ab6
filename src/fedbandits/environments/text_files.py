"""Files of text as every loader reads them: what is wrong with one is an error that names it."""

from __future__ import annotations

import csv
import pathlib

from fedbandits.errors import DataError


def read_text(path: str, missing: str = "no such file") -> str:
    """Read a whole file, UTF-8 with or without a byte order mark.

    Raises DataError if it is no text; where there is no such file, it says ``missing``.
    """
    try:
        return pathlib.Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: {missing}") from None
    except (OSError, ValueError) as error:  # ValueError: no text, or a path that cannot be one
        raise DataError(f"{path!r}: cannot be read as text: {type(error).__name__}") from None


def csv_cells(line: str) -> list[str]:
    """Read the cells of one line of CSV, stripped; raises ValueError if it is none."""
    try:
        return [cell.strip() for cell in next(csv.reader([line]), [])]
    except csv.Error as error:
        raise ValueError(str(error)) from None


def is_whole(text: str) -> bool:
    """Tell whether a word is a whole number ≥ 0 in plain digits, few enough for 64 bits."""
    return text.isascii() and text.isdigit() and len(text) <= 18
