"""Files of separated values, by comma, semicolon, tab or |; faults are refused with their line.

Files in other formats are recognised, and refused with a remedy.
"""

from __future__ import annotations

import codecs
import csv
import functools
import io
import itertools
import pathlib
import re
import tomllib
from collections.abc import Iterator, Sequence

import numpy as np

from fedbandits.environments.tables.cells import RawTable
from fedbandits.environments.tables.files import unpacked
from fedbandits.environments.tables.formats import (
    AS_FOUND,
    KNOWN_MARKS,
    NumberFormat,
    Reading,
    is_date,
    tidy,
    with_thousands,
)
from fedbandits.errors import DataError

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a | sign", " ": "a blank"}
#: Separators that are guessed. A blank must be stated: texts have blanks.
_FOUND_OUT = ",;\t|"
#: Number of records for guessing a separator.
_LOOKED_AT = 20
#: First words of a last row with totals.
_TOTALS = frozenset({"total", "totals", "sum", "summe", "gesamt", "grand total", "somme", "totale"})
#: Encodings that decode any bytes, rightly or wrongly.
_SINGLE_BYTES = ("iso8859", "cp125", "mac")
#: Formats of tables, for errors.
_ACCEPTED = (
    "a table may be CSV (cells separated by commas, semicolons, tabs or |; the first line names "
    "the columns), Parquet, or a data frame"
)
_FRAME = "read it as a data frame, and give that to fb.environments.table"
_Record = tuple[int, list[str]]


def read_delimited(path: str, data: bytes, reading: Reading = AS_FOUND) -> RawTable:
    """Read a table from a file of separated values, whose first line names the columns.

    ``data`` is the content of the file, packed or not; errors call it ``path``. Raises DataError
    with the line, if the content is no such table.
    """
    text = decoded(path, data, reading.encoding)
    _refuse_other_formats(path, text)
    announced = _announced(text)
    separator = reading.separator or (announced or _separator(text))
    records = _records(path, text, separator)
    if announced:
        next(records)
    line, header = next(records, (0, []))
    if not header:
        raise DataError(f"{path}: is empty; the first line must name the columns")
    names = [tidy(cell) for cell in header]
    rows = [_whole(path, record, names, line, separator) for record in records]
    rows = [(number, cells) for number, cells in rows if any(cells)]
    _refuse_data_as_names(path, line, names, [cells for _, cells in rows])
    _refuse_header(path, line, names)
    if not rows:
        raise DataError(f"{path}: has a line with names (line {line}), but no rows")
    _refuse_rows(path, line, names, rows)
    columns = {}
    for name, cells in zip(names, zip(*(cells for _, cells in rows), strict=True), strict=True):
        if name:  # a column without a name, such as a saved index, cannot be named by a setting
            columns[name] = np.array(cells, dtype=object)
    lines = np.array([number for number, _ in rows], np.int64)
    return RawTable(path, columns, lines, "line", separator).read_as(reading)


def decoded(path: str, data: bytes, encoding: str) -> str:
    """Return the text of a file, packed or not.

    Raises DataError with the line, if the content is no text in this ``encoding``.
    """
    data = unpacked(path, data)
    _refuse_binary(path, data)
    is_utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    if is_utf8 and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f'{path}: is UTF-16 text; set encoding = "utf-16", or save it as UTF-8')
    try:
        text = data.decode("utf-8-sig" if is_utf8 else encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: is not {encoding} text; save the file as UTF-8, or set "
            'encoding, such as encoding = "latin-1"'
        ) from None
    except UnicodeError as error:  # such as UTF-16 without its mark
        raise DataError(f"{path}: is not {encoding} text: {error}; set encoding") from None
    if data.startswith(codecs.BOM_UTF8) and not is_utf8:
        raise DataError(
            f"{path}: begins with the mark of UTF-8, not {encoding}; leave out encoding"
        )
    if codecs.lookup(encoding).name.startswith(_SINGLE_BYTES) and _is_utf8(data):
        raise DataError(f"{path}: is UTF-8 text, not {encoding}; leave out encoding")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: has a zero byte, so it is no text; save it as CSV")
    return text


