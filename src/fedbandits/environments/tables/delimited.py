"""Files of separated values: comma, semicolon or tab, with the line of all that is wrong."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
from collections.abc import Iterator

import numpy as np

from fedbandits.environments.tables.cells import RawTable, read_number, tidy
from fedbandits.errors import DataError

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
#: Records by which a separator is told.
_LOOKED_AT = 20
#: First bytes of files that are saved under a wrong name, and what they are.
_NO_TEXT = {
    b"PK\x03\x04": "a spreadsheet or another zip file; save it as CSV (UTF-8)",
    b"\xd0\xcf\x11\xe0": "a spreadsheet; save it as CSV (UTF-8)",
    b"\x1f\x8b": "compressed; unpack it first",
}
_Record = tuple[int, list[str]]


def read_delimited(path: str, data: bytes, encoding: str) -> RawTable:
    """Read a table from a file of separated values, whose first line names the columns.

    ``data`` is the content of the file in ``encoding``; errors call it ``path``. Raises DataError
    with the line, if it is no such file.
    """
    text = _decoded(path, data, encoding)
    separator, skipped = _announced(text) or (_separator(text), 0)
    records = _records(path, text, separator)
    for _ in range(skipped):
        next(records)
    line, header = next(records, (0, []))
    if not header:
        raise DataError(f"{path}: is empty; the first line must name the columns")
    names = [tidy(cell) for cell in header]
    _refuse_header(path, line, names)
    rows = [_whole(path, record, names, line, separator) for record in records]
    rows = [(number, cells) for number, cells in rows if any(cells)]
    if not rows:
        raise DataError(f"{path}: has a line with names (line {line}), but no rows")
    columns = {}
    for name, cells in zip(names, zip(*(cells for _, cells in rows), strict=True), strict=True):
        if name:  # a column without a name, such as a saved index, cannot be asked for
            columns[name] = np.array(cells, dtype=object)
    lines = np.array([number for number, _ in rows], np.int64)
    return RawTable(path, columns, lines, "line", separator)


def _decoded(path: str, data: bytes, encoding: str) -> str:
    for beginning, what in _NO_TEXT.items():
        if data.startswith(beginning):
            raise DataError(f"{path}: is {what}")
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    if is_utf8 and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f'{path}: is UTF-16 text; set encoding = "utf-16", or save it as UTF-8')
    try:
        text = data.decode("utf-8-sig" if is_utf8 else encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: is not {encoding} text; save the file as UTF-8, or set "
            'encoding to what it is, such as encoding = "latin-1"'
        ) from None
    except UnicodeError as error:  # such as UTF-16 without its mark
        raise DataError(f"{path}: is not {encoding} text: {error}; set encoding") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: has a zero byte, so it is no text; save it as CSV")
    return text


def _announced(text: str) -> tuple[str, int] | None:
    """Read a first line such as ``sep=;``, which spreadsheets write."""
    first = text[:16].splitlines()[:1]
    if first and len(first[0]) == 5 and first[0].lower().startswith("sep="):
        return (first[0][4], 1) if first[0][4] in SEPARATORS else None
    return None


def _separator(text: str) -> str:
    """Choose the separator that gives most cells a line, if possible as many in each."""

    def score(separator: str) -> tuple[bool, bool, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        widths = []
        try:
            widths = [len(cells) for cells in itertools.islice(reader, _LOOKED_AT) if cells]
        except csv.Error:  # told with its line when the file is read
            return (False, False, 0)
        first = widths[0] if widths else 0
        return first > 1, len(set(widths)) == 1, first

    return max(SEPARATORS, key=score)


def _records(path: str, text: str, separator: str) -> Iterator[_Record]:
    """Read every record with the number of its first line; blank lines are left out."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True
    )
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"{path}, line {line}: {error}; check its quotation marks (cells are separated by "
                f"{SEPARATORS[separator]})"
            ) from None
        if cells:
            yield line, cells


def _refuse_header(path: str, line: int, names: list[str]) -> None:
    named = [name for name in names if name]
    if named and all(read_number(name, decimal_commas=True) is not None for name in named):
        raise DataError(
            f"{path}, line {line}: has numbers only; the first line must name the columns"
        )
    for index, name in enumerate(names):
        if not name.isprintable():
            raise DataError(
                f"{path}, line {line}: the name of column {index + 1} has a line break or another "
                "character that cannot be printed; rename it"
            )
        if name and name in names[:index]:
            raise DataError(
                f"{path}, line {line}: columns {names.index(name) + 1} and {index + 1} are both "
                f"called {name!r}; rename one"
            )


def _whole(path: str, record: _Record, names: list[str], header: int, separator: str) -> _Record:
    line, cells = record
    if len(cells) != len(names):
        raise DataError(
            f"{path}, line {line}: has {len(cells)} cells, but line {header} names {len(names)} "
            f"columns (cells are separated by {SEPARATORS[separator]}); put quotation marks around "
            "cells that have the separator in them"
        )
    return line, [tidy(cell) for cell in cells]
