"""Choosing among masked scores, exactly as among the scores themselves.

Rounding may turn two scores that differ in the last bit into equal masked ones. So a masked score
is kept whole, as an unevaluated sum of two floats (Dekker 1971), and where a decision is close it
is made on exact sums (Shewchuk 1997, "Adaptive precision floating-point arithmetic"). Multiplying
all scores by one positive number therefore never changes what is chosen.
"""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled, fma
from fedbandits._typing import Floats

#: Ratios that are this close, relatively, are compared exactly; rounding moves one by 2**-51.
_CLOSE = 2.0**-40


@compiled
def mask_score(score: float, mask: float) -> tuple[float, float]:
    """``score * mask`` without rounding: the product and what rounding took off it.

    Exact while neither is below 2**-900 (or is zero).
    """
    high = score * mask
    return high, fma(score, mask, -high)


@compiled
def largest(high: Floats, low: Floats) -> int:
    """The first place with the largest masked score; -1 if one is not a finite number.

    Parameters
    ----------
    high, low : (places,) float64
        See :func:`mask_score`.
    """
    best = -1
    for place in range(high.size):
        if not (np.isfinite(high[place]) and np.isfinite(low[place])):
            return -1
        higher = best < 0 or high[place] > high[best]
        if higher or (high[place] == high[best] and low[place] > low[best]):
            best = place
    return best


@compiled
def in_proportion(high: Floats, low: Floats, waits: Floats) -> int:
    """A place with probability in proportion to its masked score, as a race.

    If place j's score is v and its wait is exponential, the largest v / wait is place j's with
    probability v / Σv: probability matching that needs no sum, so that it can be decided exactly.

    Parameters
    ----------
    high, low : (places,) float64
        Masked scores ≥ 0, see :func:`mask_score`.
    waits : (places,) float64
        Standard exponential variables, above 0.

    Returns
    -------
    int
        The winner, the first one of equals; -1 if a score is negative or not a finite number.
    """
    top = 0.0
    for place in range(high.size):
        if not (np.isfinite(high[place]) and np.isfinite(low[place]) and high[place] >= 0.0):
            return -1
        top = max(top, high[place] / waits[place])
    best = -1
    for place in range(high.size):
        if high[place] / waits[place] < top * (1.0 - _CLOSE):
            continue
        if best < 0 or _wins(high, low, waits, place, best):
            best = place
    return best


@compiled
def _wins(high: Floats, low: Floats, waits: Floats, one: int, other: int) -> bool:
    """Whether score[one] / wait[one] > score[other] / wait[other], exactly."""
    terms = np.empty(8)
    terms[0], terms[1] = mask_score(high[one], waits[other])
    terms[2], terms[3] = mask_score(low[one], waits[other])
    terms[4], terms[5] = mask_score(-high[other], waits[one])
    terms[6], terms[7] = mask_score(-low[other], waits[one])
    return sum_is_positive(terms)


@compiled
def sum_is_positive(terms: Floats) -> bool:
    """Whether the exact sum of floats is above zero. ``terms`` is overwritten.

    Passes of error-free additions leave the sum as it is; once a pass changes nothing, terms do
    not overlap and the last one that is not zero, being the largest, has the sum's sign.
    """
    changed = True
    while changed:
        changed = False
        for i in range(1, terms.size):
            a, b = terms[i - 1], terms[i]
            total = a + b
            part = total - a
            error = (a - (total - part)) + (b - part)
            if total != b or error != a:
                changed = True
            terms[i], terms[i - 1] = total, error
    for i in range(terms.size - 1, -1, -1):
        if terms[i] != 0.0:
            return bool(terms[i] > 0.0)
    return False
