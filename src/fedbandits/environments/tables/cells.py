"""A table as read, and its cells as numbers or texts; other cells are refused with their line."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._suggest import did_you_mean
from fedbandits._typing import Bools, Floats, Ints
from fedbandits.environments.tables.formats import (
    DATES,
    KNOWN_MARKS,
    SIGNS,
    Marks,
    NumberFormat,
    Reading,
    are_compact_dates,
    compact_dates,
    in_two_ways,
    is_date,
    remedy,
    tidy,
    whole_text,
    with_comma,
    with_thousands,
)
from fedbandits.errors import DataError

#: Numbers, with NaN for missing values; or texts, with empty texts for missing values.
Cells = NDArray[Any]


class RawTable(NamedTuple):
    """A table before its columns are interpreted."""

    name: str  # name in errors: the path, or ``the table``
    columns: dict[str, Cells]  # (rows,) float64 or texts, by the name of the column
    lines: Ints  # (rows,): number of each row's line
    unit: str  # unit of ``lines``: ``line`` of a file, or ``row``
    separator: str = ""  # separator of cells in the file; empty without a file of text
    format: NumberFormat = NumberFormat()  # format of numbers
    marks: Marks = KNOWN_MARKS  # marks of missing values

    def read_as(self, reading: Reading) -> RawTable:
        """Return the table with the settings' format of numbers and marks of missing values."""
        commas = self.separator not in ("", ",")
        format_ = NumberFormat(reading.decimal, reading.thousands, commas)
        marks = KNOWN_MARKS if reading.marks is None else Marks.of(reading.marks)
        return self._replace(format=format_, marks=marks)

    def cells(self, column: str, key: str) -> Cells:
        """Return the cells of a column, which the setting ``key`` names; DataError if unknown."""
        cells = self.columns.get(tidy(column))
        if cells is None:
            raise DataError(
                f"environment.{key}: {self.name} has no column {column!r}; {self._names(column)}"
            )
        return cells

    def _names(self, wanted: str) -> str:
        """List the columns; not if the names look like data of a file without names."""
        known = list(self.columns)
        if any(NumberFormat(commas=True).read(name) is not None for name in known):
            return "some of its columns have numbers as names: check that the first line names them"
        return f"{did_you_mean(wanted, known)}its columns: {', '.join(known)}"

    def place(self, row: int, column: str) -> str:
        """Return the place of a cell, for errors."""
        return f"{self.name}, {self.unit} {self.lines[row]}, column {column!r}"

    def only(self, kept: Bools) -> RawTable:
        """Return the table with the ``kept`` rows."""
        columns = {name: cells[kept] for name, cells in self.columns.items()}
        return self._replace(columns=columns, lines=self.lines[kept])

    @property
    def digest(self) -> str:
        """SHA-256 of all names and cells."""
        digest = hashlib.sha256()
        for name, cells in self.columns.items():
            texts = cells.dtype == object
            data = repr(cells.tolist()).encode() if texts else np.asarray(cells, "<f8").tobytes()
            for part in (name.encode(), b"texts" if texts else b"numbers", data):
                digest.update(hashlib.sha256(part).digest())
        return f"sha256:{digest.hexdigest()}"


def numbers(raw: RawTable, column: str, key: str) -> Floats:
    """Read the cells of a column as numbers, with NaN for missing values.

    ``key`` is the setting that names the column, for errors. Raises DataError with the line of the
    first cell that holds no number, or a number with two readings.
    """
    cells = raw.cells(column, key)
    if cells.dtype != object:
        if np.isinf(cells).any():
            row = int(np.flatnonzero(np.isinf(cells))[0])
            raise DataError(f"{raw.place(row, column)}: is infinite; correct it or leave it empty")
        return np.where(raw.marks.gaps(cells), np.nan, cells.astype(np.float64))
    gaps = raw.marks.among(cells)
    read = {text: raw.format.read(text) for text in set(cells) - gaps}
    wrong = {text for text, value in read.items() if value is None}
    if wrong:
        row = first_row(cells, wrong)
        raise DataError(f"{raw.place(row, column)}: {_instead(raw, cells[row], key)}")
    _refuse_doubt(raw, column, cells, set(read))
    return np.array([read.get(text, np.nan) for text in cells], np.float64)


def _refuse_doubt(raw: RawTable, column: str, cells: Cells, present: set[str]) -> None:
    """Refuse numbers with two decimal signs, or with a decimal sign that may separate thousands."""
    rows = [first_row(cells, {t for t in present if sign in t}) for sign in raw.format.decimals]
    if len(rows) > 1 and max(rows) < len(cells):
        raise DataError(
            f"{raw.place(max(rows), column)}: is written with another decimal sign than {raw.unit} "
            f"{raw.lines[min(rows)]}; write all numbers of a column with the same one"
        )
    sign = sign_in_doubt(raw, column)
    if sign:
        row = first_row(cells, {text for text in present if sign in text})
        raise DataError(
            f"{raw.place(row, column)}: can be read in two ways: {SIGNS[sign]} may be a "
            f"decimal sign or stand between thousands; {remedy(sign)}"
        )


