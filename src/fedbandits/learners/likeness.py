"""What users learn from one another, weighted by the evidence that they are alike.

Users of one cluster have θⱼ ~ N(c, (1 - ρ) v I) with a common c ~ N(0, ρ v I). So each θⱼ by itself
is N(0, v I), whatever the correlation ρ is; only ρ says what one user tells of another. c can be
integrated out, so how likely the records of all users of a cluster are is known exactly for every
ρ, and for users who have nothing in common. Estimates are averages over a grid of ρ and over
learning alone, each weighted by its likelihood times its prior probability. Nothing is chosen, so
users who are not alike pay the logarithm of a weight, and no more (Hoeting, Madigan, Raftery &
Volinsky 1999, "Bayesian model averaging: a tutorial").

*Partitions.* A cluster of m users has prior weight α (m - 1)!, as in a Chinese restaurant process
(Antoniak 1974). α is such that one cluster of all n users is as likely as n users who are alone.
Where there are several clusters, who is in which was chosen by the same records that say how alike
they are. So α is at least 12 there.

*A user* is left out of a cluster that it is compared with, so it does not attract itself.

*Others*, of whom there are noisy statistics, may be in a cluster too. With and without them are two
more hypotheses, which one's own users' records decide between.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.evidence import Evidence, log_evidence, rotate

#: Correlations ρ that are tried.
CORRELATIONS = np.array([0.3, 0.6, 0.8, 0.9, 0.97, 0.99, 0.999])
#: α is at least as large where users were divided into clusters.
_LEAST_ALPHA = 12.0
#: Users who are less likely than this in a cluster are not compared with it.
_NOT_THERE = 1e-4
#: Others who are less likely than this in a cluster are left out of it.
_STRANGE = 1e-3
#: Hypotheses of less weight are left out of an average.
_FAINT = 1e-9
#: Hypotheses whose logarithm is so much below the best one's are left out.
_HOPELESS = 12.0


class Estimates(NamedTuple):
    """What is known of each user, all things considered."""

    mean: Floats  # (n, d)
    covariance: Floats  # (n, d, d)
    alone: Floats  # (n,): the weight of what the user's own records say alone


class Others(NamedTuple):
    """Others who may be in the clusters of one's own users."""

    evidence: Evidence  # of m others
    member: Floats  # (m, k) probabilities of belonging to the clusters
    log_odds: float  # of all who are in a cluster belonging there, before own records are seen


class _Pools(NamedTuple):
    """What clusters know of their centres, by hypotheses: ρ without others, then with them."""

    precision: Floats  # (k, h, d, d) of the centre
    score: Floats  # (k, h, d)
    fit: Floats  # (k, h): what :func:`_fit` makes of these
    log_weight: Floats  # (k, h): likelihood of its users together over that of them apart
    size: Ints  # (k,) users


@compiled
def _spread(h: int, variance: float) -> float:
    return float((1.0 - CORRELATIONS[h % CORRELATIONS.size]) * variance)


@compiled
def _add(
    evidence: Evidence, j: int, weight: float, spread: float, precision: Floats, score: Floats
) -> None:
    """Add what one statistic says of the centre; with a weight of -1 take it off again."""
    d = score.size
    for a in range(d):
        widened = 1.0 + evidence.precision[j, a] * spread
        told = weight * evidence.precision[j, a] / widened
        pull = weight * evidence.score[j, a] / widened
        for i in range(d):
            direction = evidence.basis[j, a, i]
            score[i] += pull * direction
            for k in range(d):
                precision[i, k] += told * direction * evidence.basis[j, a, k]


@compiled
def _fit(precision: Floats, score: Floats) -> float:
    """The logarithm of ∫ exp(score·c - ½ cᵀ precision c) dc, up to a constant."""
    factor, total = np.linalg.cholesky(precision), 0.0
    solved = np.zeros(score.size)
    for i in range(score.size):
        left = score[i]
        for k in range(i):
            left -= factor[i, k] * solved[k]
        solved[i] = left / factor[i, i]
        total += 0.5 * solved[i] * solved[i] - math.log(factor[i, i])
    return total


