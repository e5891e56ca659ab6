"""Knowledge of servers in a run, and the work at a phase's end, for both drivers alike.

A run's state is named tuples of arrays: saving them is saving the run. At the end of a phase a
server releases; then it learns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import F64, Memory, Needs
from fedbandits.learners.clustering import Fitted, attach, fit_mixture, one_cluster
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
from fedbandits.systems.fclub.kernels import Mixtures, Releases, State
from fedbandits.systems.fclub.plan import CLUSTERS, REWARD_VARIANCE, USERS, FCLUBPlan
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.kernels import new_clock


def prior_models(plan: FCLUBPlan, users: int) -> Models:
    """Return the models of users before the first record."""
    dimension = plan.constants.dimension
    start = plan.prior_variance / REWARD_VARIANCE * np.eye(dimension)
    return Models(
        inverse=np.tile(start, (users, 1, 1)),
        theta=np.zeros((users, dimension)),
        log_det=np.zeros(users),
        records=np.zeros(users),
    )


def counting_users(plan: FCLUBPlan, users: int) -> int:
    """Return the number of users with counted records: 0 where all records count."""
    return users if plan.constants.records_per_person else 0


def initial_state(plan: FCLUBPlan) -> State:
    """Return the state before the first round."""
    constants, p = plan.constants, plan.size
    n, d, servers = constants.users, constants.dimension, constants.servers
    most = min(plan.most_clusters, n)
    mixtures = Mixtures(
        np.ones(servers, np.int64), np.zeros((servers, most, d)), np.zeros((servers, most)),
        np.zeros((servers, most)), np.zeros((servers, most, d, d)),
    )  # fmt: skip
    for server in range(servers):
        put_mixture(mixtures, server, one_cluster(d))
    by_cluster = plan.releases == CLUSTERS
    return State(
        clock=new_clock(),
        tally=Tally(np.zeros(n), np.zeros(n)),
        sums=np.zeros((n, p + 2)),
        models=prior_models(plan, n),
        cluster_of=np.zeros(n, np.int64),
        mixtures=mixtures,
        releases=Releases(
            draws=np.zeros((n, plan.slots, p)),
            before=np.zeros((n if by_cluster else 0, p + 2)),
            rows=np.zeros((servers, most * plan.release_count if by_cluster else 0, p)),
            shared=np.zeros((counting_users(plan, n), p + 2)),
            filled=np.zeros(servers, np.int64),
        ),
    )


def mixture_of(mixtures: Mixtures, server: int) -> Mixture:
    """Return a server's clusters."""
    count = mixtures.number[server]
    return Mixture(*(field[server, :count].copy() for field in mixtures[1:]))


def put_mixture(mixtures: Mixtures, server: int, mixture: Mixture) -> None:
    """Keep a server's clusters."""
    count = len(mixture.share)
    mixtures.number[server] = count
    for field, values in zip(mixtures[1:], mixture, strict=True):
        field[server, :count], field[server, count:] = values, 0.0


def needs(plan: FCLUBPlan) -> Needs:
    """Estimate what :func:`initial_state` will take, and the rounds and phases after it."""
    constants, p = plan.constants, plan.size
    n, d, servers = constants.users, constants.dimension, constants.servers
    slots = plan.slots
    rows = plan.release_count if plan.releases == CLUSTERS else 0
    counted = 2 if constants.records_per_person else 1
    users, model = "environment.users or environment.dim", d * d + d + 2
    mixtures = servers * min(plan.most_clusters, n)
    parts = (
        Memory("records of users, added up", n * (p + 2) * F64 * counted, users),
        Memory("models of users", n * model * F64, users),
        Memory("clusters of servers", mixtures * model * F64, "environment.servers"),
        Memory(
            "noise that is kept for later releases",
            n * slots * p * F64,
            f"{users}, or sync less",
        ),
        Memory("sums of clusters", mixtures * rows * p * F64, f"{users}, or sync less"),
    )
    phases = len(constants.phase_ends)
    choose = 0.5 * d * d * constants.items + 6.0 * d * d
    return Needs(parts, plan.rounds * choose + phases * n * (100.0 * d**3 + (20.0 + slots) * p))


#: From exact rows (rows, p) to released rows. Called once a release.
ReleaseRows = Callable[[Floats], Floats]


class Ready(NamedTuple):
    """A server's knowledge of its own users after its release, before it reads others' releases."""

    own: Evidence
    fitted: Fitted  # their clusters
    variance: float  # of rewards about their means


class Known(NamedTuple):
    """A server's knowledge of its users after a phase."""

    estimates: Estimates
    cluster_of: Ints  # (users,)
    mixture: Mixture  # of its own users alone: where the next phase begins


def released_sums(sums: Floats, shared: Floats) -> Floats:
    """Return the sums of a release: of the records that count, or of all records."""
    return shared if len(shared) else sums


def make_release(
    plan: FCLUBPlan, sums: Floats, before: Floats, cluster_of: Ints, release_rows: ReleaseRows
) -> Floats:
    """Return a server's release to the others, (rows, p).

    A release is made by addition alone, before clusters are found: the time of finding clusters
    depends on data, and the release must not wait for it. The noise must be saved before the
    release leaves.

    Parameters
    ----------
    sums : (users, p + 2) float64
        Exact sums of the server's users, of records that count; the last two columns stay here.
    before : (users, p + 2) float64
        The sums of the last release, where only new records are released; becomes ``sums``.
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
    """Return a server's knowledge of its users, with the releases of the other servers.

    Others tell the newest running sums of their users, release ``number``, or all sums of clusters
    so far; nothing at all where nothing is released.
    """
    return _join(plan, ready, _read(plan, number, others, ready.variance))


def learn_from_each(plan: FCLUBPlan, ready: Ready, others: Sequence[tuple[int, Floats]]) -> Known:
    """Learn from newest releases that are not all the same one: each has its own noise.

    ``others`` are the number of the newest release of each server, and its rows (rows, p).
    """
    evidence = [
        _read(plan, number, decompose(rows), ready.variance) for number, rows in others if number
    ]
    nothing = _read(plan, 1, decompose(np.zeros((0, plan.size))), ready.variance)
    return _join(plan, ready, stack(Evidence, [nothing, *evidence]))


def _join(plan: FCLUBPlan, ready: Ready, released: Evidence) -> Known:
    fitted = ready.fitted
    others = attach(released, fitted, plan.config.trust)
    estimates = averaged(ready.own, fitted.member, others, plan.prior_variance)
    likeliest = fitted.member.argmax(axis=1).astype(np.int64)
    return Known(estimates, likeliest, fitted.mixture)


def begin_phase(models: Models, users: Ints, known: Estimates, variance: float) -> None:
    """Begin a phase with the knowledge of users as a prior, worth its number of records."""
    models.theta[users] = known.mean
    models.inverse[users] = known.covariance / variance
