"""Begin of a phase, for the loop and the parties alike: users split, clusters merge, trees begin.

Users are in rows, and so are the clusters that carry their names. The parties call these functions
for one server's rows, the loop for all of them. The global server merges clusters (Algorithm 2,
lines 7 to 12).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.errors import FedbanditsError
from fedbandits.learners.clustering import components
from fedbandits.learners.kernels.clustering import Edges, connect_same, delete_edges
from fedbandits.learners.kernels.ridge import factorise
from fedbandits.systems.fclub_published.kernels.exchange import (
    AT_RENEWAL,
    FOR_REPORT,
    begin_buffer,
    new_tree,
    noise_slot,
    take_noise,
    take_report_noise,
)
from fedbandits.systems.fclub_published.kernels.regroup import cluster_sums, estimates_of
from fedbandits.systems.fclub_published.kernels.servers import (
    DELAYED,
    Constants,
    GlobalClusters,
    Local,
    settle,
)

#: Standard normals of a cluster's next release, (p,): ``(cluster, what for)``.
DrawNoise = Callable[[int, int], Floats]


class NotARecordsSumError(FedbanditsError):
    """A sum of outer products, noise included, that is not positive definite."""


def clusters_of(labels: Ints) -> Ints:
    """Return the names of all clusters, in order."""
    clusters: Ints = np.unique(labels)
    return clusters


def log_det(constants: Constants, row: Floats) -> float:
    """Return ln det(λI + S) of a sum (p + 1,); NaN if it cannot be a sum of records."""
    factor = np.zeros((constants.dimension, constants.dimension))
    return float(factorise(row, constants.ridge, factor))


def is_no_sum(constants: Constants, row: Floats) -> bool:
    """Tell whether a row (p + 1,) cannot be a sum of records."""
    return math.isnan(log_det(constants, row))


def split_users(constants: Constants, sums: Floats, edges: Edges) -> Ints:
    """Delete edges between one server's users (equation 3); return the clusters that are left.

    Sums are (users, p + 1). Edges (users, users) are 1 between users who count as alike, and are
    deleted in place. A cluster is named by its lowest row, (users,).
    """
    estimates = estimates_of(sums, constants.edge_ridge)
    delete_edges(estimates, np.ascontiguousarray(sums[:, -1]), constants.alpha1, edges)
    return components(edges)


def take_over(constants: Constants, local: Local, labels: Ints) -> None:
    """Take over new clusters, ``labels`` (users,), each named by its lowest row.

    Those whose users changed begin a new tree, the others keep theirs.
    """
    if constants.private:
        for cluster in new_clusters(local, labels):
            new_tree(local, cluster)
    local.cluster_of[:] = labels


def new_clusters(local: Local, labels: Ints) -> list[int]:
    """Find clusters whose users are not those that a cluster of that name has now."""
    return [
        int(cluster)
        for cluster in clusters_of(labels)
        if not np.array_equal(labels == cluster, local.cluster_of == cluster)
    ]


def report_sums(constants: Constants, local: Local, draw: DrawNoise) -> Floats:
    """Return the sums of all clusters, as they leave their servers, in rows of their names.

    With published noise each is shifted by 2ρ and carries the next perturbation of its cluster's
    tree.
    """
    sums = sums_of(local, local.cluster_of)
    if constants.private:
        diagonal = np.cumsum([0, *range(constants.dimension, 1, -1)])
        for cluster in clusters_of(local.cluster_of).tolist():
            local.trees.draws[cluster, noise_slot(local, cluster)] = draw(cluster, FOR_REPORT)
            take_report_noise(constants, local, cluster)
            sums[cluster, :-1] += local.trees.coming[cluster]
            sums[cluster, diagonal] += 2.0 * constants.shift
    return sums


def sums_of(local: Local, labels: Ints) -> Floats:
    """Return raw sums of clusters that users would be in, in rows of the clusters' names."""
    sums = np.zeros_like(local.sums)
    cluster_sums(local.sums, labels, sums)
    return sums


def partners_of(hub: GlobalClusters, group: int) -> int:
    """Count the local clusters in a global one: L' of Lemma 1."""
    return int(np.count_nonzero(hub.group_of == group))


def renew(
    constants: Constants, local: Local, cluster: int, total: Floats, partners: int,
    draw: DrawNoise | None,
) -> None:  # fmt: skip
    """Begin anew with what a global cluster knows (Algorithm 2, lines 13 to 16).

    Without ``draw`` the buffer gets its noise when it leaves: see :mod:`.roles.noise`.
    """
    row = local.model_of[cluster]
    local.partners[row] = partners
    local.twice[0] = constants.own_merging
    if constants.sharing != DELAYED:
        settle(local.models, row, total, constants.ridge, np.zeros((constants.dimension,) * 2))
        return
    local.shared[cluster] = total
    if constants.private and draw is not None:
        local.trees.draws[cluster, noise_slot(local, cluster)] = draw(cluster, AT_RENEWAL)
        take_noise(constants, local, cluster)
    begin_buffer(constants, local, cluster)
    local.stale[cluster] = 1


def begin_alone(constants: Constants, local: Local, sums: Floats) -> None:
    """Begin every cluster anew with its own users' records, as the authors' code does.

    These are the ``sums`` (users, p + 1) that were reported, in rows of the clusters' names.
    """
    for cluster in clusters_of(local.cluster_of).tolist():
        partners = int(local.partners[local.model_of[cluster]])
        renew(constants, local, cluster, sums[cluster], partners, None)
    local.twice[0] = 0


def learn_alone(constants: Constants, local: Local, labels: Ints) -> None:
    """Take over new clusters that share with nobody, with models of their users' sums."""
    new, sums = new_clusters(local, labels), sums_of(local, labels)
    local.cluster_of[:], local.model_of[:] = labels, labels
    factor = np.zeros((constants.dimension, constants.dimension))
    for cluster in new:
        settle(local.models, cluster, sums[cluster], constants.ridge, factor)


def merge_clusters(constants: Constants, reports: Floats, servers: Ints, alone: bool) -> Ints:
    """Find for each reported cluster the lowest that is the same (equation 4), also through others.

    Reports are (clusters, p + 1), and servers, by which each was reported, (clusters,). ``alone``:
    in the last phase nobody of these same clusters shared with anybody.
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
    """Global clusters that may take the place of those there are."""

    labels: Ints  # (users,)
    group_of: Ints  # (clusters,)
    clusters: Ints  # of the local clusters
    renewed: bool  # whether they do
    totals: Floats  # (groups, p + 1)
    known: Floats  # (clusters, p + 1)


def propose(
    constants: Constants, hub: GlobalClusters, home: Ints, heard: Bools, labels: Ints,
    reports: Floats, first: bool,
) -> Proposal:  # fmt: skip
    """Merge what servers reported; where that changes the partition, begin anew from the reports.

    As the authors merge, every cluster begins anew in any case: from the sum of all reports where
    the partition changed, else from its own report.

    Parameters
    ----------
    heard : (users,) bool
        Whose servers have ever reported: the others are in no cluster.
    labels : (users,) int64
        The local cluster of each user, as reported.
    reports : (users, p + 1) float64
        Sums of the clusters, in rows of their names.
    first : bool
        Whether all must begin anew, as in the first phase.
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
    """Go by a proposal from now on."""
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
