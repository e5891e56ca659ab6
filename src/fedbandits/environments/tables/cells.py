"""A table as it was read, and its cells as numbers or texts; all else is refused with its line."""

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

#: Numbers, NaN where one is missing; or texts, empty where one is missing.
Cells = NDArray[Any]


class RawTable(NamedTuple):
    """A table before anything is made of its columns."""

    name: str  # what errors call it: its path, or ``the table``
    columns: dict[str, Cells]  # (rows,) float64 or texts, by the name of the column
    lines: Ints  # (rows,): where each row stands
    unit: str  # what is counted there: ``line`` of a file, or ``row``
    separator: str = ""  # what separates cells in its file; empty where nothing does
    format: NumberFormat = NumberFormat()  # how numbers are written
    marks: Marks = KNOWN_MARKS  # what stands for a missing value

    def read_as(self, reading: Reading) -> RawTable:
        """Take cells for numbers and gaps as the settings say."""
        commas = self.separator not in ("", ",")
        format_ = NumberFormat(reading.decimal, reading.thousands, commas)
        marks = KNOWN_MARKS if reading.marks is None else Marks.of(reading.marks)
        return self._replace(format=format_, marks=marks)

    def cells(self, column: str, key: str) -> Cells:
        """Return the cells of a column that the setting ``key`` names; DataError if none is so."""
        cells = self.columns.get(tidy(column))
        if cells is None:
            raise DataError(
                f"environment.{key}: {self.name} has no column {column!r}; {self._names(column)}"
            )
        return cells

    def _names(self, wanted: str) -> str:
        """List the columns; not if they may be data of a file without names."""
        known = list(self.columns)
        if any(NumberFormat(commas=True).read(name) is not None for name in known):
            return "some of its columns have numbers as names: check that the first line names them"
        return f"{did_you_mean(wanted, known)}its columns: {', '.join(known)}"

    def place(self, row: int, column: str) -> str:
        """Say where a cell stands, for errors."""
        return f"{self.name}, {self.unit} {self.lines[row]}, column {column!r}"

    def only(self, kept: Bools) -> RawTable:
        """Keep some rows."""
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
    """Read the cells of a column as numbers, NaN where one is missing.

    ``key`` is the setting that names the column, for errors. Raises DataError with the line of the
    first cell that holds no number, or one that can be read in two ways.
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


def _refuse_doubt(raw: RawTable, column: str, cells: Cells, there: set[str]) -> None:
    """Refuse numbers with two decimal signs, or with one that may stand between thousands."""
    rows = [first_row(cells, {t for t in there if sign in t}) for sign in raw.format.decimals]
    if len(rows) > 1 and max(rows) < len(cells):
        raise DataError(
            f"{raw.place(max(rows), column)}: is written with another decimal sign than {raw.unit} "
            f"{raw.lines[min(rows)]}; write all numbers of a column with the same one"
        )
    sign = sign_in_doubt(raw, column)
    if sign:
        row = first_row(cells, {text for text in there if sign in text})
        raise DataError(
            f"{raw.place(row, column)}: can be read in two ways: {SIGNS[sign]} may be a "
            f"decimal sign or stand between thousands; {remedy(sign)}"
        )


def sign_in_doubt(raw: RawTable, column: str) -> str:
    """Find the sign of a column of numbers that is decimal, or stands between thousands.

    It is a decimal sign if another column of numbers shows that, and none shows the other one.
    Empty if there is no doubt.
    """
    cells = raw.columns[tidy(column)]
    if cells.dtype != object:
        return ""
    there = set(cells)
    for sign in raw.format.doubtful:
        if in_two_ways(sign, there - raw.marks.among(cells)) and _decimals_shown(raw) != {sign}:
            return sign
    return ""


def _decimals_shown(raw: RawTable) -> set[str]:
    """Find the signs of which some column of numbers shows that they are decimal signs."""
    shown = set()
    for cells in raw.columns.values():
        if cells.dtype != object:
            continue
        there = set(cells) - raw.marks.among(cells)
        signs = {sign for sign in ".," if any(sign in text for text in there)}
        if all(NumberFormat(commas=True).read(text) is not None for text in there):
            shown |= {sign for sign in signs if not in_two_ways(sign, there)}
    return shown


def first_row(cells: Cells, among: set[str]) -> int:
    """Find the first row whose cell is among some texts; the number of rows if there is none."""
    if not among:
        return len(cells)
    return next((row for row, text in enumerate(cells) if text in among), len(cells))


def _instead(raw: RawTable, text: str, key: str) -> str:
    """Explain why a cell holds no number, with the remedy."""
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
        said = f'decimal = "{used.decimals}", thousands = "{used.thousands}"'
        return f"does not fit the format of numbers ({said}); correct the cell, or these keys"
    if key in ("features", "ranges"):
        return (
            "is not a number; correct it, or give the column categories instead of a range or a "
            "centre and a spread"
        )
    return "is not a number; correct it"


def texts(raw: RawTable, column: str, key: str) -> Cells:
    """Read the cells of a column as texts, empty where one is missing.

    Whole numbers are written without a point, so that ``1`` and ``1.0`` are the same class.
    ``key`` is the setting that names the column, for errors.
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
    """Write a number as a text: whole numbers without a point, and nothing for NaN."""
    if math.isnan(value):
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def missing(raw: RawTable, column: str, key: str, listed: frozenset[str] = frozenset()) -> Bools:
    """Mark the cells of a column that hold nothing.

    Texts that the user has listed as categories or classes are values, even ``NA``.
    """
    return raw.marks.gaps(raw.cells(column, key), listed)


_Kind = Literal["number", "text", "date"]


class Found(NamedTuple):
    """The kind of values that a column holds; ``mixed`` is numbers or dates among others."""

    kind: Literal["number", "text", "date", "mixed", "empty"]
    row: int = 0  # of a mixed column: the first row whose cell is of the rarer kind


def found_in(raw: RawTable, column: str, key: str) -> Found:
    """Find the kind of values that a column holds."""
    cells = raw.cells(column, key)
    gaps = raw.marks.gaps(cells)
    if gaps.all():
        return Found("empty")
    if cells.dtype != object:
        return Found("date" if compact_dates(cells[~gaps]) else "number")
    there = set(cells[~gaps])
    if are_compact_dates(there):
        return Found("date")
    kinds = {text: _kind(raw, text) for text in there}
    found = {*kinds.values()}
    if len(found) == 1:
        return Found(found.pop())
    counts = Counter(kinds[text] for text in cells[~gaps])
    # Dates among many more texts are texts: names may look like one.
    if "number" not in found and counts["date"] <= counts["text"]:
        return Found("text")
    rest = [kind for kind, _ in counts.most_common()][1:]
    if "number" in found and counts["number"] * 2 < counts.total():
        rest = ["number"]
    return Found("mixed", first_row(cells, {t for t, kind in kinds.items() if kind in rest}))


def _kind(raw: RawTable, text: str) -> _Kind:
    # Other signs of numbers are told of with the remedy, when the numbers are read.
    if raw.format.read(text) is not None or with_comma(text) or with_thousands(text) is not None:
        return "number"
    return "date" if is_date(text) else "text"
