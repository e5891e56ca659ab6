"""Evidence about preference vectors, from noisy statistics, and mixtures of clusters of users.

The evidence of every statistic about θ has one form: in the orthonormal basis Q its log-likelihood
is z·Qθ - ½ Σ g (Qθ)², up to a constant. g = 0 means no evidence in that direction.

*In clear* (V, u) = (Σ x xᵀ, Σ x y) gives g = w/σ², z = Qu/σ² with w the eigenvalues of V.

*Released* with noise, Ṽ = V + N and ũ = u + n, an estimate Ṽ⁻¹ũ would be drawn towards zero, since
N makes the eigenvalues of ṼᵀṼ too large: E[Ñ A N] = τ²(tr(A) I + A) for symmetric noise with
deviation τ off the diagonal and √2 τ on it. ṼAṼ less this expectation measures the knowledge of θ;
the score ṼAũ also carries the subtracted noise, and is discounted for it (Nakamura 1990, "Corrected
score function for errors-in-variables models"). Directions in which Ṽ is no larger than the norm of
N, about 2τ√d, could be noise alone, and give no evidence.

:class:`Mixture` is a mixture of clusters of users; :func:`refine` takes steps towards the most
likely mixture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from fedbandits._compile import LANES, allocation_free, compiled, lanes, load, store
from fedbandits._typing import Floats
from fedbandits.learners.kernels.eigenvectors import eigenvectors
from fedbandits.learners.kernels.ridge import packed_dimension, unpack


class Spectrum(NamedTuple):
    """Statistics (V, u), each in the eigenvectors of its V."""

    basis: Floats  # (n, d, d): Q, an eigenvector in each row
    values: Floats  # (n, d) of V
    moment: Floats  # (n, d): Q u


class Evidence(NamedTuple):
    """Evidence of each of n statistics about its θ; see the module."""

    basis: Floats  # (n, d, d): Q, a direction in each row
    precision: Floats  # (n, d): g
    score: Floats  # (n, d): z


Table = TypeVar("Table", Spectrum, Evidence)


def stack(kind: type[Table], parts: Sequence[Table]) -> Table:
    """Stack several tables of statistics into a table."""
    return kind(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


@allocation_free
def rotate(basis: Floats, vector: Floats, out: Floats) -> None:
    """Write Q v into ``out``."""
    for a in range(vector.size):
        total = 0.0
        for i in range(vector.size):
            total += basis[a, i] * vector[i]
        out[a] = total


@compiled
def decompose(statistics: Floats) -> Spectrum:
    """Compute eigenvectors of packed statistics, (n, d (d + 3) / 2); see :mod:`.ridge`."""
    n, d = statistics.shape[0], packed_dimension(statistics.shape[1])
    grams, moment, moments = np.zeros((n, d, d)), np.zeros((n, d)), np.zeros((n, d))
    for j in range(n):
        unpack(statistics[j], grams[j], moment[j])
    basis, values = np.empty((n, d, d)), np.empty((n, d))
    eigenvectors(grams, basis, values)
    for j in range(n):
        rotate(basis[j], moment[j], moments[j])
    return Spectrum(basis, values, moments)


def read_evidence(
    spectrum: Spectrum, reward_variance: float, noise_variance: float, residual_variance: float
) -> Evidence:
    """Compute the evidence of n statistics about their θ.

    ``reward_variance`` is σ² > 0 of a reward about its mean, or a bound on it. ``noise_variance``
    is τ², of an off-diagonal entry of N, and ``residual_variance`` that of an entry of n - Nθ; both
    are 0 in clear.
    """
    values, d = spectrum.values, spectrum.values.shape[1]
    known = values > 2.0 * math.sqrt(d * noise_variance)  # the norm of N
    size = np.where(known, values, 1.0)
    variance = reward_variance * size + residual_variance
    taken_off = (d + 1) * noise_variance / variance
    left = np.where(known, np.maximum(size * size / variance - taken_off, 0.0), 0.0)
    discount = left / np.where(left > 0.0, left + taken_off, 1.0)
    score = discount * size * spectrum.moment / variance
    return Evidence(spectrum.basis, left * discount, score)


#: Least degrees of freedom for an estimate of the variance of rewards.
_FEWEST_DEGREES = 30


def reward_variance(spectrum: Spectrum, counts: Floats, squares: Floats, bound: float) -> float:
    """Estimate the common variance of rewards of all users; return ``bound`` with few records.

    Using the bound for the variance would take part of the differences between users for noise, and
    let them learn from one another too much.

    The n statistics are in clear; each is of ``counts`` (n,) records, whose Σ y² are ``squares``
    (n,). The result is never above ``bound``.
    """
    seen = spectrum.values > 1e-9 * counts[:, None]
    explained = spectrum.moment[seen] ** 2 / spectrum.values[seen]
    degrees = counts.sum() - seen.sum()
    if degrees < _FEWEST_DEGREES:
        return bound
    return float(np.clip((squares.sum() - explained.sum()) / degrees, 0.01 * bound, bound))


@allocation_free
def log_evidence(precision: Floats, score: Floats, centre: Floats, variance: float) -> float:
    """Compute a statistic's log-likelihood if θ ~ N(c, s I), up to terms without c and s.

    ``precision`` and ``score`` are the statistic's g and z, (d,), see :class:`Evidence`. ``centre``
    is Q c, the mean of θ in the statistic's basis. ``variance`` is s; 0 means that θ is c.
    """
    total, determinant = 0.0, 1.0
    for a in range(centre.size):
        widened = 1.0 + precision[a] * variance
        gained = score[a] * (variance * score[a] + 2.0 * centre[a])
        total += (gained - precision[a] * centre[a] * centre[a]) / widened
        determinant *= widened
        if determinant > 1e200:
            total -= np.log(determinant)
            determinant = 1.0
    return float(0.5 * (total - np.log(determinant)))


#: Number of a determinant's factors that are multiplied before a logarithm is taken.
_FACTORS = 16


class Across(NamedTuple):
    """Evidence with the n statistics along the last axis, in whole lanes; see :class:`Evidence`."""

    precision: Floats  # (d, ·): g
    score: Floats  # (d, ·): z
    centre: Floats  # (d, ·): Q c, of the centre set last
    likely: Floats  # (·,): receives the result
    work: Floats  # (·,): a buffer


@compiled
def across(evidence: Evidence) -> Across:
    """Lay evidence out side by side; padding of the last lanes gives no evidence."""
    n, d = evidence.score.shape
    width = -(-n // LANES) * LANES
    table = Across(
        np.zeros((d, width)), np.zeros((d, width)), np.zeros((d, width)), np.zeros(width),
        np.zeros(width),
    )  # fmt: skip
    for j in range(n):
        for a in range(d):
            table.precision[a, j] = evidence.precision[j, a]
            table.score[a, j] = evidence.score[j, a]
    return table


@compiled
def look_from(evidence: Evidence, centre: Floats, table: Across) -> None:
    """Turn a centre (d,) to the basis of every statistic."""
    n, d = evidence.score.shape
    turned = evidence.basis.reshape(n * d, d) @ centre
    for j in range(n):
        for a in range(d):
            table.centre[a, j] = turned[j * d + a]


@allocation_free
def log_evidence_of_all(table: Across, variance: float) -> None:
    """Compute each statistic's log-likelihood if θ ~ N(c, s I), into ``likely``.

    ``table`` has the centre of :func:`look_from`; ``variance`` is s, the same in every direction.
    """
    (d, width), logarithms = table.score.shape, table.work
    for at in range(0, width, LANES):
        gains, determinant = lanes(0.0), lanes(1.0)
        for h in range(at, at + LANES):
            logarithms[h] = 0.0
        for a in range(d):
            g, z = load(table.precision, (a, at)), load(table.score, (a, at))
            c = load(table.centre, (a, at))
            widened = 1.0 + g * variance
            gains = gains + (z * (variance * z + 2.0 * c) - g * c * c) / widened
            determinant = determinant * widened
            if (
                a % _FACTORS == _FACTORS - 1 or a == d - 1
            ):  # before the product leaves the range of floats
                store(table.likely, at, determinant, LANES)
                for h in range(at, at + LANES):
                    logarithms[h] += math.log(table.likely[h])
                determinant = lanes(1.0)
        store(table.likely, at, 0.5 * (gains - load(logarithms, at)), LANES)


#: Candidate spreads.
SPREADS = np.array([1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 4e-2, 8e-2, 0.16])
#: Largest fall of the log-likelihood for an allowed spread.
_ALLOWED_FALL = 2.0
#: Prior precision: centres are N(0, I/8) without evidence, as ridge regression by two records
#: implies.
_PRIOR = 8.0
_SETTLED = 1e-2


class Mixture(NamedTuple):
    """Clusters."""

    centre: Floats  # (k, d)
    spread: Floats  # (k,): s, per direction
    share: Floats  # (k,) of users
    precision: Floats  # (k, d, d) of the centre


@compiled
def memberships(evidence: Evidence, mixture: Mixture, member: Floats) -> float:
    """Fill ``member`` (n, k) with probabilities of users' clusters; return the log-likelihood."""
    return _memberships(evidence, across(evidence), mixture, member)