def _is_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8 beyond ASCII, unlikely for a text in another encoding."""
    try:
        return not data.isascii() and bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _announced(text: str) -> str:
    """Read a first line such as ``sep=;``, which spreadsheets write; empty without such a line."""
    first = text[:16].splitlines()[:1]
    if first and len(first[0]) == 5 and first[0].lower().startswith("sep="):
        return first[0][4] if first[0][4] in SEPARATORS else ""
    return ""


def _separator(text: str) -> str:
    """Choose the separator with most cells a line, preferably equally many in each line."""

    def score(separator: str) -> tuple[bool, bool, bool, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        widths = []
        try:
            widths = [len(cells) for cells in itertools.islice(reader, _LOOKED_AT) if cells]
        except csv.Error:  # reading the file reports it with its line
            return (False, False, False, 0)
        first = widths[0] if widths else 0
        # A table may follow below a title, which is reported later.
        return first > 1, max(widths, default=0) > 1, len(set(widths)) == 1, first

    return max(_FOUND_OUT, key=score)


def _records(path: str, text: str, separator: str) -> Iterator[_Record]:
    """Yield every record with the number of its first line; blank lines are left out."""
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
        remedy = "put quotation marks around cells that have the separator in them"
        if sum(map(bool, names)) == 1:
            remedy = f"if line {header} is a title, take it out, or set separator"
        elif sum(map(bool, cells)) == 1:
            remedy = "if it is a note below the table, take it out"
        raise DataError(
            f"{path}, line {line}: has {len(cells)} cells, but line {header} names {len(names)} "
            f"columns (cells are separated by {SEPARATORS[separator]}); {remedy}"
        )
    return line, [tidy(cell) for cell in cells]


def _refuse_rows(path: str, header: int, names: list[str], rows: list[_Record]) -> None:
    """Refuse rows that are not data: repeated names, a title, a note, or totals."""
    again = next((line for line, cells in rows if cells == names and len(names) > 1), None)
    if again is not None:
        raise DataError(f"{path}, line {again}: names the columns again; take it out")
    if len(names) > 2 and names[0] and not any(names[1:]):
        raise DataError(
            f"{path}, line {header}: names one column only, as a title does; take out all lines "
            "above the names of the columns"
        )
    line, cells = rows[-1]
    filled = [cell for cell in cells if cell]
    note = len(rows) > 2 and len(names) > 2 and len(filled) == 1
    total = filled[0].rstrip(":").lower() in _TOTALS and not any(
        filled[0] in c for _, c in rows[:-1]
    )
    if (note and sum(map(bool, rows[-2][1])) > 2) or total:
        raise DataError(
            f"{path}, line {line}: is a note or a sum below the table, as it seems; take it out"
        )


@functools.cache
def _other_formats() -> dict[str, dict[str, str]]:
    """Read the beginnings of files in other formats, and the remedies."""
    file = pathlib.Path(__file__).with_name("other_formats.toml")
    return tomllib.loads(file.read_text(encoding="utf-8").replace("FRAME", _FRAME))


def _refuse_binary(path: str, data: bytes) -> None:
    """Refuse a file whose first bytes show that it is no text."""
    for beginning, what in _other_formats()["binary"].items():
        if data.startswith(beginning.encode("latin-1")):
            raise DataError(f"{path}: is {what}")


def _refuse_other_formats(path: str, text: str) -> None:
    """Refuse a text that is a table in another format."""
    for beginning, what in _other_formats()["texts"].items():
        if re.match(beginning, text[:4096], re.IGNORECASE):
            raise DataError(f"{path}: is {what}; {_ACCEPTED}")


def _refuse_data_as_names(
    path: str, line: int, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Refuse a first record that is a row of data, without printing the record."""
    named = [index for index, name in enumerate(names) if name]
    format_ = NumberFormat(commas=True)
    whole = numeric = certain = 0
    for index in named:
        name, below = names[index], {row[index] for row in rows[1:] if row != names}
        if with_thousands(name) is not None:
            certain += 1
        elif format_.read(name) is not None:
            numeric += 1
            whole += name.isdigit()
        elif name in below or is_date(name) or name.lower() in KNOWN_MARKS.texts:
            certain += 1
    if named and numeric == len(named):
        raise DataError(
            f"{path}, line {line}: has numbers only; the first line must name the columns: put a "
            "line with names above it"
        )
    if certain + numeric - whole and 2 * (certain + numeric) >= len(named):
        raise DataError(
            f"{path}, line {line}: is a row of data, as it seems: {certain + numeric} of its "
            f"{len(named)} cells are numbers, dates, or texts that come again below. The first "
            "line must name the columns: put a line with names above it"
        )
