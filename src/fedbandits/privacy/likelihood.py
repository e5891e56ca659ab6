"""The sharpest test between two neighbouring streams of private running sums.

Releases are jointly Gaussian, and a record moves their mean by a known vector Δ: by Neyman &
Pearson the best statistic is Δᵀ Σ⁻¹ r. It is written down from the mechanisms' definitions, not
from the code that adds noise, so that an audit does not take that code at its word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import toeplitz
from scipy.special import binom

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.continual import ContinualPlan, encoder

#: Toeplitz releases that are looked at: their cost grows with the square of their number, what they
#: say of a record with its logarithm.
MOST_TOEPLITZ = 256
#: Deviations of noise within which a number is taken for one that has none. Of sound noise, which
#: is on a grid of 2⁻⁴⁰ where it is secure, one number in 10⁹ is.
NO_NOISE = 1e-9


def telling_releases(plan: ContinualPlan) -> Ints:
    """Return the releases, from 1, that say all there is to say of a record in the first batch.

    Of a tree those are the powers of two, one a level: each is one block that begins with it. Of a
    Toeplitz plan they are all, of which the first :data:`MOST_TOEPLITZ` are given. Of an optimal
    plan they are all.
    """
    n = plan.releases
    if plan.mechanism == "tree":
        return np.int64(1) << np.arange(n.bit_length(), dtype=np.int64)
    return np.arange(1, min(n, MOST_TOEPLITZ) + 1, dtype=np.int64)


def decoder(plan: ContinualPlan, releases: Ints) -> Floats:
    """Return the weights of the draws ξ_1, ξ_2, … in each of the releases, (releases, draws).

    Tree: those of the blocks of k's binary expansion, a draw belonging to the block that ends at
    its step. Toeplitz: c_j = C(2j, j) / 4^j. Optimal: A C⁻¹, with A the matrix of running sums and
    the stated C.
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
    """Return the steps of the draws in some of the releases, from 1 and in order, (draws,).

    They are the columns of :func:`decoder`.
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
    """Return deviations of a packed statistic's noise in its scale, (models · d (d + 3) / 2,).

    √2 ρ on the diagonal of x xᵀ, of which the upper triangle is packed, and ρ off it, where ρ is
    ``gram_noise``; 1 in x y.
    """
    diagonal = np.sqrt(1.0 + np.eye(dimension))[np.triu_indices(dimension)]
    return np.tile(np.concatenate([gram_noise * diagonal, np.ones(dimension)]), models)


def stated_deviations(plan: ContinualPlan, releases: Ints) -> Floats:
    """Return deviations of the noise in some releases, (releases,), where the pattern is 1."""
    found: Floats = plan.scale * np.linalg.norm(decoder(plan, releases), axis=1)
    return found


def covariance_of(plan: ContinualPlan, releases: Ints | None = None) -> Floats:
    """Return the covariance of the noise of releases in one number, in that of a draw, (n, n).

    Those are the ``releases``, by number; all of them by default.
    """
    mixing = decoder(plan, np.arange(1, plan.releases + 1) if releases is None else releases)
    return np.asarray(mixing @ mixing.T, dtype=np.float64)


class Attacker(NamedTuple):
    """An attacker that knows all other records, both replaced ones, and the stated noise."""

    zero: Floats  # (size,): what the record of world 0 adds to its batch
    change: Floats  # (size,): what that of world 1 adds more
    weights: Floats  # (size,): Σ⁻¹ of one draw's noise times ``change``
    deviation: Floats  # (size,): deviations of one draw's noise
    over_time: Floats  # (n, n): inverse covariance of n releases' noise, in that of one draw

    def scores(self, values: Floats, entered: Floats, scale: Floats) -> Floats:
        """Return the log likelihood ratio of every run, (runs, 1): Gaussian, around zero.

        ``values`` (runs, n, size) are what was released, less what all other records add.
        ``entered`` (runs, n) counts the replaced records, all alike, in a release: 1 or 0 of a
        single one. ``scale`` (runs,) is the deviation of the run's noise relative to what the
        attacker takes it for.
        """
        over_time = entered @ self.over_time / scale[:, None] ** 2
        # Half way between what the two records are worth.
        middle = float((self.zero + 0.5 * self.change) @ self.weights)
        centred = values @ self.weights - middle * entered
        found: Floats = (over_time * centred).sum(axis=1)
        return found[:, None]

    def bare(self, values: Floats, entered: Floats) -> Floats:
        """Count numbers that are those of world 1 without noise, less those of world 0, (runs, 1).

        Noise may be missing in what few runs look at: told apart from the score, that shows.
        """
        near = NO_NOISE * self.deviation
        tell = np.flatnonzero(np.abs(self.change) > 4.0 * near)
        times, near = entered[:, :, None], near[tell]
        apart = values[:, :, tell] - times * self.zero[tell]
        ones = np.abs(apart - times * self.change[tell]) < near
        zeros = np.abs(apart) < near
        counts = (ones.sum(axis=2) - zeros.sum(axis=2)) * (entered != 0.0)
        return np.asarray(counts.sum(axis=1, keepdims=True), dtype=np.float64)


def attacker(
    plan: ContinualPlan, pair: tuple[Floats, Floats], releases: Ints, gram_noise: float = 1.0
) -> Attacker:
    """Return the attacker of some releases of packed statistics of one model.

    ``gram_noise`` is ρ, the deviation of the noise of x xᵀ relative to that of x y. The other
    parameters are those of :func:`attacker_of`, of which this is a case.
    """
    # size = d (d + 3) / 2
    dimension = int((np.sqrt(9.0 + 8.0 * len(pair[0])) - 3.0) / 2.0 + 0.5)
    return attacker_of(plan, pair, releases, stated_pattern(1, dimension, gram_noise))


def attacker_of(
    plan: ContinualPlan, pair: tuple[Floats, Floats], releases: Ints, pattern: Floats
) -> Attacker:
    """Return the attacker of some ``releases``, by number, of any vectors.

    The ``plan`` must have noise. ``pair`` is what the record of either world adds to its batch,
    (size,) each. ``pattern`` (size,) has the stated deviations of the noise in a release's numbers,
    relative to its scale.
    """
    zero, one = pair
    deviation = plan.scale * pattern
    mixing = decoder(plan, releases)
    over_time = np.asarray(np.linalg.inv(mixing @ mixing.T), dtype=np.float64)
    return Attacker(zero, one - zero, (one - zero) / deviation**2, deviation, over_time)
