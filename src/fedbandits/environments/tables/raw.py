"""A table as it was read: columns of numbers or texts, and where each row stands."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._suggest import did_you_mean
from fedbandits._typing import Bools, Ints
from fedbandits.errors import DataError

#: Numbers, NaN where one is missing; or texts, empty where one is missing.
Cells = NDArray[Any]


def tidy(text: str) -> str:
    """Return a text without blanks around it, spelt one way where Unicode has several."""
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


class RawTable(NamedTuple):
    """A table before anything is made of its columns.

    Parameters
    ----------
    name
        What errors call it: its path, or ``the table``.
    columns
        Cells by the name of the column: (rows,) float64 or texts.
    lines
        (rows,): where each row stands.
    unit
        What is counted there: ``line`` of a file, or ``row``.
    separator
        What separates cells in its file; empty where nothing does.
    """

    name: str
    columns: dict[str, Cells]
    lines: Ints
    unit: str
    separator: str = ""

    @property
    def decimal_commas(self) -> bool:
        """Answer to whether numbers may have commas: yes where no comma separates cells."""
        return self.separator in (";", "\t")

    def cells(self, column: str, key: str) -> Cells:
        """Return the cells of a column that the setting ``key`` names.

        Raises
        ------
        DataError
            If there is no such column.
        """
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