@compiled
def _alone(own: Evidence, variance: float) -> Floats:
    """How likely each user's records are if it is alone."""
    n, d = own.score.shape
    found, nowhere = np.zeros(n), np.zeros(d)
    for j in range(n):
        found[j] = log_evidence(own.precision[j], own.score[j], nowhere, variance)
    return found


@compiled
def _pools(own: Evidence, labels: Ints, others: Others, variance: float, alone: Floats) -> _Pools:
    """All clusters under all hypotheses."""
    (n, d), clusters = own.score.shape, others.member.shape[1]
    count = CORRELATIONS.size * (2 if len(others.member) else 1)
    precision, score = np.zeros((clusters, count, d, d)), np.zeros((clusters, count, d))
    fit, log_weight = np.zeros((clusters, count)), np.zeros((clusters, count))
    nowhere = np.zeros(d)
    size = np.zeros(clusters, np.int64)
    for j in range(n):
        size[labels[j]] += 1
    for c in range(clusters):
        for h in range(count):
            spread, known, told = _spread(h, variance), precision[c, h], score[c, h]
            for i in range(d):
                known[i, i] = 1.0 / (variance - spread)
            if h >= CORRELATIONS.size:
                log_weight[c, h] = others.log_odds
                for o in range(len(others.member)):
                    if others.member[o, c] > _STRANGE:
                        _add(others.evidence, o, others.member[o, c], spread, known, told)
            before = _fit(known, told)
            for j in range(n):
                if labels[j] == c:
                    _add(own, j, 1.0, spread, known, told)
                    log_weight[c, h] -= alone[j]
                    log_weight[c, h] += log_evidence(
                        own.precision[j], own.score[j], nowhere, spread
                    )
            fit[c, h] = _fit(known, told)
            log_weight[c, h] += fit[c, h] - before - math.log(count)
    return _Pools(precision, score, fit, log_weight, size)


@compiled
def _learn(
    own: Evidence, j: int, precision: Floats, score: Floats, spread: float, mean: Floats,
    covariance: Floats,
) -> None:  # fmt: skip
    """A user's θ in a cluster with so much known of its centre, the user's own records included.

    The mean is the best linear unbiased predictor. The covariance counts what is not known of the
    centre.
    """
    d = mean.size
    uncertain = np.linalg.inv(precision)
    turn = own.basis[j]
    back, scaled, moved = np.ascontiguousarray(turn.T), np.zeros((d, d)), np.zeros(d)
    rotate(turn, uncertain @ score, moved)
    for a in range(d):
        widened = 1.0 + own.precision[j, a] * spread
        moved[a] = (moved[a] + spread * own.score[j, a]) / widened
        for i in range(d):
            scaled[a, i] = turn[a, i] / widened
    rotate(back, moved, mean)
    keeps = back @ scaled  # how much of an error in the centre reaches the user
    covariance[:] = spread * keeps + keeps @ uncertain @ keeps.T


