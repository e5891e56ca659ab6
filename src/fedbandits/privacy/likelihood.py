"""The sharpest test between two neighbouring streams of private running sums.

Releases are jointly Gaussian, and a record moves their mean by a known vector Δ: by Neyman &
Pearson the best statistic is Δᵀ Σ⁻¹ r. It is computed from the mechanisms' definitions, not by the
code that adds noise, so that an audit does not rely on that code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import toeplitz
from scipy.special import binom

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.continual import ContinualPlan, encoder

#: Largest number of examined Toeplitz releases: their cost grows with the square of their number,
#: their information about a record with its logarithm.
MOST_TOEPLITZ = 256
#: Deviations below which a number counts as free of noise. Of sound noise, which is on a grid of
#: 2⁻⁴⁰ where it is secure, one number in 10⁹ is that close.
NO_NOISE = 1e-9


def telling_releases(plan: ContinualPlan) -> Ints:
    """Return the releases, from 1, that hold all information about a record in the first batch.

    Of a tree these are the powers of two, one for each level: each is a block that begins with the
    first batch. Of a Toeplitz plan the first :data:`MOST_TOEPLITZ` releases are given, of an
    optimal plan all.
    """
    n = plan.releases
    if plan.mechanism == "tree":
        return np.int64(1) << np.arange(n.bit_length(), dtype=np.int64)
    return np.arange(1, min(n, MOST_TOEPLITZ) + 1, dtype=np.int64)


def decoder(plan: ContinualPlan, releases: Ints) -> Floats:
    """Return the weights of the draws ξ_1, ξ_2, … in each of the releases, (releases, draws).

    Tree: the weights of the blocks in k's binary expansion; a draw belongs to the block that ends
    at its step. Toeplitz: c_j = C(2j, j) / 4^j. Optimal: A C⁻¹, with A the matrix of running sums
    and the stated C.
    """
    n = int(releases.max(initial=0))
    if plan.mechanism == "toeplitz":
        j = np.arange(n, dtype=np.float64)
        first = binom(j - 0.5, j)
        return np.asarray(toeplitz(first, np.zeros(n))[releases - 1], dtype=np.float64)
    if plan.mechanism == "optimal":
        matrix = encoder(plan.releases, plan.decay)
        decoded = np.tril(np.ones_like(matrix)) @ np.linalg.inv(matrix)
        return np.asarray(decoded[releases - 1, :n], dtype=np.float64)
    used = {k: place for place, k in enumerate(drawn_steps(plan, releases).tolist())}
    weights = np.zeros((len(releases), len(used)))
    for row, k in enumerate(releases.tolist()):
        while k:
            weights[row, used[k]] = 1.0
            k &= k - 1
    return weights


def drawn_steps(plan: ContinualPlan, releases: Ints) -> Ints:
    """Return the steps of the draws in the ``releases``, from 1 and in order, (draws,).

    The steps are the columns of :func:`decoder`.
    """
    if plan.mechanism != "tree":
        return np.arange(1, int(releases.max(initial=0)) + 1, dtype=np.int64)
    steps = set()
    for k in releases.tolist():
        while k:
            steps.add(k)
            k &= k - 1
    return np.array(sorted(steps), dtype=np.int64)


def stated_pattern(models: int, dimension: int, gram_noise: float = 1.0) -> Floats:
    """Return deviations of a packed statistic's noise, in its scale, (models · d (d + 3) / 2,).

    They are √2 ρ on the diagonal of x xᵀ, of which the upper triangle is packed, ρ off the
    diagonal, and 1 in x y. ρ is ``gram_noise``.
    """
    diagonal = np.sqrt(1.0 + np.eye(dimension))[np.triu_indices(dimension)]
    return np.tile(np.concatenate([gram_noise * diagonal, np.ones(dimension)]), models)


def stated_deviations(plan: ContinualPlan, releases: Ints) -> Floats:
    """Return deviations of the noise in the ``releases``, (releases,), where the pattern is 1."""
    deviations: Floats = plan.scale * np.linalg.norm(decoder(plan, releases), axis=1)
    return deviations


def covariance_of(plan: ContinualPlan, releases: Ints | None = None) -> Floats:
    """Return the covariance of one number's noise across releases, in draws' variances, (n, n).

    The rows are the ``releases``, by number; by default all.
    """
    mixing = decoder(plan, np.arange(1, plan.releases + 1) if releases is None else releases)
    return np.asarray(mixing @ mixing.T, dtype=np.float64)


class Attacker(NamedTuple):
    """An attacker with all other records, both candidate records, and the stated noise."""

    zero: Floats  # (size,): the contribution of world 0's record to its batch
    change: Floats  # (size,): the contribution of world 1's record, less that of world 0
    weights: Floats  # (size,): Σ⁻¹ of one draw's noise times ``change``
    deviation: Floats  # (size,): deviations of one draw's noise
    over_time: Floats  # (n, n): inverse covariance of n releases' noise, in that of one draw

    def scores(self, values: Floats, entered: Floats, scale: Floats) -> Floats:
        """Return the log likelihood ratio of every run, (runs, 1): Gaussian, around zero.

        ``values`` (runs, n, size) are the releases, less the contribution of all other records.
        ``entered`` (runs, n) counts the replaced records, all alike, in a release: 1 or 0 for a
        single record. ``scale`` (runs,) is the deviation of the run's noise relative to the
        deviation that the attacker assumes.
        """
        over_time = entered @ self.over_time / scale[:, None] ** 2
        # Half way between the contributions of the two records.
        middle = float((self.zero + 0.5 * self.change) @ self.weights)
        centred = values @ self.weights - middle * entered
        ratios: Floats = (over_time * centred).sum(axis=1)
        return ratios[:, None]

    def bare(self, values: Floats, entered: Floats) -> Floats:
        """Count numbers of world 1 without noise, less numbers of world 0 without noise, (runs, 1).

        Few runs may show missing noise: a count apart from the score shows them.
        """
        near = NO_NOISE * self.deviation
        differing = np.flatnonzero(np.abs(self.change) > 4.0 * near)
        times, near = entered[:, :, None], near[differing]
        apart = values[:, :, differing] - times * self.zero[differing]
        ones = np.abs(apart - times * self.change[differing]) < near
        zeros = np.abs(apart) < near
        counts = (ones.sum(axis=2) - zeros.sum(axis=2)) * (entered != 0.0)
        return np.asarray(counts.sum(axis=1, keepdims=True), dtype=np.float64)


def attacker(
    plan: ContinualPlan, pair: tuple[Floats, Floats], releases: Ints, gram_noise: float = 1.0
) -> Attacker:
    """Return the attacker of some releases of packed statistics of one model.

    ``gram_noise`` is ρ, the deviation of the noise of x xᵀ relative to that of x y. The other
    parameters are those of :func:`attacker_of`, the general case.
    """
    # size = d (d + 3) / 2
    dimension = int((np.sqrt(9.0 + 8.0 * len(pair[0])) - 3.0) / 2.0 + 0.5)
    return attacker_of(plan, pair, releases, stated_pattern(1, dimension, gram_noise))


def attacker_of(
    plan: ContinualPlan, pair: tuple[Floats, Floats], releases: Ints, pattern: Floats
) -> Attacker:
    """Return the attacker of the ``releases``, by number, of any vectors.

    The ``plan`` must have noise. ``pair`` holds the contributions of both worlds' records to their
    batch, (size,) each. ``pattern`` (size,) has the stated deviations of the noise in a release's
    numbers, relative to its scale.
    """
    zero, one = pair
    deviation = plan.scale * pattern
    mixing = decoder(plan, releases)
    over_time = np.asarray(np.linalg.inv(mixing @ mixing.T), dtype=np.float64)
    return Attacker(zero, one - zero, (one - zero) / deviation**2, deviation, over_time)
