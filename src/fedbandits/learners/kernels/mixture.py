"""One step after another towards the most likely mixture of clusters, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.learners.kernels.evidence import (
    Across,
    Evidence,
    across,
    log_evidence_of_all,
    look_from,
)

#: Spreads that are tried.
SPREADS = np.array([1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 4e-2, 8e-2, 0.16])
#: A spread is allowed if the log-likelihood falls by no more than this.
_ALLOWED_FALL = 2.0
#: Centres are N(0, I/8) before anything is known, as ridge regression by two records would have it.
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
    """Find who belongs where, into ``member`` (n, k); return the log-likelihood."""
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
    """Set the likeliest centre at the spread that it has, and its precision."""
    n, d = evidence.score.shape
    directions = evidence.basis.reshape(n * d, d)
    weighted, pulls = np.zeros((n * d, d)), np.zeros(n * d)
    for j in range(n):
        if weights[j] < 1e-4:
            continue
        for a in range(d):
            told = weights[j] / (1.0 + evidence.precision[j, a] * mixture.spread[c])
            pulls[j * d + a] = told * evidence.score[j, a]
            told *= evidence.precision[j, a]
            for i in range(d):
                weighted[j * d + a, i] = told * evidence.basis[j, a, i]
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
    """Set the largest spread that the users still allow."""
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
    """Set all clusters by who belongs to them, in place."""
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
    """Bring a mixture and its memberships nearer to the most likely ones; return the likelihood.

    The mixture is changed, by so many iterations at most. ``member`` (n, k) receives the
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
