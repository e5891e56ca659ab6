"""Reading of a table: what the settings say of its file, and what stands for a missing value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from fedbandits._typing import Bools
from fedbandits.environments.tables.formats import NumberFormat

#: What stands for a missing value in files of spreadsheets, databases, statistics and Python.
_KNOWN = (
    "", "na", "n/a", "nan", "-nan", "null", "none", "nat", "<na>", "(null)", "[null]", "\\n", "?",
    ".", "-", "--", "#n/a", "#na", "#n/a n/a", "#nv", "#div/0!", "#value!", "#wert!", "#ref!",
    "#bezug!", "#num!", "#zahl!", "#name?", "#null!", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan",
    "n.a.", "n. a.", "k.a.", "k. a.", "k.a", "n.v.",
)  # fmt: skip


#: Values of the keys that say how a file is read.
Separator = Literal[",", ";", "\t", "|", " "]
Decimal = Literal[".", ","]
Thousands = Literal[",", ".", "'", " "]


class Reading(NamedTuple):
    """The way in which a file is read; what is empty or None is found out."""

    encoding: str = "utf-8"
    separator: str = ""  # what separates cells
    decimal: str = ""  # the decimal sign of numbers
    thousands: str = ""  # the sign between their thousands
    marks: tuple[str, ...] | None = None  # texts that stand for a missing value


#: Nothing is stated.
AS_FOUND = Reading()


def reading_of(settings: Any) -> Reading:
    """Read the keys of an environment that say how its file is read."""
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
    known: bool = False  # whether they are those that are known, not stated ones

    @classmethod
    def of(cls, stated: Iterable[str]) -> Marks:
        """Take the stated ones; an empty cell is always missing."""
        texts = frozenset({"", *(text.strip().lower() for text in stated)})
        values = (NumberFormat(".").read(text) for text in texts)
        return cls(texts, frozenset(value for value in values if value is not None))

    def among(self, cells: Any, listed: frozenset[str] = frozenset()) -> set[str]:
        """Find the texts of a column, (rows,), that are marks; ``listed`` ones are values."""
        there = set(cells)
        # A minus beside a plus is a finding, such as a rhesus factor.
        values = {*listed, *(("-",) if self.known and "+" in there else ())}
        return {text for text in there if text not in values and self._is_mark(text)}

    def gaps(self, cells: Any, listed: frozenset[str] = frozenset()) -> Bools:
        """Mark the cells of a column, (rows,) numbers or texts, that hold nothing."""
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
