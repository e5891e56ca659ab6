"""Clusters of similar users: components of a graph, scores of a partition, and a mixture.

In the mixture θ of a user in cluster k is drawn from N(c_k, s_k I). It is fitted by expectation and
maximisation on the evidence of each user's statistic (see :mod:`.kernels.evidence`). The spread s_k
inside a cluster limits learning from one another: s_k is not the likeliest spread but the largest
spread that the data still allow. So users who cannot be distinguished *yet* learn from one another
only as much as their known similarity justifies. Clusters split and merge by the Bayesian
information criterion.

The compiled part of graphs is :mod:`fedbandits.learners.kernels.clustering`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.clustering import Edges
from fedbandits.learners.kernels.evidence import Evidence, Mixture, memberships, refine
from fedbandits.learners.kernels.likeness import OtherUsers

#: Spread of a cluster without evidence.
_FIRST_SPREAD = 0.08
_ITERATIONS, _SPLIT_ITERATIONS = 15, 25
#: Least number of users of a cluster: smaller clusters are dropped.
_FEWEST = 0.9
_ROUNDS = 5
#: Least spread of users without a cluster.
_STRANGERS = 0.04


def components(edges: Edges) -> Ints:
    """Return each node's connected component, named by the component's lowest node: (nodes,)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    if len(edges) == 0:
        return np.zeros(0, np.int64)
    _, labels = connected_components(csr_matrix(edges), directed=False)
    _, lowest = np.unique(labels, return_index=True)
    named: Ints = lowest[labels].astype(np.int64)
    return named


def adjusted_rand_index(found: NDArray[Any], truth: NDArray[Any]) -> float:
    """Score a partition (Hubert & Arabie 1985): 1 for an exact partition, about 0 by guessing.

    A run computes this index at every recorded round: scikit-learn's function, which gives the same
    bits, takes longer than the rounds.

    Parameters
    ----------
    found, truth : (users,) int
        Labels, from 0 on, of the partition and of the true clusters; only equality of labels
        counts.
    """
    users = len(found)
    in_found, in_truth = _pairs_together(found), _pairs_together(truth)
    in_both = _pairs_together(found * (int(truth.max()) + 1) + truth)
    only_found, only_truth = in_found - in_both, in_truth - in_both
    if only_found == only_truth == 0:
        return 1.0
    both, neither = in_both - users, users * users - in_found - in_truth + in_both
    chance = (both + only_truth) * (only_truth + neither) + (both + only_found) * (
        only_found + neither
    )
    return 2.0 * (both * neither - only_truth * only_found) / chance


def _pairs_together(labels: NDArray[Any]) -> int:
    """Count ordered pairs of users with the same label, pairs of a user with itself too."""
    ordered = np.sort(labels)
    last = np.flatnonzero(ordered[1:] != ordered[:-1])
    sizes = np.diff(last, prepend=-1, append=len(labels) - 1)
    return int(sizes @ sizes)


class Fitted(NamedTuple):
    """A mixture, and the probability of each user's cluster."""

    mixture: Mixture
    member: Floats  # (n, k) probabilities
    likelihood: float  # the log-likelihood


def one_cluster(dimension: int) -> Mixture:
    """Return a mixture with all users in one cluster, without knowledge of its centre."""
    return Mixture(
        np.zeros((1, dimension)), np.array([_FIRST_SPREAD]), np.ones(1),
        np.zeros((1, dimension, dimension)),
    )  # fmt: skip


def _fitted(evidence: Evidence, start: Mixture, iterations: int = _ITERATIONS) -> Fitted:
    """Refine a copy of a mixture; clusters without users are dropped."""
    mixture = Mixture(*(field.copy() for field in start))
    member = np.zeros((len(evidence.score), len(mixture.share)))
    likelihood = refine(evidence, mixture, member, iterations)
    kept = member.sum(axis=0) > _FEWEST
    if kept.all() or not kept.any():
        return Fitted(mixture, member, likelihood)
    fewer = Mixture(*(np.ascontiguousarray(field[kept]) for field in mixture))
    return _fitted(evidence, fewer._replace(share=fewer.share / fewer.share.sum()), iterations)


