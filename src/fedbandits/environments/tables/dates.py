"""Dates, times and durations, as people and programs write them."""

from __future__ import annotations

import datetime
import re

import numpy as np

from fedbandits._typing import Floats

#: What errors call them, with the remedy.
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
_WRITTEN = re.compile(
    "(?:"
    + "|".join(
        [
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
        ]
    )
    + r")\Z",
    re.IGNORECASE,
)
#: Numbers of units in a second.
_SINCE_1970 = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
#: Beginnings of 2000 and 2040, in seconds since 1970.
_FROM, _TO = 946_684_800.0, 2_208_988_800.0
_COMPACT = re.compile(rf"{_YEAR}(?:0[1-9]|1[0-2])\d\d\Z", re.ASCII)


def is_date(text: str) -> bool:
    """Tell whether a text is written like a date, a time or a duration."""
    return bool(text) and (text[0].isalnum() or text[0] == "-") and bool(_WRITTEN.match(text))


def are_compact_dates(texts: set[str]) -> bool:
    """Tell whether all numbers of a column are dates such as 20240102."""
    return bool(texts) and all(_COMPACT.match(text) and _is_day(text) for text in texts)


def compact_dates(values: Floats) -> bool:
    """Tell the same of a column of numbers, (rows,), NaN where one is missing."""
    there = np.unique(values[~np.isnan(values)])
    plausible = len(there) and there[0] >= 18_000_101 and there[-1] <= 20_991_231
    return bool(plausible) and are_compact_dates({f"{value:.10g}" for value in there})


def unit_since_1970(values: Floats) -> str:
    """Find the unit of a column of numbers, (rows,), that are times since 1970 as it seems.

    All are between the years 2000 and 2040 in this unit, and not the same. Empty if there is none.
    """
    there = values[~np.isnan(values)]
    if not len(there) or there.min() == there.max():
        return ""
    low, high = float(there.min()), float(there.max())
    units = (unit for unit, each in _SINCE_1970.items() if each * _FROM <= low <= high < each * _TO)
    return next(units, "")


def _is_day(text: str) -> bool:
    try:
        datetime.date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return False
    return True
