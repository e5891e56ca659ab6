"""Formats of cells: numbers, dates, marks of missing values.

``1,234`` is a little more than one in some countries, and more than a thousand in others. The
meaning is never guessed: a number with two readings is refused until the format is stated. Dates,
times and durations are recognised, to be refused. Marks stand for missing values. :class:`Reading`
holds the settings for a file.
"""

from __future__ import annotations

import codecs
import datetime
import functools
import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats

#: The category of all texts that are not listed.
OTHER = "*"
#: A whole number with a point. Three zeros may be the last digits of a thousand.
_WHOLE = re.compile(r"(-?\d+)\.(?!000\Z)0+\Z", re.ASCII)
#: Signs between thousands, as patterns. A blank stands for all kinds of blanks.
_BETWEEN = {",": ",", ".": r"\.", "'": "['’]", " ": "[ \u00a0\u2009\u202f]"}
#: Names of these signs.
SIGNS = {",": "a comma", ".": "a dot", "'": "an apostrophe", " ": "a blank"}
_EXPONENT = r"(?:[eE][+-]?\d{1,3})?"
#: Patterns of numbers with two readings, by the sign.
_TWO_WAYS = {sign: re.compile(rf"[+-]?[1-9]\d{{0,2}}\{sign}\d{{3}}\Z", re.ASCII) for sign in ",."}


class NumberFormat(NamedTuple):
    """The format of a table's numbers; an empty field is not stated."""

    decimal: str = ""  # the decimal sign, a dot or a comma
    thousands: str = ""  # the sign between thousands
    commas: bool = False  # whether decimal commas are understood if no sign is stated

    @property
    def decimals(self) -> str:
        """The decimal signs."""
        if self.decimal:
            return self.decimal
        if self.thousands in (",", "."):
            return "." if self.thousands == "," else ","
        return ".," if self.commas else "."

    @property
    def doubtful(self) -> str:
        """The decimal signs that may also separate thousands."""
        return "" if self.decimal or self.thousands else self.decimals

    def read(self, text: str) -> float | None:
        """Return the number in a cell; None if the cell holds no number."""
        if not _pattern(self.decimals, self.thousands).match(text):
            return None
        if self.thousands:
            text = re.sub(_BETWEEN[self.thousands], "", text)
        value = float(text.replace(",", "."))
        return value if math.isfinite(value) else None


@functools.lru_cache(maxsize=64)
def _pattern(decimals: str, thousands: str) -> re.Pattern[str]:
    whole = r"\d+"
    if thousands:
        whole = rf"(?:\d+|\d{{1,3}}(?:{_BETWEEN[thousands]}\d{{3}})+)"
    # Before a decimal comma there may be no digit, but a digit must follow: "5," is cut off.
    after = {".": r"\.\d*", ",": r",\d+"}
    fraction = "|".join(after[sign] for sign in decimals)
    alone = "|".join(rf"\{sign}\d+" for sign in decimals)
    return re.compile(rf"[+-]?(?:{whole}(?:{fraction})?|{alone}){_EXPONENT}\Z", re.ASCII)


def in_two_ways(sign: str, texts: Iterable[str]) -> bool:
    """Tell whether all numbers with this sign have two readings, and there is such a number."""
    signed = [text for text in texts if sign in text]
    return bool(signed) and all(map(_TWO_WAYS[sign].match, signed))


def with_thousands(text: str) -> NumberFormat | None:
    """Return the format in which a text is a number with signs between thousands, or None."""
    for thousands in _BETWEEN:
        for decimal in ".,":
            format_ = NumberFormat(decimal, thousands)
            signs = thousands != decimal and re.search(_BETWEEN[thousands], text)
            if signs and format_.read(text) is not None:
                return format_
    return None


def with_comma(text: str) -> bool:
    """Tell whether a text is a number if its comma is a decimal sign."""
    return "," in text and NumberFormat(",").read(text) is not None


def remedy(sign: str) -> str:
    """Return the setting for the meaning of a sign, in words."""
    return (
        f'set decimal = "{sign}" if it is a decimal sign, or thousands = "{sign}" if it stands '
        "between thousands"
    )


