"""The kind of values that a column holds."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple

from fedbandits.environments.tables.cells import RawTable, first_row
from fedbandits.environments.tables.dates import are_compact_dates, compact_dates, is_date
from fedbandits.environments.tables.formats import with_comma, with_thousands

_Kind = Literal["number", "text", "date"]


class Found(NamedTuple):
    """The kind of values that a column holds; ``mixed`` is numbers or dates among others."""

    kind: Literal["number", "text", "date", "mixed", "empty"]
    row: int = 0  # of a mixed column: the first row whose cell is of the rarer kind


def found_in(raw: RawTable, column: str, key: str) -> Found:
    """Tell what kind of values a column holds."""
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
