"""Estimates that users learn from one another, weighted by the evidence of their similarity.

Users of one cluster have θⱼ ~ N(c, (1 - ρ) v I) with a common c ~ N(0, ρ v I). So each θⱼ by itself
is N(0, v I) for every correlation ρ; only ρ determines how much users tell about one another. c can
be integrated out, so the likelihood of the records of all users of a cluster is known exactly for
every ρ, and for users who have nothing in common. Estimates are averages over a grid of ρ and over
learning alone, each weighted by its likelihood times its prior probability. Nothing is chosen, so
users who are not similar pay the logarithm of a weight, and no more (Hoeting, Madigan, Raftery &
Volinsky 1999, "Bayesian model averaging: a tutorial").

*Partitions.* A cluster of m users has prior weight α (m - 1)!, as in a Chinese restaurant process
(Antoniak 1974). α is such that one cluster of all n users is as likely as n users who are alone.
With several clusters, the same records chose the clusters and measure the similarity. So α is at
least 12 there.

*A user* is left out of a cluster for the comparison with it, so users do not attract themselves.

*Others*, of whom there are noisy statistics, may be in a cluster too. Each hypothesis has a version
with them and a version without them, and one's own users' records decide between both.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import LANES, allocation_free, compiled, fma, load, summed
from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.centres import (
    User,
    add_statistic,
    change_of_fit,
    find_centre,
    look_at,
    move_to_user,
    new_user,
    no_evidence,
    padded,
    take_in,
    turn,
    turn_back,
)
from fedbandits.learners.kernels.evidence import Evidence, log_evidence

#: Candidate correlations ρ.
CORRELATIONS = np.array([0.3, 0.6, 0.8, 0.9, 0.97, 0.99, 0.999])
#: Least α where users were divided into clusters.
_LEAST_ALPHA = 12.0
#: Least probability of a user's cluster for a comparison.
_NOT_THERE = 1e-4
#: Least probability of others in a cluster; less likely others are left out.
_STRANGE = 1e-3
#: Least weight of a hypothesis in an average.
_FAINT = 1e-9
#: Largest distance of a hypothesis' logarithm from the best; further hypotheses are left out.
_HOPELESS = 12.0


class Estimates(NamedTuple):
    """Knowledge of each user, averaged over all hypotheses."""

    mean: Floats  # (n, d)
    covariance: Floats  # (n, d, d)
    alone: Floats  # (n,): the weight of learning from own records alone


class OtherUsers(NamedTuple):
    """Statistics of others who may be in the clusters of one's own users."""

    evidence: Evidence  # of m others
    member: Floats  # (m, k) probabilities of belonging to the clusters
    log_odds: float  # prior log odds that all others in a cluster belong to it


class _Pools(NamedTuple):
    """Clusters' knowledge of their centres, by hypotheses: ρ without others, then with them."""

    uncertain: Floats  # (k, d, d, h): covariance of the centre
    centre: Floats  # (k, d, h)
    log_weight: Floats  # (k, h): likelihood of its users together over their likelihood apart
    size: Ints  # (k,) users


class _Weighed(NamedTuple):
    """Hypotheses about one user in all clusters, in its own basis."""

    weight: Floats  # (k, h): log weight against being alone; later the weight
    covariance: Floats  # (k, d, d, h): of the centre, with this user; later of the user's θ
    mean: Floats  # (k, d, h)


@compiled
def _alone(own: Evidence, variance: float) -> Floats:
    """Compute the log-likelihood of each user's records if the user is alone."""
    n, d = own.score.shape
    logs, origin = np.zeros(n), np.zeros(d)
    for j in range(n):
        logs[j] = log_evidence(own.precision[j], own.score[j], origin, variance)
    return logs


@compiled
def _apart(own: Evidence, spreads: Floats, alone: Floats) -> Floats:
    """Compute log-likelihoods around a centre of 0, less those of being alone, (n, ρ)."""
    n, d = own.score.shape
    logs, origin = np.zeros((n, spreads.size)), np.zeros(d)
    for j in range(n):
        for s in range(spreads.size):
            likely = log_evidence(own.precision[j], own.score[j], origin, spreads[s])
            logs[j, s] = likely - alone[j]
    return logs


