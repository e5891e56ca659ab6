"""Means over replicates, with intervals by Student's t."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats

#: Fewer replicates say too little about how much they differ: no interval is stated.
FEWEST = 3
#: Probability with which an interval of one mean covers it.
LEVEL = 0.95


class Interval(NamedTuple):
    """A mean over replicates with the half-width of its 95% interval.

    Parameters
    ----------
    mean
        The mean, (…); NaN where there are no replicates.
    half
        The half-width, (…); NaN with fewer than 3 replicates.
    """

    mean: Floats
    half: Floats


def interval(runs: Floats) -> Interval:
    """Mean and 95% interval by Student's t over the first axis.

    Parameters
    ----------
    runs : (replicates, …)
        One number a replicate.
    """
    runs = np.asarray(runs, dtype=np.float64)
    count, rest = runs.shape[0], runs.shape[1:]
    if count == 0:
        return Interval(np.full(rest, math.nan), np.full(rest, math.nan))
    mean = runs.mean(axis=0)
    if count < FEWEST:
        return Interval(mean, np.full(rest, math.nan))
    error = runs.std(axis=0, ddof=1) / math.sqrt(count)
    return Interval(mean, quantile(count) * error)


def quantile(count: int, level: float = LEVEL) -> float:
    """How many standard errors half of an interval is wide, for a mean of ``count`` numbers.

    Parameters
    ----------
    count
        How many there are.
    level
        Probability with which the interval covers the mean.
    """
    from scipy.special import stdtrit  # takes a while to import

    return float(stdtrit(count - 1, 0.5 + level / 2.0))
