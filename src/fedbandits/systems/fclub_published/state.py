"""Knowledge of servers in a run, and the beginning of a phase, for the loop and the parties alike.

A local cluster is named by its lowest user, a global cluster by its lowest local cluster. Numbers
of a cluster stand in the row of its name: no variant ever has more clusters than users. Sums are
packed (see :mod:`.learners.kernels.ridge`), with the number of records behind them as last
entry: a row of d (d + 3) / 2 + 1 numbers.

When a phase begins, users split, clusters merge, and trees begin. The parties call these functions
for one server's rows, the loop for all of them. The global server merges clusters (Algorithm 2,
lines 7 to 12).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.environments.base import F64, Memory, Needs
from fedbandits.errors import FedbanditsError
from fedbandits.learners.clustering import components
from fedbandits.learners.kernels.clustering import Edges, connect_same, delete_edges
from fedbandits.learners.kernels.linucb import Models
from fedbandits.learners.kernels.ridge import factorise
from fedbandits.systems.fclub_published.kernels.rounds import (
    begin_buffer,
    new_tree,
)
from fedbandits.systems.fclub_published.kernels.servers import (
    ALONE,
    ALWAYS,
    DELAYED,
    EDGES,
    NEVER,
    PHASED,
    SETS,
    TOGETHER,
    Constants,
    GlobalClusters,
    Local,
    SetNotes,
    State,
    Trees,
    cluster_sums,
    estimates_of,
    settle,
)
from fedbandits.systems.fclub_published.noise import ClusterNoise
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.kernels import new_clock

#: A named tuple of arrays, or of such tuples.
AnyArrays = TypeVar("AnyArrays", bound=tuple[Any, ...])


def _empty_models(rows: int, d: int, ridge: float) -> Models:
    return Models(
        inverse=np.tile(np.eye(d) / ridge if ridge > 0.0 else np.zeros((d, d)), (rows, 1, 1)),
        theta=np.zeros((rows, d)),
        log_det=_empty_log_det(rows, d, ridge),
        records=np.zeros(rows),
    )


def _empty_log_det(rows: int, d: int, ridge: float) -> Floats:
    """Return ln det λI, or 0 where there is no λ, (rows,)."""
    return np.full(rows, d * np.log(ridge) if ridge > 0.0 else 0.0)


def _one_cluster_each(home: Ints) -> Ints:
    """Return the cluster of each user, (users,): all users of a server are one cluster."""
    _, first, inverse = np.unique(home, return_index=True, return_inverse=True)
    clusters: Ints = first[inverse].astype(np.int64)
    return clusters


def empty_local(plan: PublishedFCLUBPlan, home: Ints) -> Local:
    """Return servers before the first round: users of a server are together, or alone.

    ``home`` (users,) has the server of each user.
    """
    constants, n = plan.constants, len(home)
    d, size = constants.dimension, plan.size + 1
    alone = constants.clustering == ALONE
    clusters = np.arange(n, dtype=np.int64) if alone else _one_cluster_each(home)
    one_model = constants.clustering == TOGETHER and constants.sharing == ALWAYS
    delayed = n if constants.sharing == DELAYED else 0
    graph = n if constants.clustering in (PHASED, EDGES) else 0
    sets = n if constants.clustering == SETS else 0
    return Local(
        home=home.copy(),
        sums=np.zeros((n, size)),
        cluster_of=clusters.copy(),
        model_of=np.zeros(n, np.int64) if one_model else clusters.copy(),
        partners=np.full(n, constants.servers if constants.clustering == TOGETHER else 1, np.int64),
        models=_empty_models(n, d, constants.ridge),
        acting=_empty_models(0 if constants.buffered else n, d, constants.ridge),
        stale=np.zeros(n, np.uint8),
        shared=np.zeros((delayed, size)),
        base_log_det=_empty_log_det(delayed, d, constants.ridge),
        buffer=np.zeros((delayed, size)),
        edges=(home[:graph, None] == home[None, :graph]).astype(np.uint8)
        * (1 - np.eye(graph, dtype=np.uint8)),
        own=_empty_models(
            n if constants.clustering in (EDGES, SETS) else 0, d, constants.edge_ridge
        ),
        sets=_empty_sets(clusters[:sets], d),
        trees=_empty_trees(plan, n if plan.private else 0),
        twice=np.zeros(1, np.uint8),
    )


def row_of(local: Local, row: int) -> Local:
    """Return one cluster as the only row: copies of its models, and views of its sums and buffer.

    Changes of models reach ``local`` by :func:`put_row`; changes of sums and buffer at once.
    """
    at = slice(row, row + 1)
    return local._replace(
        models=Models(*(field[at].copy() for field in local.models)),
        acting=Models(*(field[at].copy() for field in local.acting)), stale=local.stale[at].copy(),
        shared=local.shared[at], base_log_det=local.base_log_det[at].copy(),
        buffer=local.buffer[at],
    )  # fmt: skip


def put_row(local: Local, row: int, one: Local) -> None:
    """Take over the models of :func:`row_of`."""
    for models, changed in ((local.models, one.models), (local.acting, one.acting)):
        for field, value in zip(models, changed, strict=True):
            field[row : row + 1] = value
    local.stale[row], local.base_log_det[row] = one.stale[0], one.base_log_det[0]


def _empty_sets(clusters: Ints, d: int) -> SetNotes:
    n = len(clusters)
    size = np.bincount(clusters, minlength=n).astype(np.int64)
    return SetNotes(np.zeros(n, np.uint8), size, size.copy(), np.zeros((n, d)), np.zeros(n))


def _empty_trees(plan: PublishedFCLUBPlan, n: int) -> Trees:
    return Trees(
        draws=np.zeros((n, plan.slots, plan.size)), releases=np.zeros(n, np.int64),
        uploads=np.zeros(n, np.int64), held=np.zeros((n, plan.size)),
        coming=np.zeros((n, plan.size)),
    )  # fmt: skip


def empty_hub(plan: PublishedFCLUBPlan) -> GlobalClusters:
    """Return the global server before the first round: a cluster a server, all in a group."""
    constants, home = plan.constants, plan.home
    n, size, d = len(home), plan.size + 1, constants.dimension
    rows = n if constants.sharing == DELAYED else 0
    clusters = _one_cluster_each(home)
    group_of, audience = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    if constants.sharing != NEVER:
        group_of[clusters] = 0
        audience[0] = constants.servers
    return GlobalClusters(
        cluster_of=clusters, group_of=group_of, audience=audience,
        known=np.zeros((rows, size)), log_det=_empty_log_det(rows, d, constants.ridge),
        waiting=np.zeros((rows, size)), total=np.zeros((rows, size)), due=np.zeros(rows, np.uint8),
        twice=np.zeros(1, np.uint8),
    )  # fmt: skip


def initial_state(plan: PublishedFCLUBPlan) -> State:
    """Return the state before anything happened."""
    n = plan.constants.users
    return State(
        clock=new_clock(),
        tally=Tally(np.zeros(n), np.zeros(n)),
        local=empty_local(plan, plan.home),
        hub=empty_hub(plan),
    )


def needs(plan: PublishedFCLUBPlan) -> Needs:
    """Estimate what :func:`initial_state` will take, and the rounds and phases after it."""
    constants, d = plan.constants, plan.constants.dimension
    n, size = constants.users, plan.size + 1
    delayed = 5 if constants.sharing == DELAYED else 0
    models = 1 + (not constants.buffered) + (constants.clustering in (EDGES, SETS))
    graph = n * n if constants.clustering in (PHASED, EDGES) else 0
    noise = n * (plan.slots + 2) * (size - 1) if plan.private else 0
    users = "environment.users or environment.dim"
    parts = (
        Memory("records of users and clusters, added up", (1 + delayed) * n * size * F64, users),
        Memory("models of users and clusters", models * n * (d * d + d + 2) * F64, users),
        Memory("who is linked to whom", float(graph), "environment.users"),
        Memory("noise that is kept for later releases", noise * F64, users),
    )
    choose = 0.5 * d * d * constants.items + 6.0 * d * d + (n if graph else 0)
    phases = min(len(constants.phase_ends), plan.rounds) * (10.0 * n * d**3 + graph * d)
    return Needs(parts, plan.rounds * (choose + 10.0 * d**3) + phases)


class NotARecordsSumError(FedbanditsError):
    """A sum of outer products, noise included, that is not positive definite."""


def clusters_of(labels: Ints) -> Ints:
    """Return the names of all clusters, in order."""
    clusters: Ints = np.unique(labels)
    return clusters


def log_det(constants: Constants, row: Floats) -> float:
    """Return ln det(λI + S) of a sum (p + 1,); NaN if no records have such a sum."""
    factor = np.zeros((constants.dimension, constants.dimension))
    return float(factorise(row, constants.ridge, factor))


def is_no_sum(constants: Constants, row: Floats) -> bool:
    """Tell whether a row (p + 1,) cannot be a sum of records."""
    return math.isnan(log_det(constants, row))


def split_users(constants: Constants, sums: Floats, edges: Edges) -> Ints:
    """Delete edges between a server's users (equation 3); return the remaining clusters.

    Sums are (users, p + 1). Edges (users, users) are 1 between users that count as alike, and are
    deleted in place. A cluster is named by its lowest row, (users,).
    """
    estimates = estimates_of(sums, constants.edge_ridge)
    delete_edges(estimates, np.ascontiguousarray(sums[:, -1]), constants.alpha1, edges)
    return components(edges)


def new_clusters(local: Local, labels: Ints) -> list[int]:
    """Return clusters with other users than the present cluster of the same name."""
    return [
        int(cluster)
        for cluster in clusters_of(labels)
        if not np.array_equal(labels == cluster, local.cluster_of == cluster)
    ]


def report(
    plan: PublishedFCLUBPlan, local: Local, labels: Ints, noise: ClusterNoise
) -> tuple[Floats, Floats]:
    """Take over new clusters, ``labels`` (users,), and report their sums (Algorithm 2, line 4).

    A cluster is named by its lowest row. Clusters whose users changed begin a new tree, the others
    keep theirs.

    Returns
    -------
    exact, reported : (users, p + 1) float64
        The sums of clusters, in rows of their names; and the sums as they leave their servers, with
        published noise shifted by 2ρ.
    """
    clusters, new = clusters_of(labels), new_clusters(local, labels)
    local.cluster_of[:] = labels
    exact = sums_of(local, labels)
    reported = exact.copy()
    if plan.private:
        for cluster in new:
            new_tree(local, cluster)
        noise.report(reported, clusters, new)
        reported[clusters, :-1] += plan.shift(2.0)
    return exact, reported


def sums_of(local: Local, labels: Ints) -> Floats:
    """Return raw sums of the clusters ``labels`` (users,), in rows of the clusters' names."""
    sums = np.zeros_like(local.sums)
    cluster_sums(local.sums, labels, sums)
    return sums