def _of(evidence: Evidence, users: Ints) -> Evidence:
    return Evidence(*(np.ascontiguousarray(field[users]) for field in evidence))


def _clusters(mixture: Mixture, which: list[int]) -> Mixture:
    chosen = Mixture(*(np.ascontiguousarray(field[which]) for field in mixture))
    return chosen._replace(share=chosen.share / chosen.share.sum())


def _price(dimension: int, users: int, strictness: float) -> float:
    """Return the gain of log-likelihood that pays for a further cluster, for its d + 2 numbers."""
    return strictness * 0.5 * (dimension + 2) * math.log(max(users, 3))


def _merge_where_alike(evidence: Evidence, fitted: Fitted, strictness: float) -> Fitted:
    """Merge pairs of near clusters that gain too little from being two."""
    while (merged := next(_merges(evidence, fitted, strictness), None)) is not None:
        fitted = _fitted(evidence, merged)
    return fitted


def _merges(evidence: Evidence, fitted: Fitted, strictness: float) -> Iterator[Mixture]:
    """Yield mixtures with two clusters merged that explain the users as well."""
    for first, second in itertools.combinations(range(len(fitted.mixture.share)), 2):
        if _are_near(fitted.mixture, first, second):
            merged = _merged(evidence, fitted, first, second, strictness)
            if merged is not None:
                yield merged


def _are_near(mixture: Mixture, first: int, second: int) -> bool:
    d = mixture.centre.shape[1]
    apart = mixture.centre[first] - mixture.centre[second]
    scatter = (mixture.spread[first] + mixture.spread[second]) * np.eye(d)
    scatter += np.linalg.inv(mixture.precision[first]) + np.linalg.inv(mixture.precision[second])
    return bool(apart @ np.linalg.solve(scatter, apart) < 4.0 * d)


def _merged(
    evidence: Evidence, fitted: Fitted, first: int, second: int, strictness: float
) -> Mixture | None:
    """Return the mixture with two clusters merged, or None if two explain enough more."""
    mixture = Mixture(*(field.copy() for field in fitted.mixture))
    users = np.flatnonzero(fitted.member[:, first] + fitted.member[:, second] > 0.5)
    if len(users):
        pair_evidence, pair = _of(evidence, users), _clusters(mixture, [first, second])
        two = _fitted(pair_evidence, pair)
        middle = (pair.share @ pair.centre)[None]
        alone = Mixture(middle, pair.spread.max(keepdims=True), np.ones(1), pair.precision[:1])
        single = _fitted(pair_evidence, alone)
        price = _price(mixture.centre.shape[1], len(users), strictness)
        if two.likelihood - single.likelihood >= price:
            return None
        mixture.centre[first] = single.mixture.centre[0]
        mixture.spread[first] = single.mixture.spread[0]
    mixture.share[first] += mixture.share[second]
    return _clusters(mixture, [c for c in range(len(mixture.share)) if c != second])


def _split_where_different(
    evidence: Evidence, fitted: Fitted, strictness: float, most: int
) -> Fitted:
    """Split clusters that gain enough from being two, until no cluster does."""
    c = 0
    while c < len(fitted.mixture.share) < most:
        halves = _halves(evidence, fitted, c, strictness)
        if halves is None:
            c += 1
            continue
        mixture = fitted.mixture
        rest = [o for o in range(len(mixture.share)) if o != c]
        parts = halves._replace(share=halves.share * mixture.share[c])
        both = Mixture(
            *(np.concatenate([field[rest], new]) for field, new in zip(mixture, parts, strict=True))
        )
        finer = _fitted(evidence, both._replace(share=both.share / both.share.sum()))
        if len(finer.mixture.share) <= len(mixture.share):
            c += 1  # a half was dropped again
            continue
        fitted = finer
    return fitted