@compiled
def _memberships(evidence: Evidence, table: Across, mixture: Mixture, member: Floats) -> float:
    (n, k), total = member.shape, 0.0
    for c in range(k):
        share = math.log(mixture.share[c])
        look_from(evidence, mixture.centre[c], table)
        log_evidence_of_all(table, mixture.spread[c])
        for j in range(n):
            member[j, c] = share + table.likely[j]
    for j in range(n):
        largest, weight = member[j].max(), 0.0
        for c in range(k):
            member[j, c] = math.exp(member[j, c] - largest)
            weight += member[j, c]
        for c in range(k):
            member[j, c] /= weight
        total += largest + math.log(weight)
    return total


@compiled
def _set_centre(evidence: Evidence, weights: Floats, mixture: Mixture, c: int) -> None:
    """Set the likeliest centre for the cluster's spread, and its precision."""
    n, d = evidence.score.shape
    directions = evidence.basis.reshape(n * d, d)
    weighted, pulls = np.zeros((n * d, d)), np.zeros(n * d)
    for j in range(n):
        if weights[j] < 1e-4:
            continue
        for a in range(d):
            weight = weights[j] / (1.0 + evidence.precision[j, a] * mixture.spread[c])
            pulls[j * d + a] = weight * evidence.score[j, a]
            weight *= evidence.precision[j, a]
            for i in range(d):
                weighted[j * d + a, i] = weight * evidence.basis[j, a, i]
    precision = directions.T @ weighted
    for i in range(d):
        precision[i, i] += _PRIOR
        for k in range(i):
            precision[k, i] = precision[i, k]
    mixture.precision[c] = precision
    mixture.centre[c] = np.linalg.solve(precision, pulls @ directions)