@compiled
def _pools(
    own: Evidence, labels: Ints, others: OtherUsers, variance: float, spreads: Floats, apart: Floats
) -> _Pools:
    """Compute all clusters under all hypotheses."""
    (n, d), clusters = own.score.shape, others.member.shape[1]
    count = spreads.size * (2 if len(others.member) else 1)
    lanes = padded(count)
    pools = _Pools(
        np.zeros((clusters, d, d, lanes)), np.zeros((clusters, d, lanes)),
        np.full((clusters, lanes), -np.inf), np.zeros(clusters, np.int64),
    )  # fmt: skip
    for c in range(clusters):
        without, ours = no_evidence(spreads.size, d), no_evidence(spreads.size, d)
        likely = np.zeros(spreads.size)
        for j in range(n):
            if labels[j] == c:
                pools.size[c] += 1
                likely += apart[j]
                add_statistic(own, j, 1.0, spreads, ours)
        for h in range(count):
            s, odds = h % spreads.size, 0.0
            if h == spreads.size:  # the hypotheses with others begin here
                for o in range(len(others.member)):
                    if others.member[o, c] > _STRANGE:
                        add_statistic(others.evidence, o, others.member[o, c], spreads, without)
            if h >= spreads.size:
                odds = others.log_odds
            prior, centre, uncertain = (
                1.0 / (variance - spreads[s]),
                pools.centre[c],
                pools.uncertain[c],
            )
            before = find_centre(
                without.precision[s], without.score[s], prior, h, uncertain, centre
            )
            precision = without.precision[s] + ours.precision[s]
            score = without.score[s] + ours.score[s]
            after = find_centre(precision, score, prior, h, uncertain, centre)
            pools.log_weight[c, h] = odds + after - before + likely[s] - math.log(count)
    return pools


@compiled
def _compare(
    user: User, pools: _Pools, c: int, is_member: bool, apart: Floats, log_alpha: float,
    weighed: _Weighed,
) -> None:  # fmt: skip
    """Weigh a user's membership in one cluster, by hypotheses (h,), against being alone."""
    weight, covariance, mean = weighed.weight[c], weighed.covariance[c], weighed.mean[c]
    rest = pools.size[c] - (1 if is_member else 0)
    gained = np.empty(weight.size)
    turn(user, pools.uncertain[c], pools.centre[c], covariance, mean)
    change_of_fit(user, covariance, mean, -1.0 if is_member else 1.0, gained)
    hopeless = pools.log_weight[c].max() - _HOPELESS
    company = max(rest, 1)  # others without one's own users count as one user
    for h in range(weight.size):
        weight[h] = -np.inf  # log weight of the cluster without this user
        if pools.log_weight[c, h] < hopeless:
            continue
        gained[h] = (-gained[h] if is_member else gained[h]) + apart[h % apart.size]
        if rest > 0 or h >= apart.size:  # otherwise the cluster is empty
            weight[h] = pools.log_weight[c, h] - (gained[h] if is_member else 0.0)
            weight[h] += math.lgamma(company) - (company - 1) * log_alpha
        if not is_member:
            take_in(user, h, covariance, mean)
    # A rest of one user is a cluster under every hypothesis; a larger rest may be no cluster.
    largest = weight.max() if rest == 1 else max(0.0, weight.max())
    total = 0.0 if rest == 1 else math.exp(-largest)
    for h in range(weight.size):
        total += math.exp(weight[h] - largest)
    for h in range(weight.size):
        if weight[h] > -np.inf:
            weight[h] += gained[h] - largest - math.log(total) + math.log(company) - log_alpha


@compiled
def _normalise(weight: Floats) -> float:
    """Turn logarithms into weights without faint ones; return the weight of being alone."""
    largest = max(0.0, weight.max())
    alone = math.exp(-largest)
    alone = alone if alone >= _FAINT else 0.0
    total = alone
    for c in range(weight.shape[0]):
        for h in range(weight.shape[1]):
            relative = math.exp(weight[c, h] - largest)
            weight[c, h] = relative if relative >= _FAINT else 0.0
            total += weight[c, h]
    for c in range(weight.shape[0]):
        for h in range(weight.shape[1]):
            weight[c, h] /= total
    return float(alone / total)


