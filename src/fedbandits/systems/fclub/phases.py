"""A server's work at a phase's end, for both drivers alike: it releases, then it learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.clustering import Fitted, attach, fit_mixture
from fedbandits.learners.kernels.evidence import (
    Evidence,
    Mixture,
    Spectrum,
    decompose,
    read_evidence,
    reward_variance,
    stack,
)
from fedbandits.learners.kernels.likeness import Estimates, averaged
from fedbandits.learners.kernels.linucb import Models
from fedbandits.systems.fclub.plan import CLUSTERS, REWARD_VARIANCE, USERS, FCLUBPlan

#: Exact rows (rows, p) to what leaves in their place. Called once a release.
ReleaseRows = Callable[[Floats], Floats]


class Ready(NamedTuple):
    """A server's knowledge of its own users when it has released, and others can be heard."""

    own: Evidence
    fitted: Fitted  # their clusters
    variance: float  # of rewards about their means


class Known(NamedTuple):
    """A server's knowledge of its users after a phase."""

    estimates: Estimates
    cluster_of: Ints  # (users,)
    mixture: Mixture  # of its own users alone: where the next phase begins


def released_sums(sums: Floats, shared: Floats) -> Floats:
    """Return the sums that a release is made of: those of the records that count, or of all."""
    return shared if len(shared) else sums


def make_release(
    plan: FCLUBPlan, sums: Floats, before: Floats, cluster_of: Ints, release_rows: ReleaseRows
) -> Floats:
    """Return what a server tells the others, (rows, p).

    It is made by addition alone, before clusters are found: how long that takes depends on the
    data, and the release must not wait for it. The noise must be saved before the release leaves.

    Parameters
    ----------
    sums : (users, p + 2) float64
        Exact sums of the server's users, of records that count; the last two columns stay here.
    before : (users, p + 2) float64
        Those of the last release, where only what is new is released; becomes ``sums``.
    cluster_of : (users,) int64
        Clusters of the last phase: sums of clusters are of these. At first all are in one.
    """
    statistics = np.ascontiguousarray(sums[:, : plan.size])
    if plan.releases == USERS or not plan.constants.raw_view:  # a lone server acts on them itself
        return release_rows(statistics)
    if plan.releases == CLUSTERS:
        fresh = (sums - before)[:, : plan.size]
        members = [cluster_of == name for name in np.unique(cluster_of)]
        rows = release_rows(np.stack([fresh[own].sum(axis=0) for own in members]))
        before[:] = sums
        return rows
    return statistics[:0]


def find_clusters(
    plan: FCLUBPlan, number: int, sums: Floats, rows: Floats, start: Mixture
) -> Ready:
    """Find clusters of a server's own users, after its release has left.

    A server with a raw view looks at the exact ``sums`` (users, p + 2) of its users. One with a
    released view looks at its release alone: its ``number``, from 1, and its ``rows`` (rows, p).
    The search begins with ``start``, the clusters of the last phase.
    """
    if plan.constants.raw_view:
        spectrum = decompose(np.ascontiguousarray(sums[:, : plan.size]))
        variance = reward_variance(spectrum, sums[:, -2], sums[:, -1], REWARD_VARIANCE)
        own = read_evidence(spectrum, variance, 0.0, 0.0)
    else:
        variance = REWARD_VARIANCE
        own = _read(plan, number, decompose(rows), variance)
    fitted = fit_mixture(own, start, plan.config.strictness, plan.most_clusters)
    return Ready(own, fitted, variance)


def _read(plan: FCLUBPlan, number: int, spectrum: Spectrum, variance: float) -> Evidence:
    """Return the evidence in released sums, where rewards have so much variance."""
    noise = plan.noise_variance(number)
    return read_evidence(spectrum, variance, noise, plan.reach * noise)


def learn_from(plan: FCLUBPlan, number: int, ready: Ready, others: Spectrum) -> Known:
    """Learn what a server knows of its users, given what the other servers released.

    Others tell the newest running sums of their users, release ``number``, or all sums of clusters
    so far; nothing at all where nothing is released.
    """
    return _join(plan, ready, _read(plan, number, others, ready.variance))


def learn_from_each(plan: FCLUBPlan, ready: Ready, others: Sequence[tuple[int, Floats]]) -> Known:
    """Learn from newest releases that are not all the same one: each has its own noise.

    ``others`` are the number of the newest release of each server, and its rows (rows, p).
    """
    told = [
        _read(plan, number, decompose(rows), ready.variance) for number, rows in others if number
    ]
    nothing = _read(plan, 1, decompose(np.zeros((0, plan.size))), ready.variance)
    return _join(plan, ready, stack(Evidence, [nothing, *told]))


def _join(plan: FCLUBPlan, ready: Ready, told: Evidence) -> Known:
    fitted = ready.fitted
    others = attach(told, fitted, plan.config.trust)
    estimates = averaged(ready.own, fitted.member, others, plan.prior_variance)
    likeliest = fitted.member.argmax(axis=1).astype(np.int64)
    return Known(estimates, likeliest, fitted.mixture)


def begin_phase(models: Models, users: Ints, known: Estimates, variance: float) -> None:
    """Begin a phase with what is known of users, as a prior worth so many records."""
    models.theta[users] = known.mean
    models.inverse[users] = known.covariance / variance