def sign_in_doubt(raw: RawTable, column: str) -> str:
    """Return the sign of a column of numbers that may be a decimal or a thousands sign.

    The sign is a decimal sign if another column of numbers shows that, and none shows the other
    sign. The result is empty without doubt.
    """
    cells = raw.columns[tidy(column)]
    if cells.dtype != object:
        return ""
    present = set(cells)
    for sign in raw.format.doubtful:
        if in_two_ways(sign, present - raw.marks.among(cells)) and _decimals_shown(raw) != {sign}:
            return sign
    return ""


def _decimals_shown(raw: RawTable) -> set[str]:
    """Return the signs that some column of numbers shows to be decimal signs."""
    shown = set()
    for cells in raw.columns.values():
        if cells.dtype != object:
            continue
        present = set(cells) - raw.marks.among(cells)
        signs = {sign for sign in ".," if any(sign in text for text in present)}
        if all(NumberFormat(commas=True).read(text) is not None for text in present):
            shown |= {sign for sign in signs if not in_two_ways(sign, present)}
    return shown


def first_row(cells: Cells, among: set[str]) -> int:
    """Return the first row whose cell is in ``among``; the number of rows if there is none."""
    if not among:
        return len(cells)
    return next((row for row, text in enumerate(cells) if text in among), len(cells))


def _instead(raw: RawTable, text: str, key: str) -> str:
    """Explain why a cell holds no number, with a remedy."""
    if is_date(text):
        return f"is {DATES}"
    used = raw.format
    if with_comma(text) and not used.decimal and not used.thousands:
        return f"has a comma; {remedy(',')}"
    between = with_thousands(text)
    other = "." if used.decimals == "," else ","
    if between is not None and not used.thousands:
        return (
            f"has {SIGNS[between.thousands]} between thousands, as it seems; set thousands = "
            f'"{between.thousands}", or take such signs out'
        )
    if between is not None or NumberFormat(other).read(text) is not None:
        stated = f'decimal = "{used.decimals}", thousands = "{used.thousands}"'
        return f"does not fit the format of numbers ({stated}); correct the cell, or these keys"
    if key in ("features", "ranges"):
        return (
            "is not a number; correct it, or give the column categories instead of a range or a "
            "centre and a spread"
        )
    return "is not a number; correct it"


def texts(raw: RawTable, column: str, key: str) -> Cells:
    """Read the cells of a column as texts, with empty texts for missing values.

    Whole numbers are written without a point, so that ``1`` and ``1.0`` are the same class. ``key``
    is the setting that names the column, for errors.
    """
    cells = raw.cells(column, key)
    if cells.dtype == object:
        written = {text: whole_text(text) for text in set(cells)}
        return np.array([written[text] for text in cells], dtype=object)
    values, which = np.unique(cells, return_inverse=True)
    words = np.array([number_text(value) for value in values], dtype=object)
    chosen: Cells = words[which]
    return chosen


def number_text(value: float) -> str:
    """Write a number as a text: whole numbers without a point, NaN as an empty text."""
    if math.isnan(value):
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def missing(raw: RawTable, column: str, key: str, listed: frozenset[str] = frozenset()) -> Bools:
    """Mark the empty cells of a column.

    Texts that the user has ``listed`` as categories or classes are values, even ``NA``. ``key`` is
    the setting that names the column.
    """
    return raw.marks.gaps(raw.cells(column, key), listed)


_Kind = Literal["number", "text", "date"]


class ColumnKind(NamedTuple):
    """The kind of values in a column; ``mixed`` is numbers or dates among others."""

    kind: Literal["number", "text", "date", "mixed", "empty"]
    row: int = 0  # of a mixed column: the first row with the rarer kind


def column_kind(raw: RawTable, column: str, key: str) -> ColumnKind:
    """Determine the kind of values in a column."""
    cells = raw.cells(column, key)
    gaps = raw.marks.gaps(cells)
    if gaps.all():
        return ColumnKind("empty")
    if cells.dtype != object:
        return ColumnKind("date" if compact_dates(cells[~gaps]) else "number")
    present = set(cells[~gaps])
    if are_compact_dates(present):
        return ColumnKind("date")
    kinds = {text: _kind(raw, text) for text in present}
    kinds_present = {*kinds.values()}
    if len(kinds_present) == 1:
        return ColumnKind(kinds_present.pop())
    counts = Counter(kinds[text] for text in cells[~gaps])
    # Dates among many more texts are texts: names may look like dates.
    if "number" not in kinds_present and counts["date"] <= counts["text"]:
        return ColumnKind("text")
    rest = [kind for kind, _ in counts.most_common()][1:]
    if "number" in kinds_present and counts["number"] * 2 < counts.total():
        rest = ["number"]
    return ColumnKind("mixed", first_row(cells, {t for t, kind in kinds.items() if kind in rest}))


def _kind(raw: RawTable, text: str) -> _Kind:
    # Numbers with other signs are refused with a remedy later, when the numbers are read.
    if raw.format.read(text) is not None or with_comma(text) or with_thousands(text) is not None:
        return "number"
    return "date" if is_date(text) else "text"