def _halves(evidence: Evidence, fitted: Fitted, c: int, strictness: float) -> Mixture | None:
    """Split a cluster's users in two; return None if one cluster describes them well enough."""
    users = np.flatnonzero(fitted.member[:, c] > 0.5)
    if len(users) < 2:
        return None
    cluster_evidence, whole = _of(evidence, users), _clusters(fitted.mixture, [c])
    single = _fitted(cluster_evidence, whole)
    step = _widest(cluster_evidence, single.mixture)
    spread = max(0.5 * float(single.mixture.spread[0]), 1e-3)
    start = Mixture(
        np.stack([single.mixture.centre[0] - step, single.mixture.centre[0] + step]),
        np.full(2, spread), np.full(2, 0.5), np.repeat(single.mixture.precision, 2, axis=0),
    )  # fmt: skip
    two = _fitted(cluster_evidence, start, _SPLIT_ITERATIONS)
    price = _price(whole.centre.shape[1], len(users), strictness)
    if len(two.mixture.share) < 2 or two.likelihood - single.likelihood <= price:
        return None
    return two.mixture


def _widest(evidence: Evidence, single: Mixture) -> Floats:
    """Return the direction in which users of a cluster differ most, scaled by their deviation."""
    spread = max(float(single.spread[0]), 1e-3)
    centre = np.einsum("jai,i->ja", evidence.basis, single.centre[0])
    shrunk = (centre + spread * evidence.score) / (1.0 + spread * evidence.precision)
    apart = np.einsum("jai,ja->ji", evidence.basis, shrunk - centre)
    values, vectors = np.linalg.eigh(apart.T @ apart / len(apart))
    step: Floats = math.sqrt(max(float(values[-1]), 0.0)) * vectors[:, -1]
    return step


def fit_mixture(evidence: Evidence, start: Mixture, strictness: float, most: int) -> Fitted:
    """Fit clusters of users to the evidence about each user, at most ``most`` clusters.

    The fit begins at ``start``, the clusters of an earlier fit or :func:`one_cluster`. At
    ``strictness`` 1 a further cluster must gain as much as the Bayesian information criterion asks;
    a smaller value allows more clusters.
    """
    fitted = _fitted(evidence, start)
    if most > 1:
        fitted = _merge_where_alike(evidence, fitted, strictness)
        fitted = _split_where_different(evidence, fitted, strictness, most)
    return fitted


def attach(others: Evidence, fitted: Fitted, trust: float) -> OtherUsers:
    """Let m others join clusters of one's own users where they fit; ``fitted`` is not changed.

    Others who fit no cluster join a background cluster of strangers, as wide as all clusters
    together. Joining users are chosen by their fit, so they seem to confirm a cluster in any case.
    A centre that moves by as much as its precision allows gains d/2 in log-likelihood. So the prior
    odds that joining users belong to the cluster are ``trust`` · exp(-d/2). With a trust of 0
    others are ignored.
    """
    k, d = fitted.mixture.centre.shape
    if trust == 0.0:
        others = Evidence(*(field[:0] for field in others))
    theirs = np.zeros((len(others.score), k + 1))
    share = np.append(0.5 * fitted.mixture.share, 0.5)
    wider = _with_strangers(fitted.mixture) if len(theirs) else fitted.mixture
    for _ in range(_ROUNDS if len(theirs) else 0):
        memberships(others, wider._replace(share=share), theirs)
        share = (theirs.sum(axis=0) + 0.5) / (len(theirs) + 0.5 * (k + 1))
    log_odds = math.log(trust) - 0.5 * d if trust > 0.0 else -math.inf
    return OtherUsers(others, np.ascontiguousarray(theirs[:, :k]), log_odds)


def _with_strangers(mixture: Mixture) -> Mixture:
    """Return the clusters and a background of all clusters, which has no share yet."""
    middle = mixture.share @ mixture.centre
    between = mixture.share @ ((mixture.centre - middle) ** 2).sum(axis=1) / middle.size
    spread = max(_STRANGERS, float(between + mixture.share @ mixture.spread))
    return Mixture(
        np.concatenate([mixture.centre, middle[None]]), np.append(mixture.spread, spread),
        np.append(mixture.share, 0.0),
        np.concatenate([mixture.precision, mixture.precision[:1]]),
    )  # fmt: skip
