"""Knowledge of a parameter from a noisy sum of records, direction by direction.

A released sum is (Ṽ, ũ) = (V + N, u + n). V = Σ x xᵀ, and u = Vθ + the noise of rewards. N is
symmetric with variance ν² off its diagonal and 2ν² on it, n has variance τ² an entry. It is read in
three steps. All of them are in the eigenvectors of Ṽ.

*V.* Had V a multiple of the identity, the eigenvalues s of Ṽ would differ by noise alone:
Σ (s - s̄)² would be (d² + d - 2) ν². What they differ by beyond that is how V varies, w² an entry.
Given Ṽ, the best guess of V is s̄I + f (Ṽ - s̄I) with f = w² / (w² + ν²). It misses V by noise of
variance fν². It is a guess of V from Ṽ, not the other way round, so a regression on it is not drawn
towards zero, as one on Ṽ would be (Berkson 1950, "Are there two regressions?").

*Noise.* Along a direction in which that guess is r, ũ is rθ and noise: of rewards, of n, and of
what is missed of V. Its variance is σ² (r + κ) with κ = (τ² + fν² ‖θ‖² (1 + 1/d)) / σ².

*Precision.* So it tells as much of θ as g = r² / (r + κ) records in clear would, whose sum of
x y is z = rũ / (r + κ). Where r is far below κ, that is next to nothing. Where there is no noise,
g = s and z = ũ: all that the records themselves tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats


class Reading(NamedTuple):
    """Variances that a released sum is read by."""

    gram: float  # ν²: of an entry of N, off the diagonal; 0 in clear
    moment: float  # τ²: of an entry of n; 0 in clear
    reward: float  # σ²: of a reward around its mean, or a bound on it
    parameter_bound: float  # S, a bound on ‖θ‖


@compiled
def read_released_sum(gram: Floats, moment: Floats, reading: Reading) -> tuple[Floats, Floats]:
    """Turn a released sum into what it tells, as Gram matrix and moment of records in clear.

    ``gram`` (d, d) and ``moment`` (d,) are Ṽ and ũ, which are overwritten. Returns the eigenvalues
    g (d,) and the eigenvectors (d, d), a column each, of the new Gram matrix.
    """
    values, vectors = np.linalg.eigh(gram)
    if reading.moment <= 0.0:
        return values, vectors
    dimension = values.size
    told = np.zeros(dimension)
    for i in range(dimension):
        for r in range(dimension):
            told[r] += vectors[i, r] * moment[i]
    weigh_directions(values, told, reading)
    for i in range(dimension):
        moment[i] = 0.0
        for r in range(dimension):
            moment[i] += vectors[i, r] * told[r]
        for j in range(i, dimension):
            entry = 0.0
            for r in range(dimension):
                entry += vectors[i, r] * vectors[j, r] * values[r]
            gram[i, j], gram[j, i] = entry, entry
    return values, vectors


@allocation_free
def weigh_directions(values: Floats, moment: Floats, reading: Reading) -> None:
    """Turn eigenvalues s into precisions g, and moments in their directions into z, in place.

    ``values`` and ``moment`` are (d,). The precisions count in records; see the module.
    """
    dimension, mean, spread = values.size, 0.0, 0.0
    for i in range(dimension):
        mean += values[i] / dimension
    for i in range(dimension):
        spread += (values[i] - mean) ** 2
    share = 1.0  # f; one number alone says nothing of how V varies
    if dimension > 1:
        varied = max(spread / (dimension * (dimension + 1) - 2) - reading.gram, 0.0)
        share = varied / (varied + reading.gram)
    missed = share * reading.gram * reading.parameter_bound**2 * (1.0 + 1.0 / dimension)
    kappa = (reading.moment + missed) / reading.reward
    for i in range(dimension):
        size = max(mean + share * (values[i] - mean), 0.0) if mean > 0.0 else 0.0
        weight = size / (size + kappa)
        values[i] = weight * size
        moment[i] *= weight


#: Rewards are taken for as noisy as they can be until so many records say more.
_PRIOR_RECORDS = 10.0
#: The least variance of rewards, as a share of the bound on it.
_LEAST_SHARE = 0.01


@allocation_free
def posterior_variance(residuals: Floats, m: int, bound: float) -> float:
    """Estimate the variance of rewards around their means, from an agent's own records.

    ``residuals`` (models, 2) are the number of each model's records, and the sum of their squared
    residuals, each with one degree of freedom; ``m`` is the model. ``bound`` is a bound on the
    variance, σ². It counts as ``_PRIOR_RECORDS`` of them would, and is never exceeded.
    """
    told = max(residuals[m, 1], 0.0) + _PRIOR_RECORDS * bound
    found = told / (residuals[m, 0] + _PRIOR_RECORDS)
    return float(min(max(found, _LEAST_SHARE * bound), bound))
