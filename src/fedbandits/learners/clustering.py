"""Users who are alike: components of a graph, scores of a partition, clusters as a mixture.

In the mixture θ of a user in cluster k is drawn from N(c_k, s_k I). It is fitted by expectation and
maximisation on what each user's statistic says (see :mod:`.kernels.evidence`). The spread s_k
inside a cluster is what keeps learning from one another honest: it is not the likeliest one but the
largest that the data still allow, so that users who cannot be told apart *yet* learn from one
another no more than what is known of their likeness warrants. Clusters split and merge by the
Bayesian information criterion.

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

#: The spread before anything is known.
_FIRST_SPREAD = 0.08
_ITERATIONS, _SPLIT_ITERATIONS = 15, 25
#: A cluster with fewer users than this is given up.
_FEWEST = 0.9
_ROUNDS = 5
#: Spread of those who belong to no cluster, at least.
_STRANGERS = 0.04


def components(edges: Edges) -> Ints:
    """Find connected components of a graph, each named by its lowest node: (nodes,)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    if len(edges) == 0:
        return np.zeros(0, np.int64)
    _, labels = connected_components(csr_matrix(edges), directed=False)
    _, lowest = np.unique(labels, return_index=True)
    named: Ints = lowest[labels].astype(np.int64)
    return named


def adjusted_rand_index(found: NDArray[Any], truth: NDArray[Any]) -> float:
    """Score a partition (Hubert & Arabie 1985): 1 if it is exact, about 0 by guessing.

    A run asks for it at every recorded round: scikit-learn's function, which gives the same bits,
    takes longer than the rounds.

    Parameters
    ----------
    found, truth : (users,) int
        Labels from 0 on; only which users share one counts.
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
    likelihood: float  # its logarithm


def one_cluster(dimension: int) -> Mixture:
    """Return all users in one cluster of which nothing is known."""
    return Mixture(
        np.zeros((1, dimension)), np.array([_FIRST_SPREAD]), np.ones(1),
        np.zeros((1, dimension, dimension)),
    )  # fmt: skip


def _fitted(evidence: Evidence, start: Mixture, iterations: int = _ITERATIONS) -> Fitted:
    """Refine a mixture, which is left as it is; clusters without users are given up."""
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
    """Return the log-likelihood that one more cluster must gain, for its d + 2 numbers."""
    return strictness * 0.5 * (dimension + 2) * math.log(max(users, 3))


def _merge_where_alike(evidence: Evidence, fitted: Fitted, strictness: float) -> Fitted:
    """Merge pairs of clusters, near ones alone, that gain too little from being two."""
    while (merged := next(_merges(evidence, fitted, strictness), None)) is not None:
        fitted = _fitted(evidence, merged)
    return fitted


def _merges(evidence: Evidence, fitted: Fitted, strictness: float) -> Iterator[Mixture]:
    """Find every mixture with two clusters less one that explains the users as well."""
    for one, other in itertools.combinations(range(len(fitted.mixture.share)), 2):
        if _are_near(fitted.mixture, one, other):
            merged = _merged(evidence, fitted, one, other, strictness)
            if merged is not None:
                yield merged


def _are_near(mixture: Mixture, one: int, other: int) -> bool:
    d = mixture.centre.shape[1]
    apart = mixture.centre[one] - mixture.centre[other]
    scatter = (mixture.spread[one] + mixture.spread[other]) * np.eye(d)
    scatter += np.linalg.inv(mixture.precision[one]) + np.linalg.inv(mixture.precision[other])
    return bool(apart @ np.linalg.solve(scatter, apart) < 4.0 * d)


def _merged(
    evidence: Evidence, fitted: Fitted, one: int, other: int, strictness: float
) -> Mixture | None:
    """Return the mixture with two clusters as one, or None if two say enough more."""
    mixture = Mixture(*(field.copy() for field in fitted.mixture))
    users = np.flatnonzero(fitted.member[:, one] + fitted.member[:, other] > 0.5)
    if len(users):
        theirs, pair = _of(evidence, users), _clusters(mixture, [one, other])
        two = _fitted(theirs, pair)
        middle = (pair.share @ pair.centre)[None]
        alone = Mixture(middle, pair.spread.max(keepdims=True), np.ones(1), pair.precision[:1])
        single = _fitted(theirs, alone)
        price = _price(mixture.centre.shape[1], len(users), strictness)
        if two.likelihood - single.likelihood >= price:
            return None
        mixture.centre[one] = single.mixture.centre[0]
        mixture.spread[one] = single.mixture.spread[0]
    mixture.share[one] += mixture.share[other]
    return _clusters(mixture, [c for c in range(len(mixture.share)) if c != other])


def _split_where_different(
    evidence: Evidence, fitted: Fitted, strictness: float, most: int
) -> Fitted:
    """Split clusters that gain enough from being two, until none does."""
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
            c += 1  # one of the halves was given up again
            continue
        fitted = finer
    return fitted


def _halves(evidence: Evidence, fitted: Fitted, c: int, strictness: float) -> Mixture | None:
    """Split one cluster's users in two, or return None if one describes them well enough."""
    users = np.flatnonzero(fitted.member[:, c] > 0.5)
    if len(users) < 2:
        return None
    theirs, whole = _of(evidence, users), _clusters(fitted.mixture, [c])
    single = _fitted(theirs, whole)
    step = _widest(theirs, single.mixture)
    spread = max(0.5 * float(single.mixture.spread[0]), 1e-3)
    start = Mixture(
        np.stack([single.mixture.centre[0] - step, single.mixture.centre[0] + step]),
        np.full(2, spread), np.full(2, 0.5), np.repeat(single.mixture.precision, 2, axis=0),
    )  # fmt: skip
    two = _fitted(theirs, start, _SPLIT_ITERATIONS)
    price = _price(whole.centre.shape[1], len(users), strictness)
    if len(two.mixture.share) < 2 or two.likelihood - single.likelihood <= price:
        return None
    return two.mixture