#: Description of dates in errors, with the remedy.
DATES = "a date or a time; make a number of it first, such as days since a date"
_TIME = r"\d{1,2}:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:\s?[ap]\.?m\.?)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_YEAR = r"(?:1[89]|20)\d\d"
_MONTH = r"[^\W\d_]{3,9}\.?"
_UNIT = r"(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|weeks?|months?|years?|[mµun]s)"
_UNIT_DE = r"(?:tage?n?|stunden?|minuten?|sekunden?|wochen?|monate?n?|jahre?n?)"
_DAYS = (
    r"\d{4}([-/.])\d{1,2}\1\d{1,2}",  # 2024-01-02
    r"\d{1,2}([-/.])\d{1,2}\2\d{2,4}",  # 02.01.2024, 1/2/24
    rf"\d{{1,2}}[-. /]*{_MONTH}[-,. /]*{_YEAR}",  # 02-Jan-2024, 2. Januar 2024
    rf"\d{{1,2}}-{_MONTH}-\d{{2}}",  # 02-Jan-24
    rf"(?:[^\W\d_]{{3,10}},?\s)?{_MONTH}\s+\d{{1,2}},?\s+{_YEAR}",  # Tue, January 02, 2024
    rf"[^\W\d_]{{2,3}}\.?,?\s\d{{1,2}}\s{_MONTH}\s{_YEAR}",  # Tue, 02 Jan 2024
)
_WRITTEN = (
    rf"(?:{'|'.join(_DAYS)})(?:[T,]?\s*{_TIME}{_ZONE}|T\d{{4,6}}Z?)?",
    rf"{_TIME}{_ZONE}",
    rf"{_YEAR}-(?:0[1-9]|1[0-2])",  # 2024-01
    rf"{_YEAR}-?W[0-5]\d(?:-?[1-7])?",  # 2024-W01
    rf"{_YEAR}\s?-?[QH][1-4]",  # 2024Q1
    r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.",  # 02.01.
    r"-?P(?:\d+(?:[.,]\d+)?[YMWD])*(?:T(?:\d+(?:[.,]\d+)?[HMS])+)?(?<!P)",  # P3DT4H
    rf"-?\d+(?:[.,]\d+)?\s(?:{_UNIT}|{_UNIT_DE})(?:,?\s[+-]?\d+:\d\d:\d\d(?:\.\d+)?)?",
    r"\d+:[0-5]\d:[0-5]\d(?:[.,]\d+)?",  # 26:10:00
    r"(?:\d+\s?d\s?)?(?:\d+\s?h\s?)(?:\d+\s?m(?:in)?\s?)?(?:\d+\s?s)?",  # 3d 4h, 2h 30m
)
#: Numbers of units in a second.
_SINCE_1970 = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
#: Beginnings of 2000 and 2040, in seconds since 1970.
_FROM, _TO = 946_684_800.0, 2_208_988_800.0
_COMPACT = re.compile(rf"{_YEAR}(?:0[1-9]|1[0-2])\d\d\Z", re.ASCII)


def is_date(text: str) -> bool:
    """Tell whether a text is written like a date, a time or a duration."""
    return bool(text) and (text[0].isalnum() or text[0] == "-") and bool(_dates().match(text))


@functools.cache
def _dates() -> re.Pattern[str]:
    """Compile the pattern of all dates, on demand, because compiling takes long."""
    return re.compile(rf"(?:{'|'.join(_WRITTEN)})\Z", re.IGNORECASE)


def are_compact_dates(texts: set[str]) -> bool:
    """Tell whether all numbers of a column are dates such as 20240102."""
    return bool(texts) and all(_COMPACT.match(text) and _is_day(text) for text in texts)


def compact_dates(values: Floats) -> bool:
    """Tell whether a column of numbers, (rows,) with NaN for gaps, holds dates such as 20240102."""
    present = np.unique(values[~np.isnan(values)])
    plausible = len(present) and present[0] >= 18_000_101 and present[-1] <= 20_991_231
    return bool(plausible) and are_compact_dates({f"{value:.10g}" for value in present})


def unit_since_1970(values: Floats) -> str:
    """Return the likely unit of a column of numbers, (rows,), that may be times since 1970.

    In this unit, all numbers lie between the years 2000 and 2040, and differ. Empty without such a
    unit.
    """
    present = values[~np.isnan(values)]
    if not len(present) or present.min() == present.max():
        return ""
    low, high = float(present.min()), float(present.max())
    for unit, per_second in _SINCE_1970.items():
        if per_second * _FROM <= low <= high < per_second * _TO:
            return unit
    return ""


