"""Cautions about columns that can be used, but look wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.tables.cells import RawTable, numbers
from fedbandits.environments.tables.dates import unit_since_1970
from fedbandits.environments.tables.features import Feature, Numeric

#: From this share of values on, a range that cuts them off is told.
_MANY = 0.05
#: Numbers that stand for a missing value in many files: 99, -999 and so on.
_NINES = tuple(sign * (10**digits - 1) for digits in range(2, 7) for sign in (-1, 1))
#: So many times as large as all others a positive one must be; a negative one must be alone.
_FAR = 4.0


def suspicious(
    raw: RawTable, features: Sequence[Feature], stated: Collection[str]
) -> Iterable[str]:
    """Yield cautions about columns of numbers, of which some have ``stated`` facts."""
    for feature in features:
        if not isinstance(feature, Numeric):
            continue
        values = numbers(raw, feature.name, "features")
        there = values[~np.isnan(values)]
        outside = int(((there < feature.low) | (there > feature.high)).sum())
        if outside > _MANY * len(there):
            yield (
                f"{feature.key}: {outside} of {len(there)} values of {feature.name} lie outside "
                f"[{feature.low:g}, {feature.high:g}], and count as its nearer end; correct the "
                f"{feature.key.removesuffix('s')}, or how the column is read (decimal, thousands, "
                "missing_marks)"
            )
        if feature.name in stated:
            continue
        if unit := unit_since_1970(there):
            yield (
                f"features: values of {feature.name} look like times in {unit} since 1970; later "
                "visits lie beyond all that was learned from: make hours, weekdays or a time since "
                "an event of them, leave the column out, or state its range"
            )
        if mark_among(there) is not None:
            yield (
                f"missing_marks: a value of {feature.name} is far from all others, and is written "
                "with nines, as marks of missing values are; if it is one, list it"
            )


def mark_among(values: Floats) -> float | None:
    """Find a number of a column that looks like a mark of missing values, such as -999."""
    for mark in _NINES:
        others = values[values != mark]
        if len(others) in (0, len(values)):
            continue
        if mark < 0.0 and others.min() >= 0.0:
            return float(mark)
        if mark > 0.0 and np.abs(others).max() * _FAR < mark:
            return float(mark)
    return None