class Renewal(NamedTuple):
    """The global clusters with which some local clusters begin anew."""

    groups: Ints  # (clusters,) the global clusters
    partners: Ints  # (clusters,) L' of Lemma 1: the local clusters in the global one
    sums: Floats  # (clusters, p + 1) the sums of the global clusters


def renew(
    plan: PublishedFCLUBPlan, local: Local, renewal: Renewal, rows: Ints, noise: ClusterNoise
) -> None:
    """Begin all clusters anew with the sums of global clusters (Algorithm 2, lines 13 to 16).

    ``rows`` (clusters,) has the rows of the models that recommend to the clusters' users.
    """
    constants, clusters = plan.constants, clusters_of(local.cluster_of)
    local.model_of[:] = rows[np.searchsorted(clusters, local.cluster_of)]
    local.partners[rows] = renewal.partners
    local.twice[0] = constants.own_merging
    if constants.sharing == DELAYED:
        noise.renew(clusters)
        _begin_buffers(constants, local, clusters, renewal.sums)
        return
    factor = np.zeros((constants.dimension, constants.dimension))
    for row, total in zip(rows.tolist(), renewal.sums, strict=True):
        settle(local.models, row, total, constants.ridge, factor)


def begin_alone(plan: PublishedFCLUBPlan, local: Local, reported: Floats) -> None:
    """Begin every cluster anew with its own users' records, as the authors' code does.

    Sums of these records were ``reported``, (users, p + 1), in rows of the clusters' names.
    """
    clusters = clusters_of(local.cluster_of)
    local.twice[0] = 0
    _begin_buffers(plan.constants, local, clusters, reported[clusters])