def _is_day(text: str) -> bool:
    try:
        datetime.date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return False
    return True


#: Marks of missing values in files of spreadsheets, databases, statistics and Python.
_KNOWN = (
    "", "na", "n/a", "nan", "-nan", "null", "none", "nat", "<na>", "(null)", "[null]", "\\n", "?",
    ".", "-", "--", "#n/a", "#na", "#n/a n/a", "#nv", "#div/0!", "#value!", "#wert!", "#ref!",
    "#bezug!", "#num!", "#zahl!", "#name?", "#null!", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan",
    "n.a.", "n. a.", "k.a.", "k. a.", "k.a", "n.v.",
)  # fmt: skip


#: Values of the keys for the format of a file.
Separator = Literal[",", ";", "\t", "|", " "]
Decimal = Literal[".", ","]
Thousands = Literal[",", ".", "'", " "]


class Reading(NamedTuple):
    """The format of a file; an empty field, or None, is determined from the file."""

    encoding: str = "utf-8"
    separator: str = ""  # separator of cells
    decimal: str = ""  # the decimal sign of numbers
    thousands: str = ""  # the sign between thousands
    marks: tuple[str, ...] | None = None  # texts that stand for a missing value


#: A reading without stated fields.
AS_FOUND = Reading()


def reading_of(settings: Any) -> Reading:
    """Return the reading that the keys of an environment state."""
    marks = getattr(settings, "missing_marks", None)
    return Reading(
        settings.encoding,
        settings.separator or "",
        settings.decimal or "",
        settings.thousands or "",
        None if marks is None else tuple(map(str, marks)),
    )


class Marks(NamedTuple):
    """Texts and numbers that stand for a missing value."""

    texts: frozenset[str]  # in small letters
    numbers: frozenset[float] = frozenset()
    known: bool = False  # whether these are the known marks, not stated marks

    @classmethod
    def of(cls, stated: Iterable[str]) -> Marks:
        """Make marks of stated texts; an empty cell is always missing."""
        texts = frozenset({"", *(text.strip().lower() for text in stated)})
        values = (NumberFormat(".").read(text) for text in texts)
        return cls(texts, frozenset(value for value in values if value is not None))

    def among(self, cells: Any, listed: frozenset[str] = frozenset()) -> set[str]:
        """Return the texts of a column, (rows,), that are marks; ``listed`` texts are values."""
        present = set(cells)
        # A minus beside a plus is a value, such as a rhesus factor.
        values = {*listed, *(("-",) if self.known and "+" in present else ())}
        return {text for text in present if text not in values and self._is_mark(text)}

    def gaps(self, cells: Any, listed: frozenset[str] = frozenset()) -> Bools:
        """Mark empty cells of a column, (rows,) numbers or texts; ``listed`` texts are values."""
        if cells.dtype != object:
            gaps: Bools = np.isnan(cells) | np.isin(cells, [*self.numbers])
            return gaps
        empty = self.among(cells, listed)
        return np.array([text in empty for text in cells], dtype=np.bool_)

    def _is_mark(self, text: str) -> bool:
        if text.lower() in self.texts:
            return True
        return bool(self.numbers) and NumberFormat(commas=True).read(text) in self.numbers


KNOWN_MARKS = Marks(frozenset(_KNOWN), known=True)


def tidy(text: str) -> str:
    """Return a text without outer blanks, in Unicode's composed form."""
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def whole_text(text: str) -> str:
    """Write a whole number without its point, ``1.0`` as ``1``; other texts stay."""
    return _WHOLE.sub(r"\1", text)


def listed_text(value: str | int) -> str:
    """Spell a class or a category of a configuration as :func:`texts` spells cells."""
    return whole_text(tidy(str(value)))


def refuse_reading(table: Any) -> None:
    """Refuse settings for the format of a file that do not fit together."""
    try:
        "".encode(table.encoding)
        codecs.lookup(table.encoding)
    except (LookupError, ValueError):  # ValueError: a name with a zero byte
        raise ValueError(
            f"encoding: given {table.encoding!r}, allowed: the name of one that Python knows, such "
            "as utf-8, latin-1 or cp1252"
        ) from None
    if table.decimal is not None and table.decimal == table.thousands:
        raise ValueError(
            f"thousands: given {table.thousands!r}, which is the decimal sign too; allowed: "
            "another one, or leave it out"
        )
