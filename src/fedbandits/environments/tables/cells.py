"""A table as it was read, and its cells as numbers and texts; all else is refused with its line."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._suggest import did_you_mean
from fedbandits._typing import Bools, Floats, Ints
from fedbandits.errors import DataError

#: Numbers, NaN where one is missing; or texts, empty where one is missing.
Cells = NDArray[Any]
#: What stands for a value that is missing, in any case.
MISSING = frozenset({"", "na", "n/a", "nan", "null"})
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?\Z|\d{1,2}([./])\d{1,2}\1\d{2,4}(?: .*)?\Z", re.ASCII
)
#: A dot here may be a decimal point, or stand between thousands.
_THREE_AFTER_DOT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}\Z", re.ASCII)
_WHOLE = re.compile(r"(-?\d+)\.0+\Z", re.ASCII)


def tidy(text: str) -> str:
    """Return a text without blanks around it, spelt one way where Unicode has several."""
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


class RawTable(NamedTuple):
    """A table before anything is made of its columns."""

    name: str  # what errors call it: its path, or ``the table``
    columns: dict[str, Cells]  # (rows,) float64 or texts, by the name of the column
    lines: Ints  # (rows,): where each row stands
    unit: str  # what is counted there: ``line`` of a file, or ``row``
    separator: str = ""  # what separates cells in its file; empty where nothing does

    @property
    def decimal_commas(self) -> bool:
        """True if a number may be written with a comma: where no comma separates cells."""
        return self.separator in (";", "\t")

    def cells(self, column: str, key: str) -> Cells:
        """Return the cells of a column that the setting ``key`` names; DataError if none is so."""
        found = self.columns.get(tidy(column))
        if found is None:
            known = list(self.columns)
            raise DataError(
                f"environment.{key}: {self.name} has no column {column!r}; "
                f"{did_you_mean(column, known)}its columns: {', '.join(known)}"
            )
        return found

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
        found = hashlib.sha256()
        for name, cells in self.columns.items():
            texts = cells.dtype == object
            data = repr(cells.tolist()).encode() if texts else np.asarray(cells, "<f8").tobytes()
            for part in (name.encode(), b"texts" if texts else b"numbers", data):
                found.update(hashlib.sha256(part).digest())
        return f"sha256:{found.hexdigest()}"


class Found(NamedTuple):
    """The kind of values that a column holds; ``mixed`` is numbers among texts."""

    kind: Literal["number", "text", "date", "mixed", "empty"]
    row: int = 0  # of a mixed column: the first row whose cell is of the rarer kind


def read_number(text: str, decimal_commas: bool) -> float | None:
    """Read the number that a cell holds; None if it holds none."""
    if _NUMBER.match(text):
        value = float(text)
    elif decimal_commas and _WITH_COMMA.match(text):
        value = float(text.replace(",", "."))
    else:
        return None
    return value if math.isfinite(value) else None


def numbers(raw: RawTable, column: str, key: str) -> Floats:
    """Read the cells of a column as numbers, NaN where one is missing.

    ``key`` is the setting that names the column, for errors. Raises DataError with the line of the
    first cell that holds no number, or another decimal sign.
    """
    cells = raw.cells(column, key)
    if cells.dtype != object:
        if np.isinf(cells).any():
            row = int(np.flatnonzero(np.isinf(cells))[0])
            raise DataError(f"{raw.place(row, column)}: is infinite; correct it or leave it empty")
        return cells.astype(np.float64)
    commas = raw.decimal_commas
    read = {text: read_number(text, commas) for text in set(cells) if text.lower() not in MISSING}
    wrong = {text for text, value in read.items() if value is None}
    if wrong:
        row = _first(cells, wrong)
        raise DataError(f"{raw.place(row, column)}: {_instead(cells[row], key)}")
    rows = [_first(cells, {t for t in read if sign in t}) for sign in ",."]
    if min(rows) < len(cells) and max(rows) < len(cells):
        raise DataError(
            f"{raw.place(max(rows), column)}: is written with another decimal sign than {raw.unit} "
            f"{raw.lines[min(rows)]}; write all numbers of a column with the same one"
        )
    dotted = perhaps_thousands(raw, column)
    if dotted is not None:
        raise DataError(
            f"{raw.place(dotted, column)}: is the dot a decimal point, or does it stand between "
            "thousands? Other columns have decimal commas. Take such dots out, or write all "
            "decimal signs alike"
        )
    return np.array([read.get(text, np.nan) for text in cells], np.float64)


def perhaps_thousands(raw: RawTable, column: str) -> int | None:
    """Find the first row whose dot may stand between thousands, as in ``1.234``; None if none may.

    It may if each dot of the column of numbers has three digits after it, and another column has
    decimal commas: then 950 and ``1.234`` would be read as 950 and 1.234.
    """
    cells = raw.columns[tidy(column)]
    if cells.dtype != object or not raw.decimal_commas:
        return None
    dotted = {text for text in set(cells) if "." in text}
    if not dotted or not all(_THREE_AFTER_DOT.match(text) for text in dotted):
        return None
    others = (each for each in raw.columns.values() if each is not cells and each.dtype == object)
    if not any(_WITH_COMMA.match(text) for each in others for text in each):
        return None
    return _first(cells, dotted)


def _first(cells: Cells, among: set[str]) -> int:
    """Find the first row whose cell is among these; one past the last row if there is none."""
    if not among:
        return len(cells)
    return next((row for row, text in enumerate(cells) if text in among), len(cells))


def _instead(text: str, key: str) -> str:
    """Say what a cell holds that should be a number."""
    if _WITH_COMMA.match(text):
        return (
            "has a decimal comma in a file whose cells are separated by commas; separate them by "
            "semicolons, or write decimal points"
        )
    if _DATE.match(text):
        return "is a date; make a number of it first, such as days since a date"
    if key in ("features", "ranges"):
        return "is not a number; correct it, or give the column categories instead of a range"
    return "is not a number; correct it"


def texts(raw: RawTable, column: str, key: str) -> Cells:
    """Read the cells of a column as texts, empty where one is missing.

    Whole numbers are written without a point, so that ``1`` and ``1.0`` are the same class.
    ``key`` is the setting that names the column, for errors.
    """
    cells = raw.cells(column, key)
    if cells.dtype == object:
        written = {text: _WHOLE.sub(r"\1", text) for text in set(cells)}
        return np.array([written[text] for text in cells], dtype=object)
    values, which = np.unique(cells, return_inverse=True)
    words = np.array([number_text(value) for value in values], dtype=object)
    chosen: Cells = words[which]
    return chosen


def listed_text(value: str | int) -> str:
    """Spell a class or a category of a configuration as :func:`texts` spells cells."""
    return _WHOLE.sub(r"\1", tidy(str(value)))


def number_text(value: float) -> str:
    """Write a number as a text: whole numbers without a point, and nothing for NaN."""
    if math.isnan(value):
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def missing(cells: Cells, listed: frozenset[str] = frozenset()) -> Bools:
    """Mark the cells of a column that hold nothing.

    Texts that the user has listed as categories or classes are values, even ``NA``.
    """
    if cells.dtype != object:
        return np.isnan(cells)
    empty = {text for text in set(cells) if text.lower() in MISSING and text not in listed}
    return np.array([text in empty for text in cells], dtype=np.bool_)


def found_in(raw: RawTable, column: str, key: str) -> Found:
    """Tell what kind of values a column holds."""
    cells = raw.cells(column, key)
    if cells.dtype != object:
        return Found("number") if not np.isnan(cells).all() else Found("empty")
    kinds = {
        text: _kind(text, raw.decimal_commas) for text in set(cells) if text.lower() not in MISSING
    }
    there = set(kinds.values())
    if not there:
        return Found("empty")
    if there == {"number"} or there == {"date"}:
        return Found("number" if there == {"number"} else "date")
    if "number" not in there:
        return Found("text")
    rows = [row for row, text in enumerate(cells) if text in kinds]
    odd = [row for row in rows if kinds[cells[row]] != "number"]
    rarer = odd if 2 * len(odd) <= len(rows) else [r for r in rows if kinds[cells[r]] == "number"]
    return Found("mixed", rarer[0])


def _kind(text: str, decimal_commas: bool) -> Literal["number", "text", "date"]:
    # A comma that is no separator here is told of as a number's, with the remedy.
    if read_number(text, decimal_commas) is not None or _WITH_COMMA.match(text):
        return "number"
    return "date" if _DATE.match(text) else "text"
