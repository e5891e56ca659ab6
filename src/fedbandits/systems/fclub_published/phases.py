"""What happens when a phase begins, for the loop and the parties alike.

Users are in rows, and so are the clusters that carry their names. The parties call these functions
for one server's rows, the loop for all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.clustering import components
from fedbandits.learners.kernels.clustering import Edges, delete_edges
from fedbandits.systems.fclub_published.kernels.exchange import (
    AT_RENEWAL,
    FOR_REPORT,
    begin_buffer,
    new_tree,
    noise_slot,
    take_noise,
    take_report_noise,
)
from fedbandits.systems.fclub_published.kernels.models import settle
from fedbandits.systems.fclub_published.kernels.regroup import cluster_sums, estimates_of
from fedbandits.systems.fclub_published.kernels.state import DELAYED, Constants, Hub, Local
from fedbandits.systems.fclub_published.merging import adopt, clusters_of, propose

#: Standard normals of a cluster's next release, (p,): ``(cluster, what for)``.
DrawNoise = Callable[[int, int], Floats]


def split_users(constants: Constants, sums: Floats, edges: Edges) -> Ints:
    """Delete edges between one server's users (equation 3); the clusters that are left.

    Parameters
    ----------
    sums : (users, p + 1) float64
    edges : (users, users) uint8
        Which users count as alike: 1 for an edge. Edges are deleted in place.

    Returns
    -------
    (users,) int64
        For each user the lowest row of its cluster.
    """
    estimates = estimates_of(sums, constants.edge_ridge)
    delete_edges(estimates, np.ascontiguousarray(sums[:, -1]), constants.alpha1, edges)
    return components(edges)


def take_over(constants: Constants, local: Local, labels: Ints) -> bool:
    """Take over new clusters. Those whose users changed begin a new tree, the others keep theirs.

    Parameters
    ----------
    labels : (users,) int64
        For each user the lowest row of its cluster.

    Returns
    -------
    bool
        Whether the users of some cluster changed.
    """
    changed = new_clusters(local, labels)
    if constants.private:
        for cluster in changed:
            new_tree(local, cluster)
    local.cluster_of[:] = labels
    return bool(changed)


def new_clusters(local: Local, labels: Ints) -> list[int]:
    """The clusters whose users are not those that a cluster of that name has now."""
    return [
        int(cluster)
        for cluster in clusters_of(labels)
        if not np.array_equal(labels == cluster, local.cluster_of == cluster)
    ]


def report(constants: Constants, local: Local, draw: DrawNoise) -> Floats:
    """The sums of all clusters, as they leave their servers, in rows of their names.

    With published noise each is shifted by 2ρ and carries the next perturbation of its cluster's
    tree.
    """
    sums = own_sums(local)
    if constants.private:
        diagonal = np.cumsum([0, *range(constants.dimension, 1, -1)])
        for cluster in clusters_of(local.cluster_of).tolist():
            local.trees.draws[cluster, noise_slot(local, cluster)] = draw(cluster, FOR_REPORT)
            take_report_noise(constants, local, cluster)
            sums[cluster, :-1] += local.trees.coming[cluster]
            sums[cluster, diagonal] += 2.0 * constants.shift
    return sums


def own_sums(local: Local) -> Floats:
    """Raw sums of every cluster's own users, in rows of the clusters' names."""
    return sums_of(local, local.cluster_of)


def sums_of(local: Local, labels: Ints) -> Floats:
    """The same of clusters that users would be in."""
    sums = np.zeros_like(local.sums)
    cluster_sums(local.sums, labels, sums)
    return sums


def regroup(
    constants: Constants, hub: Hub, home: Ints, labels: Ints, reports: Floats, first: bool
) -> bool:
    """Merge what servers reported, and begin anew where that is due; see :func:`propose`.

    Returns
    -------
    bool
        Whether the partition changed (Algorithm 2, line 8).
    """
    everybody = np.ones(len(home), np.bool_)
    proposal = propose(constants, hub, home, everybody, labels, reports, first)
    adopt(constants, hub, home, proposal)
    return proposal.renewed


def totals_of(constants: Constants, hub: Hub, reports: Floats) -> Floats:
    """What every global cluster knows after a renewal, in rows of their names."""
    if constants.sharing == DELAYED:
        return hub.total
    totals = np.zeros_like(reports)
    names = clusters_of(hub.cluster_of)
    cluster_sums(reports[names], hub.group_of[names], totals)
    return totals


def partners_of(hub: Hub, group: int) -> int:
    """Local clusters in a global one: L' of Lemma 1."""
    return int(np.count_nonzero(hub.group_of == group))


def renew(
    constants: Constants,
    local: Local,
    cluster: int,
    total: Floats,
    partners: int,
    draw: DrawNoise | None,
) -> None:
    """Begin anew with what a global cluster knows (Algorithm 2, lines 13 to 16).

    Without ``draw`` the buffer gets its noise when it leaves: see :mod:`.covered_trees`.
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


def begin_alone(
    constants: Constants, local: Local, draw: DrawNoise | None, sums: Floats | None = None
) -> None:
    """Begin every cluster anew with its own users' records, as the authors' code does.

    Parameters
    ----------
    sums : (users, p + 1) float64, optional
        Those that were reported; by default those that there are now.
    """
    sums = own_sums(local) if sums is None else sums
    for cluster in clusters_of(local.cluster_of).tolist():
        partners = int(local.partners[local.model_of[cluster]])
        renew(constants, local, cluster, sums[cluster], partners, draw)
    local.twice[0] = 0


def learn_alone(constants: Constants, local: Local, labels: Ints) -> None:
    """Take over new clusters that share with nobody, with models of their users' sums."""
    before = local.cluster_of.copy()
    local.cluster_of[:], local.model_of[:] = labels, labels
    sums = own_sums(local)
    factor = np.zeros((constants.dimension, constants.dimension))
    for cluster in clusters_of(labels):
        if not np.array_equal(labels == cluster, before == cluster):
            settle(local.models, int(cluster), sums[cluster], constants.ridge, factor)
