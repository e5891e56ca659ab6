"""The sharpest test between two neighbouring streams of private running sums.

Releases are jointly Gaussian, and a record moves their mean by a known vector Δ: by Neyman &
Pearson the best statistic is Δᵀ Σ⁻¹ r. It is written down from the mechanisms' definitions, not
from the code that adds noise, so that an audit does not take that code at its word.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import toeplitz
from scipy.special import binom

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.continual import ContinualPlan

#: Toeplitz releases that are looked at: their cost grows with the square of their number, what they
#: say of a record with its logarithm.
MOST_TOEPLITZ = 256


def telling_releases(plan: ContinualPlan) -> Ints:
    """The releases, from 1, that together say all there is to say of a record in the first batch.

    Of a tree those are the powers of two, one a level: each is one block that begins with it. Of a
    Toeplitz plan they are all, of which the first :data:`MOST_TOEPLITZ` are given.
    """
    n = plan.releases
    if plan.mechanism == "tree":
        return np.int64(1) << np.arange(n.bit_length(), dtype=np.int64)
    return np.arange(1, min(n, MOST_TOEPLITZ) + 1, dtype=np.int64)


def decoder(plan: ContinualPlan, releases: Ints) -> Floats:
    """With which weights the draws ξ_1, ξ_2, … are in each of the releases, (releases, draws).

    Tree: those of the blocks of k's binary expansion, a draw belonging to the block that ends at
    its step. Toeplitz: c_j = C(2j, j) / 4^j.
    """
    n = int(releases.max(initial=0))
    if plan.mechanism == "toeplitz":
        j = np.arange(n, dtype=np.float64)
        first = binom(j - 0.5, j)
        return np.asarray(toeplitz(first, np.zeros(n))[releases - 1], dtype=np.float64)
    used: dict[int, int] = {}
    entries = []
    for row, k in enumerate(releases.tolist()):
        while k:
            entries.append((row, used.setdefault(k, len(used))))
            k &= k - 1
    weights = np.zeros((len(releases), len(used)))
    weights[tuple(zip(*entries, strict=True))] = 1.0
    return weights


def likelihood_weights(
    plan: ContinualPlan, change: Floats, pattern: Floats, releases: Ints, batch: int = 1
) -> Floats:
    """Σ⁻¹ Δ for a record in one batch, (releases, size): the weight of every number.

    Parameters
    ----------
    plan : ContinualPlan
        The mechanism, which must have noise.
    change : (size,) float64
        What the record's replacement adds to its batch.
    pattern : (size,) float64
        Deviations of the noise's entries relative to the plan's scale.
    releases : ints
        The numbers of those that are looked at.
    batch : int
        Number of the record's batch, from 1: it is in this release and in all later ones.
    """
    mixing = decoder(plan, releases)
    over_time = np.linalg.solve(mixing @ mixing.T, (releases >= batch).astype(np.float64))
    return np.outer(over_time, change / (plan.scale * pattern) ** 2)
