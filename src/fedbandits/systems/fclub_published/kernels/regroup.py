"""Clusters that change from round to round: CLUB and SCLUB on every server. Compiled.

Only the user who arrived, and its cluster, are looked at.
"""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.clustering import (
    are_different,
    are_same,
    delete_edges_of,
    distance,
    error_bar,
    reach,
)
from fedbandits.learners.kernels.ridge import invert_statistic, packed_dimension
from fedbandits.systems.fclub_published.kernels.servers import Constants, Local, Scratch, settle


@compiled
def rename(constants: Constants, local: Local, cluster: int, scratch: Scratch) -> int:
    """Give a cluster its lowest user's name, which it returns, and a model of its users' sums.

    ``cluster`` is the number that its users carry, possibly none of theirs.
    """
    name = -1
    for i in range(scratch.row.size):
        scratch.row[i] = 0.0
    for user in range(local.cluster_of.size):
        if local.cluster_of[user] == cluster:
            name = user if name < 0 else name
            local.cluster_of[user] = name
            local.model_of[user] = name
            for i in range(scratch.row.size):
                scratch.row[i] += local.sums[user, i]
    settle(local.models, name, scratch.row, constants.ridge, scratch.factor)
    return name


@compiled
def check_edges(constants: Constants, local: Local, user: int, scratch: Scratch) -> None:
    """Delete the user's edges, and split what falls apart (CLUB, Gentile et al. 2014, Figure 1)."""
    own = local.own
    if delete_edges_of(user, own.theta, own.records, constants.alpha1, local.edges) == 0:
        return
    # Users whose part is known carry a number beyond all users until it is named.
    cluster, users = local.cluster_of[user], local.cluster_of.size
    parts = 0
    for member in range(users):
        if local.cluster_of[member] == cluster:
            count = reach(member, local.edges, scratch.found, scratch.seen)
            for place in range(count):
                local.cluster_of[scratch.found[place]] = users + parts
            parts += 1
    if parts == 1:
        for member in range(users):
            if local.cluster_of[member] == users:
                local.cluster_of[member] = cluster
    else:
        for part in range(parts):
            rename(constants, local, users + part, scratch)


@compiled
def _leaves(constants: Constants, local: Local, user: int, round_: int) -> bool:
    """Tell whether a user no longer belongs to its set (Li et al. 2019, Algorithm 2)."""
    sets, own, cluster = local.sets, local.own, local.cluster_of[user]
    bars = error_bar(own.records[user]) + error_bar(sets.frozen_count[cluster])
    apart = distance(own.theta[user], sets.frozen_theta[cluster])
    if are_different(apart, bars, constants.alpha1):
        return True
    widest = 0.0
    for member in range(local.cluster_of.size):
        if local.cluster_of[member] == cluster:
            widest = max(widest, abs(own.records[user] - own.records[member]))
    return bool(widest / round_ > 2.0 * constants.alpha_p * error_bar(float(round_)))


@compiled
def _freeze(local: Local, cluster: int) -> None:
    """Keep a set's estimate: a new set is compared with what it is at its birth."""
    for i in range(local.models.theta.shape[1]):
        local.sets.frozen_theta[cluster, i] = local.models.theta[cluster, i]
    local.sets.frozen_count[cluster] = local.models.records[cluster]


@compiled
def _split(constants: Constants, local: Local, user: int, scratch: Scratch) -> int:
    """Make a set of one user alone; what is left keeps its frozen estimate. Returns its name."""
    sets, old, users = local.sets, local.cluster_of[user], local.cluster_of.size
    size, pending = sets.size[old] - 1, sets.pending[old]
    frozen_count = sets.frozen_count[old]
    for i in range(scratch.gain.size):
        scratch.gain[i] = sets.frozen_theta[old, i]
    for member in range(users):
        if local.cluster_of[member] == old and member != user:
            local.cluster_of[member] = users
    rename(constants, local, old, scratch)
    rest = rename(constants, local, users, scratch)
    _freeze(local, user)
    sets.size[user], sets.pending[user] = 1, 0
    sets.size[rest], sets.pending[rest] = size, pending
    for i in range(scratch.gain.size):
        sets.frozen_theta[rest, i] = scratch.gain[i]
    sets.frozen_count[rest] = frozen_count
    return int(rest)


@compiled
def _alike(constants: Constants, local: Local, one: int, two: int, round_: int) -> bool:
    """Tell whether two sets are the same (Li et al. 2019, Algorithm 3)."""
    models, sets = local.models, local.sets
    bars = error_bar(models.records[one]) + error_bar(models.records[two])
    if not are_same(distance(models.theta[one], models.theta[two]), bars, constants.alpha2):
        return False
    shares = models.records[one] / sets.size[one] - models.records[two] / sets.size[two]
    return bool(abs(shares) / round_ < constants.alpha_p * error_bar(float(round_)))


@compiled
def _merge_all(
    constants: Constants, local: Local, start: int, round_: int, scratch: Scratch
) -> None:
    """Merge a set with all that are the same, if everybody in them has come."""
    sets, cluster, users = local.sets, start, local.cluster_of.size
    other = 0
    while other < users:
        is_set = local.cluster_of[other] == other and other != cluster
        if (
            is_set
            and local.home[other] == local.home[cluster]
            and sets.pending[cluster] == 0
            and sets.pending[other] == 0
            and _alike(constants, local, cluster, other, round_)
        ):
            size = sets.size[cluster] + sets.size[other]
            for member in range(users):
                if local.cluster_of[member] == other or local.cluster_of[member] == cluster:
                    local.cluster_of[member] = users
            cluster = rename(constants, local, users, scratch)
            sets.size[cluster], sets.pending[cluster] = size, 0
            _freeze(local, cluster)
            other = -1
        other += 1


@compiled
def check_sets(
    constants: Constants, local: Local, user: int, round_: int, scratch: Scratch
) -> None:
    """Split the user off, then merge what is the same (SCLUB, Li et al. 2019, Algorithm 1)."""
    sets, cluster = local.sets, local.cluster_of[user]
    sets.pending[cluster] -= 1 - sets.checked[user]
    sets.checked[user] = 1
    if sets.size[cluster] == 1 or not _leaves(constants, local, user, round_):
        _merge_all(constants, local, cluster, round_, scratch)
        return
    rest = _split(constants, local, user, scratch)
    _merge_all(constants, local, user, round_, scratch)
    _merge_all(constants, local, local.cluster_of[rest], round_, scratch)


@compiled
def begin_sets_phase(local: Local) -> None:
    """Begin a phase: nobody has come, and every set's estimate is frozen."""
    sets = local.sets
    for user in range(local.cluster_of.size):
        sets.checked[user] = 0
        sets.pending[user] = sets.size[user]
        if local.cluster_of[user] == user:
            _freeze(local, user)


@compiled
def cluster_sums(sums: Floats, clusters: Ints, out: Floats) -> None:
    """Add up the sums of every cluster's users, in their order, into its row of ``out``."""
    out[:, :] = 0.0
    for user in range(clusters.size):
        for i in range(out.shape[1]):
            out[clusters[user], i] += sums[user, i]


@compiled
def estimates_of(sums: Floats, ridge: float) -> Floats:
    """Return ridge estimates of all rows, (rows, d); zeros where a sum is not one of records."""
    d = packed_dimension(sums.shape[1] - 1)
    theta, factor, inverse = np.zeros((sums.shape[0], d)), np.zeros((d, d)), np.zeros((d, d))
    for row in range(sums.shape[0]):
        if np.isnan(invert_statistic(sums[row], ridge, factor, inverse, theta[row])):
            theta[row] = 0.0
    return theta