def _widest(evidence: Evidence, single: Mixture) -> Floats:
    """Find the direction in which users of one cluster differ most, as long as they do."""
    spread = max(float(single.spread[0]), 1e-3)
    centre = np.einsum("jai,i->ja", evidence.basis, single.centre[0])
    shrunk = (centre + spread * evidence.score) / (1.0 + spread * evidence.precision)
    apart = np.einsum("jai,ja->ji", evidence.basis, shrunk - centre)
    values, vectors = np.linalg.eigh(apart.T @ apart / len(apart))
    step: Floats = math.sqrt(max(float(values[-1]), 0.0)) * vectors[:, -1]
    return step


def fit_mixture(evidence: Evidence, start: Mixture, strictness: float, most: int) -> Fitted:
    """Find clusters of users from the evidence about each, ``most`` at most.

    Begin with the clusters of an earlier fit, or with :func:`one_cluster`. At ``strictness`` 1 one
    more cluster must gain what the Bayesian information criterion asks; less is bolder.
    """
    fitted = _fitted(evidence, start)
    if most > 1:
        fitted = _merge_where_alike(evidence, fitted, strictness)
        fitted = _split_where_different(evidence, fitted, strictness, most)
    return fitted


def attach(others: Evidence, fitted: Fitted, trust: float) -> OtherUsers:
    """Let m others join clusters of one's own users where they fit; ``fitted`` is left as it is.

    Others who fit nowhere join a background cluster of strangers, as wide as all clusters together.
    Those who join are chosen by their fit, so they seem to confirm a cluster in any case. A centre
    that moves by as much as its precision allows gains d/2 in log-likelihood. So the prior odds
    that those who fit belong there are ``trust`` · exp(-d/2). With a trust of 0 others are ignored.
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
    """Return the clusters and a background of all of them, which has no share yet."""
    middle = mixture.share @ mixture.centre
    between = mixture.share @ ((mixture.centre - middle) ** 2).sum(axis=1) / middle.size
    spread = max(_STRANGERS, float(between + mixture.share @ mixture.spread))
    return Mixture(
        np.concatenate([mixture.centre, middle[None]]), np.append(mixture.spread, spread),
        np.append(mixture.share, 0.0),
        np.concatenate([mixture.precision, mixture.precision[:1]]),
    )  # fmt: skip
