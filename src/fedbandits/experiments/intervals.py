"""Means over replicates with intervals by Student's t, and their text."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.offline.estimates import LEVEL as LEVEL
from fedbandits.offline.estimates import quantile

#: Fewest replicates of an interval: fewer ones say too little about their variance.
FEWEST = 3


class Interval(NamedTuple):
    """A mean over replicates with the half-width of its 95% interval."""

    mean: Floats  # the mean, (…); NaN where there are no replicates
    half: Floats  # the half-width, (…); NaN with fewer than 3 replicates


def interval(runs: Floats) -> Interval:
    """Return the mean and its 95% interval by Student's t over the first axis of ``runs``."""
    runs = np.asarray(runs, dtype=np.float64)
    count, rest = runs.shape[0], runs.shape[1:]
    if count == 0:
        return Interval(np.full(rest, math.nan), np.full(rest, math.nan))
    mean = runs.mean(axis=0)
    if count < FEWEST:
        return Interval(mean, np.full(rest, math.nan))
    error = runs.std(axis=0, ddof=1) / math.sqrt(count)
    return Interval(mean, float(quantile(count - 1)) * error)


#: Degrees of freedom with which Student's t is about the normal distribution.
_MANY = 999_999


class Paired(NamedTuple):
    """The mean of paired differences."""

    replicates: int  # number of replicates that both systems have finished
    mean: float  # mean difference; NaN if there are none
    #: Half the width of the interval around ``mean``; None with fewer than 3 replicates, or if all
    #: are equal, maybe by chance.
    half_width: float | None

    @property
    def sign(self) -> int | None:
        """Sign of the mean: 1 or -1; None if the interval contains 0."""
        if self.half_width is None or abs(self.mean) <= self.half_width:
            return None
        return 1 if self.mean > 0.0 else -1


def paired(differences: Floats, level: float = LEVEL) -> Paired:
    """Return the mean of ``differences`` and its interval; unfinished replicates are NaN."""
    finite = differences[np.isfinite(differences)]
    count = len(finite)
    mean = float(finite.mean()) if count else math.nan
    if count < FEWEST:
        return Paired(count, mean, None)
    if np.ptp(finite) == 0.0:  # the deviation of equal numbers is not always 0 in floating point
        # Equal numbers do not show the variance. By chance alone, all are on one side of 0 with a
        # probability of 2^(1 - count).
        known = finite[0] == 0.0 or 2.0 ** (1 - count) <= 1.0 - level
        return Paired(count, float(finite[0]), 0.0 if known else None)
    error = float(finite.std(ddof=1)) / math.sqrt(count)
    return Paired(count, mean, float(quantile(count - 1, level)) * error)


def estimated_difference(difference: Paired, halves: Floats, level: float = LEVEL) -> Paired:
    """Widen the difference of two estimates from one log by the chance of the log.

    Half its width is the sum of both half-widths. Both systems meet the same events, so their
    errors may have opposite signs: where the systems choose different actions, an event that raises
    one estimate lowers the other. The sum holds for every correlation of the errors.

    Parameters
    ----------
    difference
        The mean difference over replicates.
    halves : (2, replicates)
        Half-widths of the 95% intervals of both systems.
    level
        Probability with which the interval covers the true difference.
    """
    both = halves.sum(axis=0)
    both = both[np.isfinite(both)]
    if not len(both):
        return difference._replace(half_width=None)
    widened = quantile(_MANY, level) / quantile(_MANY)
    return difference._replace(half_width=float(both.mean()) * float(widened))


def spelled(mean: float, half: float = math.nan) -> str:
    """Write a mean, with the half-width of its interval if that is finite: ``15.26 ± 0.06``."""
    if math.isnan(mean):
        return "–"
    if not math.isfinite(half):
        return f"{mean:,.0f}" if abs(mean) >= 1000.0 else f"{mean:.4g}"
    return with_error(mean, half)


def spelled_epsilon(value: float) -> str:
    """Write an ε: ∞ if infinite, ``encrypted`` if NaN."""
    if math.isnan(value):
        return "encrypted"
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.4g}"


def with_error(value: float, half_width: float | None) -> str:
    """Write a number with the half-width of its interval, in the digits that the width allows.

    If the interval leaves out 0, the digits show so.
    """
    if half_width is None:
        return fixed(value, decimal_places(abs(value) / 10.0))
    if half_width == 0.0:
        return f"{fixed(value, 0 if value.is_integer() else decimal_places(abs(value) / 10.0))} ± 0"
    places = decimal_places(half_width)
    if abs(value) < 10.0:  # a single digit would say little
        places = max(places, 1)
    for _ in range(4):
        shown_value, shown_width = round(value, places), round(half_width, places)
        if (abs(shown_value) > shown_width) == (abs(value) > half_width):
            break
        places += 1
    return f"{fixed(value, places)} ± {fixed(half_width, places)}"


def decimal_places(error: float) -> int:
    """Return the decimal places of one digit of the error; of two digits if it begins with 1."""
    if error <= 0.0 or not math.isfinite(error):
        return 0
    exponent = math.floor(math.log10(error))
    return (1 if error / 10.0**exponent < 1.95 else 0) - exponent


def fixed(value: float, places: int) -> str:
    """Write a number with ``places`` decimal places, and a proper minus sign."""
    text = f"{round(value, places):,.{max(places, 0)}f}"
    bare = text.lstrip("-")
    return bare if not text.startswith("-") or not bare.strip("0.,") else f"\N{MINUS SIGN}{bare}"