@compiled
def _set_spread(
    evidence: Evidence, table: Across, weights: Floats, mixture: Mixture, c: int
) -> None:
    """Set the largest spread that the users allow."""
    likelihood = np.zeros(SPREADS.size)
    look_from(evidence, mixture.centre[c], table)
    for s in range(SPREADS.size):
        log_evidence_of_all(table, SPREADS[s])
        for j in range(weights.size):
            if weights[j] >= 1e-3:
                likelihood[s] += weights[j] * table.likely[j]
    least = likelihood.max() - _ALLOWED_FALL
    for s in range(SPREADS.size):
        if likelihood[s] >= least:
            mixture.spread[c] = SPREADS[s]


@compiled
def _maximise(evidence: Evidence, table: Across, member: Floats, mixture: Mixture) -> None:
    """Set all clusters from the probabilities of their members, in place."""
    n, k = member.shape
    for c in range(k):
        weights = np.ascontiguousarray(member[:, c])
        size = weights.sum()
        mixture.share[c] = (size + 0.5) / (n + 0.5 * k)
        if size > 0.01:
            _set_centre(evidence, weights, mixture, c)
            _set_spread(evidence, table, weights, mixture, c)


@compiled
def refine(evidence: Evidence, mixture: Mixture, member: Floats, iterations: int) -> float:
    """Bring a mixture and its memberships nearer to the most likely; return the log-likelihood.

    ``mixture`` is changed, by at most ``iterations`` iterations. ``member`` (n, k) receives the
    probabilities with which users belong to clusters.
    """
    before, table = -np.inf, across(evidence)
    for _ in range(iterations):
        now = _memberships(evidence, table, mixture, member)
        if abs(now - before) < _SETTLED:
            break
        before = now
        _maximise(evidence, table, member, mixture)
    return _memberships(evidence, table, mixture, member)
