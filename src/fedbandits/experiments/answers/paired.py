"""Paired differences of two systems over replicates, with intervals by Student's t."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.experiments.intervals import FEWEST, LEVEL, quantile

#: So many numbers that Student's t is the normal distribution.
_MANY = 1_000_000


class Paired(NamedTuple):
    """The mean of paired differences.

    Parameters
    ----------
    replicates
        Number of replicates that both systems have finished.
    mean
        Mean difference; NaN if there are none.
    half_width
        Half the width of the interval around ``mean``; None with fewer than 3 replicates, or with
        so few that all are equal by chance.
    """

    replicates: int
    mean: float
    half_width: float | None

    @property
    def sign(self) -> int | None:
        """1 or -1 if the whole interval is on that side of 0; None if it is on both, or unknown."""
        if self.half_width is None or abs(self.mean) <= self.half_width:
            return None
        return 1 if self.mean > 0.0 else -1


def paired(differences: Floats, level: float = LEVEL) -> Paired:
    """The mean of ``differences``, one a replicate, and its interval by Student's t.

    Parameters
    ----------
    differences
        (replicates,) differences; NaN where a system has not finished a replicate.
    level
        Probability with which the interval covers the true mean.
    """
    found = differences[np.isfinite(differences)]
    count = len(found)
    mean = float(found.mean()) if count else math.nan
    if count < FEWEST:
        return Paired(count, mean, None)
    if np.ptp(found) == 0.0:  # the deviation of equal numbers is not always 0 in floating point
        # Equal numbers do not show how much others would differ. That all are on one side of 0 by
        # chance alone has a probability of 2^(1 - count).
        known = found[0] == 0.0 or 2.0 ** (1 - count) <= 1.0 - level
        return Paired(count, float(found[0]), 0.0 if known else None)
    error = float(found.std(ddof=1)) / math.sqrt(count)
    return Paired(count, mean, quantile(count, level) * error)


def estimated_difference(difference: Paired, halves: Floats, level: float = LEVEL) -> Paired:
    """The difference of two estimates from one log, with an interval that holds the log's chance.

    Half its width is the sum of both. Both systems meet the same events, so their errors may go in
    opposite directions: where they choose different actions, what is good for one estimate is bad
    for the other. The sum holds however their errors go together.

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
    return difference._replace(half_width=float(both.mean()) * widened)
