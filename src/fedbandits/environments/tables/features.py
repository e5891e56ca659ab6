"""Contexts from columns: each feature becomes coordinates, and each row has norm ≤ 1.

Columns of numbers that can be used but look wrong give cautions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple, Self

import numpy as np

from fedbandits._typing import Bools, Floats, Floats32
from fedbandits.environments.tables.cells import Cells, RawTable, missing, numbers, texts
from fedbandits.environments.tables.formats import OTHER, unit_since_1970
from fedbandits.errors import DataError
from fedbandits.rows import (
    MOST_SPREADS,
    limits_of,
    scaled,
    shortened,
    with_constant,
)

#: Share of cut-off values from which a range gets a caution.
_MANY = 0.05
#: Marks of missing values in many files: 99, -999 and so on.
_NINES = tuple(sign * (10**digits - 1) for digits in range(2, 7) for sign in (-1, 1))
#: A positive mark must be this many times as large as all others; a negative mark must be alone.
_FAR = 4.0


class Numeric(NamedTuple):
    """A column of numbers: [low, high] becomes [-limit, limit]; values outside are cut off."""

    name: str
    low: float
    high: float
    limit: float = 1.0

    @classmethod
    def spread_out(cls, name: str, centre: float, spread: float) -> Self:
        """Make a column that is counted in spreads from its centre."""
        return cls(name, *limits_of(centre, spread), MOST_SPREADS)

    @property
    def key(self) -> Literal["ranges", "spread"]:
        """The setting that determines the scale of its values."""
        return "ranges" if self.limit == 1.0 else "spread"

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return 1

    def gaps(self, raw: RawTable) -> Bools:
        """Mark missing values, (rows,)."""
        return missing(raw, self.name, "features")

    def coordinates(self, raw: RawTable) -> Floats:
        """Return the numbers in [-limit, limit], (rows, 1), with 0 for missing values."""
        values = scaled(numbers(raw, self.name, "features"), self.low, self.high, self.limit)
        return np.nan_to_num(values, nan=0.0)[:, None]


class Categorical(NamedTuple):
    """A column of texts: one coordinate for each category, which is 1 for the row's category."""

    name: str
    levels: tuple[str, ...]  # the categories; ``*`` stands for all texts that are not listed

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return len(self.levels)

    def gaps(self, raw: RawTable) -> Bools:
        """Mark missing values, (rows,)."""
        return missing(raw, self.name, "features", frozenset(self.levels))

    def coordinates(self, raw: RawTable) -> Floats:
        """Mark each row's category with 1, (rows, levels); a missing value is a row of zeros."""
        codes = codes_of(raw, self.name, "categories", self.levels, ~self.gaps(raw))
        marked = np.zeros((len(codes), len(self.levels)))
        present = np.flatnonzero(codes >= 0)
        marked[present, codes[present]] = 1.0
        return marked


Feature = Numeric | Categorical


def codes_of(
    raw: RawTable, column: str, key: str, listed: Sequence[str], there: Bools | None = None
) -> Cells:
    """Return the number of each row's text in a list, with -1 for missing values.

    The setting ``key`` has ``listed`` the texts; ``*`` stands for all others. ``there`` (rows,)
    marks the rows with a text; by default all rows. Raises DataError with the line of the first
    text that is not listed.
    """
    spelled = texts(raw, column, key)
    number = {text: code for code, text in enumerate(listed)}
    other = number.get(OTHER, -1)
    codes = np.array([number.get(text, other) for text in spelled], np.int64)
    if there is not None:
        codes[~there] = -1
    unlisted = np.flatnonzero((codes < 0) & (np.True_ if there is None else there))
    if len(unlisted):
        remedy = f'add it, or add "{OTHER}" for all others' if key == "categories" else "add it"
        raise DataError(
            f"{raw.place(int(unlisted[0]), column)}: its text is not among the {len(listed)} "
            f"{key} ({len(unlisted)} such rows); {remedy}, or correct the row"
        )
    return codes


def contexts_of(
    raw: RawTable, features: Sequence[Feature], indicators: bool, norm: float | None,
    intercept: float,
) -> Floats32:  # fmt: skip
    """Make the contexts of all rows, (rows, d) float32, of norm at most 1.

    A feature adds at most 1 to the squared norm of a row, or about 1 if it is counted in spreads.
    So rows are divided by the root of the number of features, or by a stated ``norm``; rows that
    are still longer than 1 are cut to norm 1. With ``indicators`` each feature gets a further
    coordinate, which is 1 where its value is missing and its other coordinates are 0. ``intercept``
    is the share of the squared norm for a constant coordinate; 0 means no such coordinate.
    """
    blocks = []
    for feature in features:
        blocks.append(feature.coordinates(raw))
        if indicators:
            blocks.append(feature.gaps(raw).astype(np.float64)[:, None])
    divisor = math.sqrt(len(features)) if norm is None else norm
    return with_constant(shortened(np.hstack(blocks), divisor), intercept)


def suspicious(
    raw: RawTable, features: Sequence[Feature], stated: Collection[str]
) -> Iterable[str]:
    """Yield cautions about columns of numbers; columns with ``stated`` facts get fewer."""
    for feature in features:
        if not isinstance(feature, Numeric):
            continue
        values = numbers(raw, feature.name, "features")
        present = values[~np.isnan(values)]
        outside = int(((present < feature.low) | (present > feature.high)).sum())
        if outside > _MANY * len(present):
            yield (
                f"{feature.key}: {outside} of {len(present)} values of {feature.name} lie outside "
                f"[{feature.low:g}, {feature.high:g}], and count as its nearer end; correct the "
                f"{feature.key.removesuffix('s')}, or how the column is read (decimal, thousands, "
                "missing_marks)"
            )
        if feature.name in stated:
            continue
        if unit := unit_since_1970(present):
            yield (
                f"features: values of {feature.name} look like times in {unit} since 1970; later "
                "visits lie beyond all that was learned from: make hours, weekdays or a time since "
                "an event of them, leave the column out, or state its range"
            )
        if mark_among(present) is not None:
            yield (
                f"missing_marks: a value of {feature.name} is far from all others, and is written "
                "with nines, as marks of missing values are; if it is one, list it"
            )


def mark_among(values: Floats) -> float | None:
    """Return a number that looks like a mark of missing values, such as -999, or None."""
    for mark in _NINES:
        others = values[values != mark]
        if len(others) in (0, len(values)):
            continue
        if mark < 0.0 and others.min() >= 0.0:
            return float(mark)
        if mark > 0.0 and np.abs(others).max() * _FAR < mark:
            return float(mark)
    return None
