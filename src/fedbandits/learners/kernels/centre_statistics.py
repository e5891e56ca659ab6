"""Statistics of a cluster's centre, for several spreads of users around it at once.

Precisions are symmetric, so a triangle is kept, row by row and in whole lanes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import LANES, allocation_free, compiled, fma, inlined, lanes, load, store
from fedbandits._typing import Floats
from fedbandits.learners.kernels.evidence import Evidence
from fedbandits.learners.kernels.ridge import invert_in_place


class CentreSums(NamedTuple):
    """Sums that tell where a centre is, for each spread, without its prior."""

    precision: Floats  # (s, ·): the lower triangle row by row, in whole lanes
    score: Floats  # (s, ·): in whole lanes
    outer: Floats  # a buffer, of a triangle
    row: Floats  # a buffer, of a direction


@compiled
def padded(hypotheses: int) -> int:
    """Return the length of the axis that so many hypotheses lie along."""
    return -(-hypotheses // LANES) * LANES


@compiled
def nothing_said(spreads: int, dimension: int) -> CentreSums:
    """Return zeros: the sums before any statistic."""
    triangle, row = padded(dimension * (dimension + 1) // 2), padded(dimension)
    return CentreSums(
        np.zeros((spreads, triangle)), np.zeros((spreads, row)), np.zeros(triangle), np.zeros(row)
    )


@allocation_free
def add_statistic(
    evidence: Evidence, j: int, weight: float, spreads: Floats, said: CentreSums
) -> None:
    """Add what the ``j``-th statistic says of the centre, if it lies around it by each spread.

    It counts ``weight`` times. ``spreads`` are (s,) float64; ``said`` is changed in place.
    """
    for a in range(evidence.score.shape[1]):
        g, z = evidence.precision[j, a], evidence.score[j, a]
        if g == 0.0 and z == 0.0:
            continue
        _set_outer(evidence.basis[j, a], said)
        for s in range(spreads.size):
            share = weight / (1.0 + g * spreads[s])
            _add_times(share * g, said.outer, said.precision, s)
            _add_times(share * z, said.row, said.score, s)


@allocation_free
def _set_outer(direction: Floats, said: CentreSums) -> None:
    """Set the products of a direction's coordinates, and the direction."""
    place = 0
    for i in range(direction.size):
        said.row[i] = direction[i]
        for k in range(i + 1):
            said.outer[place] = direction[i] * direction[k]
            place += 1


@inlined
def _add_times(weight: float, row: Floats, totals: Floats, s: int) -> None:
    for at in range(0, row.size, LANES):
        store(totals, (s, at), fma(lanes(weight), load(row, at), load(totals, (s, at))), LANES)


@compiled
def find_centre(
    precision: Floats, score: Floats, prior: float, h: int, uncertain: Floats, centre: Floats
) -> float:
    """Find where a centre is by what was said, and how uncertain that is.

    ``precision`` and ``score`` are rows of :class:`CentreSums`; every coordinate has the precision
    ``prior`` before that. At the place of hypothesis ``h``, ``uncertain`` (d, d, h) and ``centre``
    (d, h) receive P⁻¹ and P⁻¹ s. Returns ln ∫ exp(s·c - ½ cᵀPc) dc, up to a constant.
    """
    d, place = len(centre), 0
    matrix = np.empty((d, d))
    for i in range(d):
        for k in range(i + 1):
            matrix[i, k] = matrix[k, i] = precision[place]
            place += 1
        matrix[i, i] += prior
    fit = -0.5 * invert_in_place(matrix, np.empty(d))
    for i in range(d):
        found = 0.0
        for k in range(d):
            found = fma(matrix[i, k], score[k], found)
            uncertain[i, k, h] = matrix[i, k]
        centre[i, h] = found
        fit += 0.5 * score[i] * found
    return fit
