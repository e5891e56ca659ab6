"""The reach of a purchase whose outcome comes late: it moves from one report to another.

A purchase is a point (l, g) with 0 ≤ g ≤ l ≤ k. Where outcomes are late, neighbouring worlds may
differ in it, and in when it was inspected: it is v in batch i of one world, and v' in batch j of
the other, or in no batch at all. Both v and v' are as far from nothing as a replaced purchase can
move at most.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.accounting import GaussianRelease
from fedbandits.privacy.continual import toeplitz_coefficients

#: More than rounding takes from a sum of so many squares.
_ROUNDING_ROOM = 1.0 + 1e-12


def further_in_batches(releases: int) -> float:
    """Return how many times as far as a replaced purchase a moved one moves equal reports.

    Two reports change, each by at most as much as one: √(1 + 1), if there are two.
    """
    return math.sqrt(2.0) if releases > 1 else 1.0


def in_two_batches(sensitivity: float, deviations: Sequence[float]) -> GaussianRelease:
    """Return what a moved purchase is charged for: the two least noisy reports, as one.

    Parameters
    ----------
    sensitivity
        How far one purchase can move a batch.
    deviations
        Deviations of the noise of reports, rising.
    """
    least = deviations[0]
    other = least / deviations[1] if len(deviations) > 1 else 0.0
    return GaussianRelease(sensitivity * math.hypot(1.0, other), least)


def further_in_running_sums(releases: int) -> float:
    """Return how many times as far as a replaced purchase a moved one moves running sums.

    The mechanism encodes batches by C, lower triangular and Toeplitz with c₀, c₁, … > 0. In the
    measure of the noise that fits a purchase, 0 ≤ ⟨v, v'⟩, and |v|, |v'| ≤ 1. The square of
    |c₍ᵢ₎ v - c₍ⱼ₎ v'| is convex in each of the two, so it is largest at corners of the triangle
    (0, 0), (k, 0), (k, k), of which the last two are at an angle of 60°: it is at most

        Gᵢᵢ + Gⱼⱼ - Gᵢⱼ,   G = Cᵀ C

    or Gᵢᵢ, where the purchase is in one world alone. All depends on the lag j - i and on how many
    reports come after batch i, each of which adds to it. So the worst first batch is the first of
    all, and the worst lag is looked for. It is less than √2 times as far, as Gᵢⱼ > 0.

    Parameters
    ----------
    releases
        How many have been made.
    """
    return float(_further(1 << (releases - 1).bit_length())[releases - 1]) if releases else 1.0


@functools.lru_cache(maxsize=32)  # lengths are powers of two: there are no more than that
def _further(count: int) -> Floats:
    """Return :func:`further_in_running_sums` of 1 … ``count`` releases."""
    coefficients = toeplitz_coefficients(count)
    alone = np.cumsum(coefficients**2)
    more, found = np.zeros(count), np.empty(count)  # by lag: Gⱼⱼ - Gᵢⱼ
    for k in range(count):
        later = coefficients[k::-1]
        more[: k + 1] += later * (later - coefficients[k])
        found[k] = math.sqrt(1.0 + max(0.0, float(more[: k + 1].max())) / alone[k])
    return found * _ROUNDING_ROOM
