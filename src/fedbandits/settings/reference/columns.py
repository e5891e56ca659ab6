"""The content of a column of the user's own data, and why it cannot be a feature."""

from __future__ import annotations

import re
from typing import NamedTuple

from fedbandits.environments.tables.cells import (
    RawTable,
    found_in,
    missing,
    perhaps_thousands,
    texts,
)

#: More different texts than these are names, not categories or classes.
MOST = 50
#: Up to so many different texts that begin with digits are taken as categories, such as doses.
_MOST_DOSES = 10
_IDENTIFIERS = re.compile(
    r"(\A|.*[_ .-]|.*[a-z](?=[A-Z]))"
    r"(?i:id|nr|no|number|key|schlüssel|uuid|index|row|zeile)\.?\Z|.*(?i:nummer)\Z"
)
#: Numbers with something beside the digits, such as 37 %, 5.000 €, 1.234,50 or < 3.
_ALMOST_NUMBERS = re.compile(r"[<>~≤≥±]?\s*[-+−]?\s*\d[\d.,'’\s]*\s*[^\W\d_]{0,4}[%‰€$£°]?\Z")


class Column(NamedTuple):
    """A column and its content."""

    name: str
    #: ``number``, ``text``, ``date``, ``mixed`` or ``empty``; also ``almost`` for texts that are
    #: nearly numbers, and ``dots`` for numbers like 1.234.
    kind: str
    different: int  #: Number of different values.
    gaps: int  #: Number of missing values.
    odd: str = ""  #: Place of a cell of the rarer kind in a mixed column, such as ``line 12``.

    @property
    def told(self) -> str:
        """Content of the column, in words."""
        words = {"number": "numbers", "text": "texts", "date": "dates", "empty": "empty"}
        words |= {"almost": "texts", "dots": "numbers"}
        kind = words.get(self.kind, "numbers and texts")
        gaps = f", {self.gaps} missing" if self.gaps and self.kind != "empty" else ""
        return kind if self.kind == "empty" else f"{kind}, {self.different} different{gaps}"

    def unfit(self, rows: int) -> str:
        """Say why it cannot be a feature; empty if it can."""
        if self.kind == "date":
            return "make a number of dates first, such as days since a date"
        if self.kind == "mixed":
            return f"has numbers and texts; look at {self.odd}"
        if self.kind == "almost":
            return "looks like numbers; take out signs, units, and dots or blanks between thousands"
        if self.kind == "dots":
            return "dots may stand between thousands, as other columns have decimal commas"
        if self.kind == "empty" or self.different < 2:
            return "never varies"
        if self.kind == "text" and self.different > MOST:
            return "too many different texts for categories"
        if _IDENTIFIERS.match(self.name) and 2 * self.different > rows:
            return "looks like the number of a row"
        return ""


def look(raw: RawTable, name: str) -> Column:
    """Examine a column of a table."""
    found, gaps = found_in(raw, name, "features"), missing(raw.columns[name])
    values, kind = set(texts(raw, name, "features")[~gaps]), str(found.kind)
    if kind == "text" and len(values) > _MOST_DOSES and all(map(_ALMOST_NUMBERS.match, values)):
        kind = "almost"
    if kind == "number" and perhaps_thousands(raw, name) is not None:
        kind = "dots"
    return Column(name, kind, len(values), int(gaps.sum()), f"{raw.unit} {raw.lines[found.row]}")
