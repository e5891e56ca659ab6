"""Weights of others' releases in a joint estimate; see :mod:`.joint`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import invert_spectrum

#: ρ and λ, in L². The estimate's ridge parameter is smaller than that of the martingale: what it
#: adds to an estimate's error is counted apart, as Sρ‖z‖.
RIDGE, MARTINGALE_RIDGE = 3.0, 5.0
#: The weights ω that are tried; 0 leaves releases out.
WEIGHTS = np.array([0.0, 0.5, 1.0, 2.0])


class JointTerms(NamedTuple):
    """Constants of the bound."""

    ridge: float  # ρ
    martingale_ridge: float  # λ
    own_log_term: float  # 2 ln(1/α) of the martingale of own rewards
    others_log_term: float  # 2 ln(1/α) of that of others' rewards
    reward_noise: float  # σ
    parameter_bound: float  # S
    scale: float  # ``exploration_scale``
    gram_noise: float  # deviation of the noise of Gram matrices, relative to that of moments
    norm_factor: float  # b of others' releases, as a multiple of the deviation of a moment's noise
    bias_factor: float  # w of them, as such a multiple
    second_bound: bool  # whether the bound of the sum of all releases may count too


class ReleasedNoise(NamedTuple):
    """Noise of the sum of what others released."""

    deviation: float  # τ, the deviation of a moment's noise; 0 in clear
    norm_bound: float  # b with N ⪰ -bI
    bias_bound: float  # w ≥ ‖h - Nθ*‖


class ReleasedSpectrum(NamedTuple):
    """Eigenvalues and eigenvectors of what others released, of one model."""

    values: Floats  # (d,): eigenvalues of Ṽ
    vectors: Floats  # (d, d): Q
    moment: Floats  # (d,): ũ


@compiled
def reward_radius(reward_noise: float, log_term: float, growth: float) -> float:
    """Compute R = σ √(2 ln(1/α) + ln det(G + λI) - d ln λ), Abbasi-Yadkori et al. 2011."""
    return reward_noise * math.sqrt(log_term + growth)


@compiled
def trace(matrix: Floats) -> float:
    """Compute the trace of a positive semidefinite matrix."""
    total = 0.0
    for i in range(matrix.shape[0]):
        total += matrix[i, i]
    return max(total, 0.0)


@compiled
def others_radius(terms: JointTerms, values: Floats, noise: ReleasedNoise) -> float:
    """Compute r': G' + λ'I ⪯ Ṽ + (b + λ')I, λ' = max(b, λ)."""
    ridge, growth = max(noise.norm_bound, terms.martingale_ridge), 0.0
    for i in range(values.size):
        growth += math.log1p((max(values[i], 0.0) + noise.norm_bound) / ridge)
    return reward_radius(terms.reward_noise, terms.others_log_term, growth)


@compiled
def balance(reward: float, noise: ReleasedNoise) -> float:
    """Compute κ = (w/r')²: where s is κ, rewards and privacy noise weigh alike in the bound."""
    return (noise.bias_bound / reward) ** 2


@compiled
def _weights(
    terms: JointTerms, values: Floats, kappa: float, noise: ReleasedNoise, weight: float
) -> Floats:
    """Compute D in the eigenvectors; directions that can be noise alone, below its norm, get 0."""
    edge = 2.0 * math.sqrt(values.size) * terms.gram_noise * noise.deviation
    weights = np.zeros(values.size)
    for i in range(values.size):
        if values[i] > edge:
            weights[i] = weight * values[i] / (values[i] + kappa)
    return weights


class Weighed(NamedTuple):
    """An estimate's parts that follow from some weights of others' releases."""

    cost: float  # c·(width) + (deviation of the estimate), both for a random direction
    inverse: Floats  # (d, d): R⁻¹
    own: Floats  # (d, d): R⁻¹ (G + λI) R⁻¹
    others: Floats  # (d, d): R⁻¹ K R⁻¹, K of others' rewards and noise
    shrinkage: Floats  # (d, d): R⁻²
    moment: Floats  # (d,): Dũ


