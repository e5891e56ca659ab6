"""Evidence of many statistics side by side: how likely all of them are around one centre.

A statistic is a lane. So the arithmetic of :func:`~fedbandits.learners.evidence.log_evidence` is
done for whole lanes of them at once, in the same order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import LANES, borrowing, compiled, lanes, load, store
from fedbandits._typing import Floats
from fedbandits.learners.evidence import Evidence

#: So many factors of a determinant are multiplied before a logarithm is taken.
_FACTORS = 16


class Across(NamedTuple):
    """Evidence with the n statistics along the last axis, in whole lanes; see :class:`Evidence`."""

    precision: Floats  # (d, ·): g
    score: Floats  # (d, ·): z
    centre: Floats  # (d, ·): Q c, the centre that was looked at last
    likely: Floats  # (·,): receives what is asked for
    work: Floats  # (·,): a buffer


@compiled
def across(evidence: Evidence) -> Across:
    """The same evidence, side by side; what fills the last lanes says nothing."""
    n, d = evidence.score.shape
    width = -(-n // LANES) * LANES
    table = Across(
        np.zeros((d, width)), np.zeros((d, width)), np.zeros((d, width)), np.zeros(width),
        np.zeros(width),
    )  # fmt: skip
    for j in range(n):
        for a in range(d):
            table.precision[a, j] = evidence.precision[j, a]
            table.score[a, j] = evidence.score[j, a]
    return table


@compiled
def look_from(evidence: Evidence, centre: Floats, table: Across) -> None:
    """Turn a centre (d,) to the basis of every statistic."""
    n, d = evidence.score.shape
    turned = evidence.basis.reshape(n * d, d) @ centre
    for j in range(n):
        for a in range(d):
            table.centre[a, j] = turned[j * d + a]


@borrowing
def log_evidence_of_all(table: Across, variance: float) -> None:
    """How likely each statistic is if θ ~ N(c, s I), into ``likely``.

    Parameters
    ----------
    table : Across
        After :func:`look_from`.
    variance : float
        Variance s of θ in every direction.
    """
    (d, width), logarithms = table.score.shape, table.work
    for at in range(0, width, LANES):
        gains, determinant = lanes(0.0), lanes(1.0)
        for h in range(at, at + LANES):
            logarithms[h] = 0.0
        for a in range(d):
            g, z = load(table.precision, (a, at)), load(table.score, (a, at))
            c = load(table.centre, (a, at))
            widened = 1.0 + g * variance
            gains = gains + (z * (variance * z + 2.0 * c) - g * c * c) / widened
            determinant = determinant * widened
            if a % _FACTORS == _FACTORS - 1 or a == d - 1:  # before it leaves the range of numbers
                store(table.likely, at, determinant, LANES)
                for h in range(at, at + LANES):
                    logarithms[h] += math.log(table.likely[h])
                determinant = lanes(1.0)
        store(table.likely, at, 0.5 * (gains - load(logarithms, at)), LANES)
