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
def largest_place(scores: Floats) -> tuple[int, int]:
    """Find the first place with the largest masked score, and how many places have it.

    The place is -1 if one of the scores is not a finite number.
    """
    best, equals, top = -1, 0, -np.inf
    for place in range(scores.size):
        score = scores[place]
        if not np.isfinite(score):
            return -1, 0
        if score > top:
            best, equals, top = place, 1, score
        elif score == top:
            equals += 1
    return best, equals


@compiled
def equal_place(scores: Floats, first: int, rank: int) -> int:
    """Find the place with the score of place ``first`` that has ``rank`` such places before it."""
    place = first
    while rank > 0:
        place += 1
        if scores[place] == scores[first]:
            rank -= 1
    return place


@compiled
def in_proportion(scores: Floats, waits: Floats) -> int:
    """Draw a place with probability in proportion to its masked score, as a race.

    If place j's score is v and its wait is exponential, the largest v / wait is place j's with
    probability v / Σv: probability matching without a sum.

    ``scores`` are masked and ≥ 0, ``waits`` standard exponential variables above 0, (places,) each.
    Returns -1 if a score is negative or not a finite number. Of equals the one with the shortest
    wait wins: where all scores are zero, any place, uniformly.
    """
    best, top = -1, -1.0
    for place in range(scores.size):
        if not (np.isfinite(scores[place]) and scores[place] >= 0.0):
            return -1
        ratio = scores[place] / waits[place]
        if ratio > top or (ratio == top and waits[place] < waits[best]):
            best, top = place, ratio
    return best