@inlined
def weigh(
    terms: JointTerms, gram: Floats, growth: float, released: ReleasedSpectrum,
    noise: ReleasedNoise, kappa: float, reward: float, weight: float,
) -> Weighed:  # fmt: skip
    """Weigh others' releases with one weight ω: what the estimate and its bound become.

    ``gram`` is G, of own records, (d, d), and ``growth`` ln det(G + λI) - d ln λ. ``released`` and
    ``noise`` are of the sum that others released. :func:`balance` gives ``kappa``, and
    :func:`others_radius` gives ``reward``.
    """
    values, vectors = released.values, released.vectors
    weights = _weights(terms, values, kappa, noise, weight)
    dimension, ridge = values.size, terms.ridge
    inverse, identity = np.zeros((dimension, dimension)), np.zeros((dimension, dimension))
    total, others = np.zeros((dimension, dimension)), np.zeros((dimension, dimension))
    lifted = max(noise.norm_bound, terms.martingale_ridge) + noise.norm_bound
    # The deviation of the estimate for a typical θ*, to which S belongs in every direction alike.
    entry = (1.0 + (terms.parameter_bound * terms.gram_noise) ** 2) * noise.deviation**2
    variance = terms.reward_noise**2
    counted, by_rewards = np.zeros(dimension), np.zeros(dimension)
    by_privacy, spreading = np.zeros(dimension), np.zeros(dimension)
    for i in range(dimension):
        square, size = weights[i] * weights[i], max(values[i], 0.0)
        counted[i] = weights[i] * values[i]
        by_rewards[i] = reward * reward * square * (size + lifted)
        by_privacy[i] = noise.bias_bound**2 * square
        spreading[i] = square * (variance * size + entry)
    read = _recompose(vectors, counted)
    for i in range(dimension):
        for j in range(dimension):
            total[i, j] = gram[i, j] + (ridge if i == j else 0.0) + read[i, j]
    found, basis = np.linalg.eigh(total)
    invert_spectrum(found, basis, inverse)
    for i in range(dimension):
        identity[i, i] = 1.0
        for j in range(dimension):
            total[i, j] = gram[i, j] + (terms.martingale_ridge if i == j else 0.0)
    own, shrinkage = _between(inverse, total), _between(inverse, identity)
    rewards = _between(inverse, _recompose(vectors, by_rewards))
    privacy = _between(inverse, _recompose(vectors, by_privacy))
    a, b = math.sqrt(trace(rewards)), math.sqrt(trace(privacy))
    bias = terms.parameter_bound * ridge
    radius = reward_radius(terms.reward_noise, terms.own_log_term, growth)
    width = radius * math.sqrt(trace(own)) + a + b + bias * math.sqrt(trace(shrinkage))
    for i in range(dimension):
        for j in range(dimension):
            total[i, j] = variance * gram[i, j]
            # (a' + b')² ≤ (1 + b/a) a'² + (1 + a/b) b'², which is equal for a random direction.
            if a > 0.0:
                others[i, j] += (1.0 + b / a) * rewards[i, j]
            if b > 0.0:
                others[i, j] += (1.0 + a / b) * privacy[i, j]
    spread = trace(_between(inverse, total))
    spread += trace(_between(inverse, _recompose(vectors, spreading)))
    spread += bias * bias * trace(shrinkage) / dimension
    cost = terms.scale * width + math.sqrt(spread)
    moment = vectors.T @ released.moment
    for i in range(dimension):
        moment[i] *= weights[i]
    return Weighed(cost, inverse, own, others, shrinkage, vectors @ moment)


@compiled
def _recompose(vectors: Floats, values: Floats) -> Floats:
    """Compute Q diag(values) Qᵀ."""
    dimension = values.size
    scaled = np.empty((dimension, dimension))
    for i in range(dimension):
        for j in range(dimension):
            scaled[i, j] = vectors[i, j] * values[j]
    matrix: Floats = scaled @ vectors.T
    return matrix


@compiled
def _between(inverse: Floats, matrix: Floats) -> Floats:
    """Compute R⁻¹BR⁻¹, exactly symmetric."""
    dimension, product = len(matrix), inverse @ matrix @ inverse
    symmetric = np.empty((dimension, dimension))
    for i in range(dimension):
        for j in range(dimension):
            symmetric[i, j] = 0.5 * (product[i, j] + product[j, i])
    return symmetric
