"""Knowledge of a parameter from a noisy sum of records, direction by direction.

A released sum is (Ṽ, ũ) = (V + N, u + n). V = Σ x xᵀ, and u = Vθ + the noise of rewards. N is
symmetric with variance ν² off its diagonal and 2ν² on it, n has variance τ² an entry. It is read in
three steps.

*V.* Had V a multiple of the identity, the eigenvalues s of Ṽ would differ by noise alone:
Σ (s - s̄)² would be (d² + d - 2) ν². What they differ by beyond that is how V varies, w² an entry.
Given Ṽ, the best guess of V is R = s̄I + f (Ṽ - s̄I) with f = w² / (w² + ν²). It misses V by noise
of variance f²ν² + (1 - f)²w² = fν². A Gram matrix is positive, so f is lowered by
a fifth until R is. It is a guess of V from Ṽ, not the other way round, so a regression on it is not
drawn towards zero, as one on Ṽ would be (Berkson 1950, "Are there two regressions?").

*Noise.* Along an eigenvector of R, of eigenvalue r, ũ is rθ and noise: of rewards, of n, and of
what is missed of V, m² an entry. Its variance is σ² (r + κ) with
κ = (τ² + m² ‖θ‖² (1 + 1/d)) / σ².

*Precision.* So it tells as much of θ as g = r² / (r + κ) records in clear would, whose sum of
x y is z = rũ / (r + κ). Where r is far below κ, that is next to nothing. Where there is no noise,
g = s and z = ũ: all that the records themselves tell.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled, fma
from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import factorise, invert_in_place, unpack


class Reading(NamedTuple):
    """Variances that a released sum is read by."""

    gram: float  # ν²: of an entry of N, off the diagonal; 0 in clear
    moment: float  # τ²: of an entry of n; 0 in clear
    reward: float  # σ²: of a reward around its mean, or a bound on it
    parameter_bound: float  # S, a bound on ‖θ‖


@compiled
def learn_from_sum(statistic: Floats, reading: Reading, gram: Floats, moment: Floats) -> None:
    """Write what a released sum tells, as Gram matrix (d, d) and moment (d,) of records in clear.

    ``statistic`` begins with the packed sum. See the module: with K = (R + κI)⁻¹ the Gram matrix is
    RKR, and the moment RKũ.
    """
    unpack(statistic, gram, moment)
    if reading.moment <= 0.0:
        return
    dimension = moment.size
    work, inverse = np.empty((dimension, dimension)), np.empty((dimension, dimension))
    kappa = _guess_gram(statistic, reading, gram, work)
    if kappa == np.inf:
        moment[:] = 0.0
        return
    for i in range(dimension):
        for j in range(dimension):
            inverse[i, j] = gram[i, j]
        inverse[i, i] += kappa
    invert_in_place(inverse, work[0])
    _multiply(inverse, gram, work)  # KR, whose transpose is RK
    for i in range(dimension):
        inverse[0, i] = moment[i]
        moment[i] = 0.0
    for j in range(dimension):
        for i in range(dimension):
            moment[i] = fma(work[j, i], inverse[0, j], moment[i])
    for i in range(dimension):
        for j in range(dimension):
            inverse[i, j] = gram[i, j]
    _multiply(inverse, work, gram)
    for i in range(dimension):  # symmetric but for rounding, until now
        for j in range(i):
            gram[i, j] = gram[j, i]


@allocation_free
def _guess_gram(statistic: Floats, reading: Reading, gram: Floats, work: Floats) -> float:
    """Turn the noisy Gram matrix Ṽ into the guess R of V, and return κ; infinity if R is nothing.

    ``statistic`` begins with the packed Ṽ; ``work`` (d, d) is overwritten.
    """
    dimension, mean, spread = gram.shape[0], 0.0, 0.0
    for i in range(dimension):
        mean += gram[i, i] / dimension
    for i in range(dimension):
        spread += (gram[i, i] - mean) ** 2
        for j in range(i + 1, dimension):
            spread += 2.0 * gram[i, j] ** 2
    if not mean > 0.0:
        gram[:] = 0.0
        return float(np.inf)
    share, varied = 1.0, 0.0  # one number alone says nothing of how V varies
    if dimension > 1:
        varied = max(spread / (dimension * (dimension + 1) - 2) - reading.gram, 0.0)
        share = varied / (varied + reading.gram)
    while share > 0.0 and math.isnan(factorise(statistic, (1.0 - share) * mean / share, work)):
        share = 0.8 * share if share > _LEAST_GUESS else 0.0
    missed = share**2 * reading.gram + (1.0 - share) ** 2 * varied
    for i in range(dimension):
        for j in range(dimension):
            gram[i, j] *= share
        gram[i, i] += (1.0 - share) * mean
    size = missed * reading.parameter_bound**2 * (1.0 + 1.0 / dimension)
    return float((reading.moment + size) / reading.reward)


@allocation_free
def _multiply(left: Floats, right: Floats, product: Floats) -> None:
    """Write the product of two (d, d) matrices, row by row."""
    dimension = left.shape[0]
    for i in range(dimension):
        for j in range(dimension):
            product[i, j] = 0.0
        for k in range(dimension):
            weight = left[i, k]
            for j in range(dimension):
                product[i, j] = fma(weight, right[k, j], product[i, j])


#: A smaller share of how a noisy matrix varies is none.
_LEAST_GUESS = 1e-3
#: Rewards are taken for as noisy as they can be until so many records say more.
_PRIOR_RECORDS = 10.0
#: The least variance of rewards, as a share of the bound on it.
_LEAST_SHARE = 0.01


@allocation_free
def posterior_variance(residuals: Floats, m: int, bound: float) -> float:
    """Estimate the variance of rewards around their means, from an agent's own records.

    ``residuals`` (models, 3) begin with the number of each model's records, and the sum of their
    squared residuals, each with one degree of freedom; ``m`` is the model. ``bound`` is a bound on
    the variance, σ². It counts as ``_PRIOR_RECORDS`` of them would, and is never exceeded.
    """
    told = max(residuals[m, 1], 0.0) + _PRIOR_RECORDS * bound
    found = told / (residuals[m, 0] + _PRIOR_RECORDS)
    return float(min(max(found, _LEAST_SHARE * bound), bound))
