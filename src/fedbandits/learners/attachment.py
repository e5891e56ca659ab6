"""What a user learns from others in the same cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.learners.evidence import Evidence, log_evidence, rotate, stack
from fedbandits.learners.mixture import Fitted, Mixture, maximise, memberships

_ROUNDS = 10
#: Spread of those who belong to no cluster, at least.
_STRANGERS = 0.04


def attach(own: Evidence, others: Evidence, fitted: Fitted, trust: float) -> Fitted:
    """Let others sharpen the clusters of one's own users.

    Others join where they fit, or a background cluster of strangers, as wide as all clusters
    together. They may sharpen a cluster but not against one's own users: where these would fit it
    worse by more than ``trust`` d / 2 in log-likelihood, which is what a centre loses that moves by
    as much as its precision allows, the cluster stays as it is.

    Parameters
    ----------
    own, others
        What is known of one's own n users, and of m others.
    fitted
        Clusters of one's own users alone; left as it is.
    trust : float
        1: the loss that is expected when a centre comes nearer to the truth.

    Returns
    -------
    Fitted
        Sharper clusters, and where one's own users belong.
    """
    if not len(others.score):
        return fitted
    n, k, d = len(own.score), *fitted.mixture.centre.shape
    everyone, joined = stack(Evidence, [own, others]), Mixture(*(f.copy() for f in fitted.mixture))
    share = np.append(0.5 * joined.share, 0.5)
    member, theirs = np.zeros((n, k)), np.zeros((len(others.score), k + 1))
    for _ in range(_ROUNDS):
        memberships(own, joined._replace(share=share[:k] / share[:k].sum()), member)
        memberships(others, _with_strangers(joined, fitted.mixture, share), theirs)
        maximise(everyone, np.concatenate([member, theirs[:, :k]]), joined)
        share = (theirs.sum(axis=0) + 0.5) / (len(theirs) + 0.5 * (k + 1))
    lost = _fit_of(own, fitted.mixture, fitted.member) - _fit_of(own, joined, fitted.member)
    for c in np.flatnonzero(lost > 0.5 * trust * d) if trust > 0.0 else range(k):
        for field, before in zip(joined, fitted.mixture, strict=True):
            field[c] = before[c]
    joined = joined._replace(share=fitted.mixture.share)
    likelihood = memberships(own, joined, member)
    return Fitted(joined, member, likelihood)


@compiled
def _fit_of(own: Evidence, mixture: Mixture, member: Floats) -> Floats:
    """How well clusters fit their users, (k,): the log-likelihoods of those who belong there."""
    n, k = member.shape
    fit, centre = np.zeros(k), np.zeros(mixture.centre.shape[1])
    for c in range(k):
        for j in range(n):
            if member[j, c] > 1e-3:
                rotate(own.basis[j], mixture.centre[c], centre)
                fit[c] += member[j, c] * log_evidence(
                    own.precision[j], own.score[j], centre, mixture.spread[c]
                )
    return fit


def _with_strangers(joined: Mixture, alone: Mixture, share: Floats) -> Mixture:
    """The clusters and a background of all of them."""
    middle = alone.share @ alone.centre
    between = alone.share @ ((alone.centre - middle) ** 2).sum(axis=1) / middle.size
    spread = max(_STRANGERS, float(between + alone.share @ alone.spread))
    return Mixture(
        np.concatenate([joined.centre, middle[None]]), np.append(joined.spread, spread), share,
        np.concatenate([joined.precision, joined.precision[:1]]),
    )  # fmt: skip


class Estimates(NamedTuple):
    """What is known of each user, all things considered."""

    mean: Floats  # (n, d)
    covariance: Floats  # (n, d, d)


@compiled
def estimates(evidence: Evidence, mixture: Mixture, member: Floats) -> Estimates:
    """Mean and covariance of every user's θ, given its statistic and the clusters.

    In a cluster the mean is the best linear unbiased predictor; its covariance counts what is not
    known of the centre. Over clusters the two moments are those of the mixture.
    """
    n, d = evidence.score.shape
    k = mixture.share.size
    mean, covariance = np.zeros((n, d)), np.zeros((n, d, d))
    uncertain = np.zeros((k, d, d))
    for c in range(k):
        uncertain[c] = np.linalg.inv(mixture.precision[c])
    means, centre, scaled = np.zeros((k, d)), np.zeros(d), np.zeros((d, d))
    for j in range(n):
        turn = evidence.basis[j]
        back = np.ascontiguousarray(turn.T)
        for c in range(k):
            if member[j, c] < 1e-6:
                continue
            spread = mixture.spread[c]
            rotate(turn, mixture.centre[c], centre)
            for a in range(d):
                centre[a] = (centre[a] + spread * evidence.score[j, a]) / (
                    1.0 + evidence.precision[j, a] * spread
                )
            rotate(back, centre, means[c])
            mean[j] += member[j, c] * means[c]
        for c in range(k):
            if member[j, c] < 1e-6:
                continue
            spread = mixture.spread[c]
            for a in range(d):
                scaled[a] = turn[a] / (1.0 + evidence.precision[j, a] * spread)
            keeps = back @ scaled  # how much of an error in the centre reaches the user
            apart = means[c] - mean[j]
            covariance[j] += member[j, c] * (
                spread * keeps + keeps @ uncertain[c] @ keeps + np.outer(apart, apart)
            )
    return Estimates(mean, covariance)
