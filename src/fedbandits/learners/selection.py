"""Choosing among masked scores: the largest, or in proportion to them.

A score is masked by multiplying it with a positive number that only its owners know. The product
is rounded to a float like any other. It must be: exact products of one step have the mask as a
common divisor, which anybody who sees two of them could compute. Rounding never inverts an order,
but two scores that differ in their last bit may come out equal. The plain run therefore compares
the same rounded products, and such ties are broken as all ties are.
"""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats


@compiled
def largest(scores: Floats) -> int:
    """The first place with the largest masked score; -1 if one is not a finite number."""
    best = -1
    for place in range(scores.size):
        if not np.isfinite(scores[place]):
            return -1
        if best < 0 or scores[place] > scores[best]:
            best = place
    return best


@compiled
def in_proportion(scores: Floats, waits: Floats) -> int:
    """A place with probability in proportion to its masked score, as a race.

    If place j's score is v and its wait is exponential, the largest v / wait is place j's with
    probability v / Σv: probability matching without a sum.

    Parameters
    ----------
    scores : (places,) float64
        Masked scores ≥ 0.
    waits : (places,) float64
        Standard exponential variables, above 0.

    Returns
    -------
    int
        The winner, the first one of equals; -1 if a score is negative or not a finite number.
    """
    best, top = -1, -1.0
    for place in range(scores.size):
        if not (np.isfinite(scores[place]) and scores[place] >= 0.0):
            return -1
        ratio = scores[place] / waits[place]
        if ratio > top:
            best, top = place, ratio
    return best
