"""Membership of other users in the clusters of one's own."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.learners.kernels.evidence import Evidence
from fedbandits.learners.kernels.likeness import Others
from fedbandits.learners.kernels.mixture import Mixture, memberships
from fedbandits.learners.mixture import Fitted

_ROUNDS = 5
#: Spread of those who belong to no cluster, at least.
_STRANGERS = 0.04


def attach(others: Evidence, fitted: Fitted, trust: float) -> Others:
    """Let others join clusters of one's own users where they fit.

    Others who fit nowhere join a background cluster of strangers, as wide as all clusters together.
    Those who join are chosen by their fit, so they seem to confirm a cluster in any case. A centre
    that moves by as much as its precision allows gains d/2 in log-likelihood. So the prior odds are
    made smaller by that.

    Parameters
    ----------
    others
        What is known of m others.
    fitted
        Clusters of one's own users alone; left as it is.
    trust : float
        Prior odds that those who fit belong there, as a multiple of exp(-d/2). 0: others are
        ignored.
    """
    k, d = fitted.mixture.centre.shape
    if trust == 0.0:
        others = Evidence(*(field[:0] for field in others))
    theirs = np.zeros((len(others.score), k + 1))
    share = np.append(0.5 * fitted.mixture.share, 0.5)
    for _ in range(_ROUNDS if len(theirs) else 0):
        memberships(others, _with_strangers(fitted.mixture, share), theirs)
        share = (theirs.sum(axis=0) + 0.5) / (len(theirs) + 0.5 * (k + 1))
    log_odds = math.log(trust) - 0.5 * d if trust > 0.0 else -math.inf
    return Others(others, np.ascontiguousarray(theirs[:, :k]), log_odds)


def _with_strangers(mixture: Mixture, share: Floats) -> Mixture:
    """Return the clusters and a background of all of them."""
    middle = mixture.share @ mixture.centre
    between = mixture.share @ ((mixture.centre - middle) ** 2).sum(axis=1) / middle.size
    spread = max(_STRANGERS, float(between + mixture.share @ mixture.spread))
    return Mixture(
        np.concatenate([mixture.centre, middle[None]]), np.append(mixture.spread, spread), share,
        np.concatenate([mixture.precision, mixture.precision[:1]]),
    )  # fmt: skip