@compiled
def _average(
    user: User, weighed: _Weighed, alone: float, variance: float, mean: Floats, covariance: Floats
) -> None:
    """Compute mean and covariance of a user's θ over all hypotheses, which differ in both."""
    d = mean.size
    middle, whole, by_itself = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    for a in range(d):
        shrunk = 1.0 / (1.0 + user.precision[a] * variance)
        by_itself[a] = shrunk * variance * user.score[a]
        middle[a] = alone * by_itself[a]
        whole[a, a] = alone * variance * shrunk
    for c in range(weighed.weight.shape[0]):
        if weighed.weight[c].max() > 0.0:
            _add_cluster(weighed.weight[c], weighed.mean[c], weighed.covariance[c], middle, whole)
    for a in range(d):
        for b in range(a, d):
            whole[a, b] += alone * by_itself[a] * by_itself[b] - middle[a] * middle[b]
            whole[b, a] = whole[a, b]
    turn_back(user, middle, whole, mean, covariance)


@allocation_free
def _add_cluster(
    weight: Floats, mean: Floats, covariance: Floats, middle: Floats, whole: Floats
) -> None:
    """Add one cluster's hypotheses about θ, and about θθᵀ from its diagonal on."""
    d, hypotheses = mean.shape
    for at in range(0, hypotheses, LANES):
        weights = load(weight, at)
        for a in range(d):
            weighted = weights * load(mean, (a, at))
            middle[a] += summed(weighted)
            for b in range(a, d):
                spread_out = weights * load(covariance, (a, b, at))
                whole[a, b] += summed(fma(weighted, load(mean, (b, at)), spread_out))


@compiled
def _averaged(
    own: Evidence,
    labels: Ints,
    member: Floats,
    others: OtherUsers,
    variance: float,
    log_alpha: float,
) -> Estimates:
    """Compute :func:`averaged` in compiled code."""
    (n, d), clusters = own.score.shape, member.shape[1]
    spreads = (1.0 - CORRELATIONS) * variance
    apart = _apart(own, spreads, _alone(own, variance))
    pools = _pools(own, labels, others, variance, spreads, apart)
    lanes = pools.log_weight.shape[1]
    weighed = _Weighed(
        np.zeros((clusters, lanes)), np.zeros((clusters, d, d, lanes)),
        np.zeros((clusters, d, lanes)),
    )  # fmt: skip
    estimates = Estimates(np.zeros((n, d)), np.zeros((n, d, d)), np.zeros(n))
    user = new_user(d, lanes)
    for j in range(n):
        look_at(own, j, spreads, user)
        for c in range(clusters):
            is_member = labels[j] == c
            company = pools.size[c] - (1 if is_member else 0)
            weighed.weight[c] = -np.inf
            if (company > 0 or len(others.member)) and (is_member or member[j, c] > _NOT_THERE):
                _compare(user, pools, c, is_member, apart[j], log_alpha, weighed)
                move_to_user(user, spreads, weighed.covariance[c], weighed.mean[c])
        estimates.alone[j] = _normalise(weighed.weight)
        _average(
            user, weighed, estimates.alone[j], variance, estimates.mean[j], estimates.covariance[j]
        )
    return estimates


def averaged(own: Evidence, member: Floats, others: OtherUsers, variance: float) -> Estimates:
    """Compute estimates of users alone and together, each weighted by its evidence.

    ``own`` is the evidence of one's own n users, who belong to the clusters with probabilities
    ``member`` (n, k). For the weighing each user is in its likeliest cluster. ``others`` may be in
    these clusters too. ``variance`` is v, the prior variance of every coordinate of θ.
    """
    n = len(member)
    log_alpha = math.lgamma(n) / max(n - 1, 1)
    if member.shape[1] > 1:
        log_alpha = max(log_alpha, math.log(_LEAST_ALPHA))
    labels = member.argmax(axis=1).astype(np.int64)
    return _averaged(own, labels, member, others, variance, log_alpha)