def _begin_buffers(constants: Constants, local: Local, clusters: Ints, sums: Floats) -> None:
    """Begin the upload buffers of clusters that know ``sums`` (clusters, p + 1)."""
    local.shared[clusters], local.stale[clusters] = sums, 1
    for cluster in clusters.tolist():
        begin_buffer(constants, local, cluster)


def learn_alone(constants: Constants, local: Local, labels: Ints) -> None:
    """Take over new clusters of a server that shares nothing, with models of their users' sums."""
    new, sums = new_clusters(local, labels), sums_of(local, labels)
    local.cluster_of[:], local.model_of[:] = labels, labels
    factor = np.zeros((constants.dimension, constants.dimension))
    for cluster in new:
        settle(local.models, cluster, sums[cluster], constants.ridge, factor)


def merge_clusters(constants: Constants, reports: Floats, servers: Ints, alone: bool) -> Ints:
    """Return the global cluster of every reported cluster, (clusters,), as its lowest member.

    Clusters that equation 4 finds to be the same are in one global cluster, and so are clusters
    that a chain of such pairs connects. As the authors merge (``own_merging``), every cluster stays
    alone if ``alone`` is true, or if equation 4 finds all pairs to be the same.

    Parameters
    ----------
    reports : (clusters, p + 1) float64
        The reported sums.
    servers : (clusters,) int64
        The reporting servers.
    alone : bool
        Whether the previous phase had the same clusters, and none shared with another.
    """
    edges = np.zeros((len(reports), len(reports)), np.uint8)
    counts = np.ascontiguousarray(reports[:, -1])
    estimates = estimates_of(reports, constants.merge_ridge)
    if not constants.own_merging:
        connect_same(estimates, counts, servers, constants.alpha2, edges)
        return components(edges)
    everyone = np.arange(len(reports))
    connect_same(estimates, counts, everyone, constants.alpha2, edges)
    all_pass = int(edges.sum()) == edges.size - len(edges)
    return everyone if alone or all_pass else components(edges)