@compiled
def _compare(
    own: Evidence, j: int, pools: _Pools, c: int, mine: bool, variance: float, alone: Floats,
    log_alpha: float, log_weight: Floats,
) -> None:  # fmt: skip
    """Weigh a user's membership in one cluster, by hypotheses (h,), against being alone."""
    count, nowhere = log_weight.size, np.zeros(own.score.shape[1])
    rest = pools.size[c] - (1 if mine else 0)
    others_weight = np.full(count, -np.inf)  # of the cluster without this user
    gained, sign = np.zeros(count), 1.0 if mine else -1.0
    best = pools.log_weight[c].max()
    for h in range(count):
        if pools.log_weight[c, h] < best - _HOPELESS:
            continue
        spread = _spread(h, variance)
        whole, told = pools.precision[c, h].copy(), pools.score[c, h].copy()
        _add(own, j, -sign, spread, whole, told)
        gained[h] = sign * (pools.fit[c, h] - _fit(whole, told))
        gained[h] += log_evidence(own.precision[j], own.score[j], nowhere, spread) - alone[j]
        others_weight[h] = pools.log_weight[c, h] - (gained[h] if mine else 0.0)
        if rest == 0 and h < CORRELATIONS.size:
            others_weight[h] = -np.inf  # nobody is left
        company = max(rest, 1)  # others without a user of one's own count as one
        others_weight[h] += math.lgamma(company) - (company - 1) * log_alpha
    # A rest of one user is a cluster under every hypothesis; a larger one may be no cluster.
    largest = others_weight.max() if rest == 1 else max(0.0, others_weight.max())
    total = 0.0 if rest == 1 else math.exp(-largest)
    for h in range(count):
        total += math.exp(others_weight[h] - largest)
    for h in range(count):
        log_weight[h] = others_weight[h] - largest - math.log(total) + gained[h]
        log_weight[h] += math.log(max(rest, 1)) - log_alpha


@compiled
def _averaged(
    own: Evidence, labels: Ints, member: Floats, others: Others, variance: float, log_alpha: float
) -> Estimates:
    """See :func:`averaged`."""
    (n, d), clusters = own.score.shape, member.shape[1]
    alone = _alone(own, variance)
    pools = _pools(own, labels, others, variance, alone)
    count = pools.log_weight.shape[1]
    last = clusters * count  # the hypothesis of being alone
    weight, means = np.zeros(last + 1), np.zeros((last + 1, d))
    covariances = np.zeros((last + 1, d, d))
    found = Estimates(np.zeros((n, d)), np.zeros((n, d, d)), np.zeros(n))
    nothing, flat = np.zeros(d), np.eye(d) * 1e12
    for j in range(n):
        weight[:] = -np.inf
        weight[last] = 0.0
        _learn(own, j, flat, nothing, variance, means[last], covariances[last])
        for c in range(clusters):
            mine = labels[j] == c
            company = pools.size[c] - (1 if mine else 0)
            if (company > 0 or count > CORRELATIONS.size) and (mine or member[j, c] > _NOT_THERE):
                part = slice(c * count, (c + 1) * count)
                _compare(own, j, pools, c, mine, variance, alone, log_alpha, weight[part])
        weight[:] = np.exp(weight - weight.max())
        weight[weight < _FAINT] = 0.0
        weight /= weight.sum()
        found.alone[j] = weight[last]
        for h in range(last + 1):
            if weight[h] == 0.0:
                continue
            c, k = h // count, h % count
            if h < last:
                whole, told = pools.precision[c, k].copy(), pools.score[c, k].copy()
                spread = _spread(k, variance)
                if labels[j] != c:
                    _add(own, j, 1.0, spread, whole, told)
                _learn(own, j, whole, told, spread, means[h], covariances[h])
            found.mean[j] += weight[h] * means[h]
        for h in range(last + 1):
            if weight[h] > 0.0:
                apart = means[h] - found.mean[j]
                found.covariance[j] += weight[h] * (covariances[h] + np.outer(apart, apart))
    return found


def averaged(own: Evidence, member: Floats, others: Others, variance: float) -> Estimates:
    """What is known of users by themselves and together, each weighted by its evidence.

    Parameters
    ----------
    own
        What is known of one's own n users.
    member : (n, k) float64
        Probabilities that they belong to the clusters. The clusters that are weighed have each user
        where it is likeliest.
    others
        Others who may be in these clusters.
    variance : float
        v: the variance of every coordinate of θ before anything is known.

    Returns
    -------
    Estimates
    """
    n = len(member)
    log_alpha = math.lgamma(n) / max(n - 1, 1)
    if member.shape[1] > 1:
        log_alpha = max(log_alpha, math.log(_LEAST_ALPHA))
    labels = member.argmax(axis=1).astype(np.int64)
    return _averaged(own, labels, member, others, variance, log_alpha)
