"""How the global server of FCLUB merges clusters (Algorithm 2, lines 7 to 12). For both drivers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.errors import FedbanditsError
from fedbandits.learners.clustering import components
from fedbandits.learners.kernels.clustering import connect_same
from fedbandits.learners.kernels.ridge import factorise
from fedbandits.systems.fclub_published.kernels.regroup import cluster_sums, estimates_of
from fedbandits.systems.fclub_published.kernels.state import DELAYED, Constants, Hub


class NotARecordsSumError(FedbanditsError):
    """A sum of outer products, noise included, that is not positive definite."""


def clusters_of(labels: Ints) -> Ints:
    """The names of all clusters, in order."""
    names: Ints = np.unique(labels)
    return names


def merge_clusters(constants: Constants, reports: Floats, servers: Ints, alone: bool) -> Ints:
    """Which reported clusters are the same (equation 4), directly or through others.

    Parameters
    ----------
    reports : (clusters, p + 1) float64
    servers : (clusters,) int64
        Number of the server that reported each cluster.
    alone : bool
        Whether these same clusters stood alone in the last phase: nobody shared with anybody.

    Returns
    -------
    (clusters,) int64
        For each the lowest place among those it is the same as.
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
    names: Ints  # of the local clusters
    renewed: bool  # whether they do
    totals: Floats  # (groups, p + 1)
    known: Floats  # (clusters, p + 1)


def propose(
    constants: Constants, hub: Hub, home: Ints, heard: Bools, labels: Ints, reports: Floats,
    first: bool,
) -> Proposal:  # fmt: skip
    """Merge what servers reported; where that changes the partition, begin anew from the reports.

    As the authors merge, every cluster begins anew in any case: from the sum of all reports where
    the partition changed, else from its own report.

    Parameters
    ----------
    home : (users,) int64
    heard : (users,) bool
        Whose servers have ever reported: the others are in no cluster.
    labels : (users,) int64
        The local cluster of each user, as reported.
    reports : (users, p + 1) float64
        Sums of the clusters, in rows of their names.
    first : bool
        Whether all must begin anew, as in the first phase.

    Raises
    ------
    FedbanditsError
        If a sum is not one of records.
    """
    names = clusters_of(labels[heard])
    group_of = np.full(len(labels), -1, np.int64)
    kept = np.array_equal(labels, hub.cluster_of)
    alone = kept and np.array_equal(hub.group_of[names], names)
    group_of[names] = names[merge_clusters(constants, reports[names], home[names], alone)]
    renewed = first or not (kept and np.array_equal(group_of, hub.group_of))
    if not renewed and not constants.own_merging:
        return Proposal(labels, group_of, names, False, reports, reports)
    totals = np.zeros_like(reports)
    cluster_sums(reports[names], group_of[names], totals)
    factor = np.zeros((constants.dimension, constants.dimension))
    for group in clusters_of(group_of[names]):
        if math.isnan(factorise(totals[group], constants.ridge, factor)):
            raise NotARecordsSumError("the noise left a sum that is not positive definite")
    known = totals[group_of] if renewed else reports
    return Proposal(labels, group_of, names, renewed, totals, known)


def adopt(constants: Constants, hub: Hub, home: Ints, proposal: Proposal) -> None:
    """Go by a proposal from now on."""
    labels, group_of, names, renewed, totals, known = proposal
    if not renewed and not constants.own_merging:
        return
    factor = np.zeros((constants.dimension, constants.dimension))
    hub.cluster_of[:], hub.group_of[:] = labels, group_of
    hub.twice[0] = constants.own_merging and renewed
    hub.audience[:] = 0
    for group in clusters_of(group_of[names]):
        hub.audience[group] = len(np.unique(home[names[group_of[names] == group]]))
    if constants.sharing == DELAYED:
        hub.total[:], hub.waiting[:], hub.due[:] = totals, 0.0, 0
        hub.known[:], hub.log_det[:] = 0.0, 0.0
        for name in names:
            hub.known[name] = known[name]
            hub.log_det[name] = factorise(hub.known[name], constants.ridge, factor)
