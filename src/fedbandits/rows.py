"""Preparation of rows: raw numbers become contexts, the same for tables and for a party's door.

A learner bounds its parameters by S and its contexts by 1. So a row is long enough only if its
numbers are measured in typical deviations, not in parts of a range.
"""

from __future__ import annotations

import math
from typing import Annotated, TypeVar

import numpy as np
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits._typing import Floats, Floats32

#: Largest distance of a value from its centre, in spreads: one absurd value hides no other.
MOST_SPREADS = 10.0
#: The most raw numbers that a context may be made of.
_MOST_NUMBERS = 2_000
#: Largest centre and spread: differences of larger numbers may be infinite.
_LARGEST = 1e300

#: A number, or an array with a number for each coordinate.
_Either = TypeVar("_Either", float, Floats)


def why_no_scale(centre: float, spread: float) -> str | None:
    """Return an error text, the key first, for an unusable centre or spread; else None."""
    if not abs(centre) <= _LARGEST:
        return f"centre: given {centre:g}, allowed: a finite number, such as a typical value"
    if not 0.0 < spread <= _LARGEST:
        return f"spread: given {spread:g}, allowed: a number > 0, such as a typical deviation"
    if not centre - spread < centre < centre + spread:
        return (
            f"spread: given {spread:g}, which is nothing beside the centre {centre:g}; allowed: a "
            "typical deviation from it"
        )
    return None


def centre_and_spread(values: Floats) -> tuple[float, float] | None:
    """Return mean and standard deviation of numbers (n,), without NaN, rounded to three digits.

    The last digit of the mean is about a hundredth of the deviation. The result is None if all
    numbers are equal, or too large for a scale.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centre, spread = float(np.nanmean(values)), float(np.nanstd(values))
    if why_no_scale(centre, spread):
        return None
    digits = 2 - math.floor(math.log10(spread))
    rounded = round(centre, digits), round(spread, digits)
    return None if why_no_scale(*rounded) else rounded


def limits_of(centre: _Either, spread: _Either) -> tuple[_Either, _Either]:
    """Return the two ends of the range beyond which values are cut off."""
    return centre - MOST_SPREADS * spread, centre + MOST_SPREADS * spread


def scaled(
    values: Floats, low: float | Floats, high: float | Floats, limit: float = 1.0
) -> Floats:  # fmt: skip
    """Map [low, high] to [-limit, limit]; values outside move to the nearer end. NaN stays."""
    # Halves first: the width of a range of the largest numbers overflows.
    middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    inside = np.clip((np.clip(values, low, high) - middle) / half, -1.0, 1.0)
    return np.asarray(limit * inside)


def shortened(coordinates: Floats, norm: float) -> Floats:
    """Return rows (rows, k) divided by ``norm``; rows still longer than 1 are cut to norm 1."""
    rows = coordinates / norm
    rows /= np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]
    return rows


def with_constant(rows: Floats, intercept: float) -> Floats32:
    """Make contexts of rows (rows, k) of norm at most 1, (rows, d) float32 of norm at most 1.

    ``intercept`` is the share of the squared norm that a constant coordinate gets; 0 for no such
    coordinate.
    """
    if intercept > 0.0:
        constant = np.full((len(rows), 1), math.sqrt(intercept))
        rows = np.hstack([rows * math.sqrt(1.0 - intercept), constant])
    held = rows.astype(np.float32, order="C")
    # Rounding may have made a row a little longer than 1.
    long = np.linalg.norm(held.astype(np.float64), axis=1) > 1.0
    held[long] *= np.float32(1.0 - 1e-6)
    return held


def deviation_of(rows: Floats32) -> float:
    """Return the root mean square distance of rows (rows, d) from their mean.

    The predictions of a linear model with parameters of norm S vary by at most S times as much.
    """
    return math.sqrt(float(rows.var(axis=0, dtype=np.float64).sum()))


_Numbers = Annotated[tuple[float, ...], Meta(min_length=1, max_length=_MOST_NUMBERS)]


class Rows(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Preparation of contexts from raw numbers, with public constants.

    Parameters
    ----------
    centre, spread
        Typical value of each raw number, in order, and typical deviation from it. A number becomes
        (value - centre) / spread, and is cut off at ±10.
    norm
        Rows are divided by this norm; longer rows are cut to length 1. By default the root of the
        number of raw numbers.
    intercept
        Share of the squared norm for a constant coordinate, which comes last. 0 means no such
        coordinate.
    """

    centre: _Numbers
    spread: _Numbers
    norm: Annotated[float, Meta(ge=1e-100)] | None = None
    intercept: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.25

    def validate(self) -> None:
        if len(self.centre) != len(self.spread):
            raise ValueError(
                f"spread: given {len(self.spread)} numbers, but centre has {len(self.centre)}; "
                "give both for each raw number"
            )
        for place, pair in enumerate(zip(self.centre, self.spread, strict=True)):
            if wrong := why_no_scale(*pair):
                key, _, why = wrong.partition(": ")
                raise ValueError(f"{key}: number {place} (the first is 0): {why}")

    @property
    def raw(self) -> int:
        """Number of raw numbers in a row."""
        return len(self.centre)

    @property
    def dimension(self) -> int:
        """Length of a context."""
        return self.raw + (self.intercept > 0.0)

    def contexts(self, values: Floats) -> Floats32:
        """Make contexts (rows, d) of norm at most 1 from finite raw ``values``, (rows, raw)."""
        low, high = limits_of(np.array(self.centre), np.array(self.spread))
        norm = math.sqrt(self.raw) if self.norm is None else self.norm
        rows = shortened(scaled(values, low, high, MOST_SPREADS), norm)
        return with_constant(rows, self.intercept)