class Proposal(NamedTuple):
    """Global clusters that may replace the present ones."""

    labels: Ints  # (users,)
    group_of: Ints  # (clusters,)
    clusters: Ints  # of the local clusters
    renewed: bool  # whether they replace the present ones
    totals: Floats  # (groups, p + 1)
    known: Floats  # (clusters, p + 1)


def propose(
    constants: Constants, hub: GlobalClusters, home: Ints, heard: Bools, labels: Ints,
    reports: Floats, first: bool,
) -> Proposal:  # fmt: skip
    """Return proposed global clusters: merged reports, and sums from which clusters begin anew.

    If the partition has changed, or in the first phase, the proposal is renewed: every cluster
    begins anew from the sum of its global cluster's reports. Otherwise the present clusters stay;
    only as the authors merge (``own_merging``), every cluster then begins anew from its own report.

    Parameters
    ----------
    heard : (users,) bool
        Users whose servers have ever reported: the others are in no cluster.
    labels : (users,) int64
        The local cluster of each user, as reported.
    reports : (users, p + 1) float64
        Sums of the clusters, in rows of their names.
    first : bool
        Whether every cluster begins anew in any case, as in the first phase.
    """
    clusters = clusters_of(labels[heard])
    group_of = np.full(len(labels), -1, np.int64)
    kept = np.array_equal(labels, hub.cluster_of)
    alone = kept and np.array_equal(hub.group_of[clusters], clusters)
    group_of[clusters] = clusters[
        merge_clusters(constants, reports[clusters], home[clusters], alone)
    ]
    renewed = first or not (kept and np.array_equal(group_of, hub.group_of))
    if not renewed and not constants.own_merging:
        return Proposal(labels, group_of, clusters, False, reports, reports)
    totals = np.zeros_like(reports)
    cluster_sums(reports[clusters], group_of[clusters], totals)
    if any(is_no_sum(constants, totals[group]) for group in clusters_of(group_of[clusters])):
        raise NotARecordsSumError("the noise left a sum that is not positive definite")
    known = totals[group_of] if renewed else reports
    return Proposal(labels, group_of, clusters, renewed, totals, known)


def adopt(constants: Constants, hub: GlobalClusters, home: Ints, proposal: Proposal) -> None:
    """Take over a proposal's global clusters, and the sums that their local clusters know.

    A proposal that is not renewed changes nothing, except as the authors merge.
    """
    labels, group_of, clusters, renewed, totals, known = proposal
    if not renewed and not constants.own_merging:
        return
    hub.cluster_of[:], hub.group_of[:] = labels, group_of
    hub.twice[0] = constants.own_merging and renewed
    hub.audience[:] = 0
    for group in clusters_of(group_of[clusters]):
        hub.audience[group] = len(np.unique(home[clusters[group_of[clusters] == group]]))
    if constants.sharing == DELAYED:
        hub.total[:], hub.waiting[:], hub.due[:] = totals, 0.0, 0
        hub.known[:], hub.log_det[:] = 0.0, 0.0
        for cluster in clusters:
            hub.known[cluster] = known[cluster]
            hub.log_det[cluster] = log_det(constants, known[cluster])


def renewal_of(hub: GlobalClusters, proposal: Proposal, clusters: Ints) -> Renewal:
    """Return the renewal of some local clusters, once a proposal is adopted."""
    groups = hub.group_of[clusters]
    partners = np.array([np.count_nonzero(hub.group_of == group) for group in groups], np.int64)
    return Renewal(groups, partners, proposal.totals[groups])


def copied(arrays: AnyArrays) -> AnyArrays:
    """Return a named tuple of arrays, or of such tuples, with copies of the arrays."""
    copies = (array.copy() if isinstance(array, np.ndarray) else copied(array) for array in arrays)
    return type(arrays)(*copies)
