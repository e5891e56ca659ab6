"""Knowledge of servers about users and clusters, and the models by which they recommend."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.learners.kernels.clustering import (
    Edges,
    are_different,
    are_same,
    delete_edges_of,
    distance,
    error_bar,
    reach,
)
from fedbandits.learners.kernels.linucb import Models, Scoring, choose_arm, update
from fedbandits.learners.kernels.ridge import (
    add_record,
    factorise,
    invert_statistic,
    packed_dimension,
)
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.kernels import Clock, Scratch

#: Clusterings: the users that learn together.
ALONE, TOGETHER, PHASED, EDGES, SETS = 0, 1, 2, 3, 4
#: Ways of sharing between servers.
NEVER, ALWAYS, DELAYED = 0, 1, 2

Flags = NDArray[np.uint8]


class Constants(NamedTuple):
    """Numbers that are constant in a run, as compiled code takes them."""

    users: int
    servers: int
    dimension: int
    items: int
    context_bound: float
    clustering: int  # ALONE, TOGETHER, PHASED, EDGES or SETS
    sharing: int  # NEVER, ALWAYS or DELAYED
    log_upload: float  # ln U
    log_download: float  # ln D
    buffered: bool  # acts on S + ΔS, not on S
    alpha1: float
    alpha2: float
    alpha_p: float
    ridge: float  # λ of the models that recommend
    edge_ridge: float
    merge_ridge: float
    radius_scale: float  # exploration_scale · σ
    radius_term: float  # 2 ln(2/α), or 2 ln(mL/α) of Lemma 1
    radius_offset: float  # the number added to T/d: 3, or ρ_max/ρ_min of Lemma 1
    radius_unit: float  # ρ_min in Lemma 1, else 1
    radius_shared: bool  # T is divided by L' too, and √L' multiplies the bias
    radius_bias: float  # exploration_scale · (√ρ_max + κ)
    noise_factor: float  # √32 · 2 ln(4/δ)/ε of the authors' β, or 0: another β
    root_epsilon: float  # √ε; 1 where ε has no use
    squared: bool  # the bonus has no root
    private: bool
    shift: float  # ρ of equation 7
    noise_scale: float  # deviation of a node's off-diagonal entries
    entry_scale: Floats  # (p,) deviations of a statistic's entries, relative to noise_scale
    most_uploads: int  # under one tree
    own_merging: bool  # the authors' way to merge, not Algorithm 2's
    phase_ends: Ints  # last rounds of the phases


class Trees(NamedTuple):
    """The noise of local clusters' uploads; of no rows where there is none."""

    draws: Floats  # (clusters, slots, p)
    releases: Ints  # (clusters,) perturbations that were taken
    uploads: Ints  # (clusters,) perturbations that uploads took
    held: Floats  # (clusters, p) H̄, h̄
    coming: Floats  # (clusters, p) H, h: the perturbation that was taken last


class SetNotes(NamedTuple):
    """Notes that SCLUB keeps besides; of no rows elsewhere."""

    checked: Flags  # (users,) whether the user has come in this phase
    size: Ints  # (clusters,) users
    pending: Ints  # (clusters,) users that have not come yet
    frozen_theta: Floats  # (clusters, d) at the start of the phase, or of the cluster
    frozen_count: Floats  # (clusters,)


class Local(NamedTuple):
    """Knowledge of users: of a single server, or of all servers side by side."""

    home: Ints  # (users,) the server of each user
    sums: Floats  # (users, p + 1) raw
    cluster_of: Ints  # (users,) the local cluster of each
    model_of: Ints  # (users,) the row of the model that recommends to each user
    partners: Ints  # (clusters,) L': the local clusters in the same global cluster
    models: Models  # of S + ΔS; where there is no buffer, of S
    acting: Models  # of S alone; no rows unless servers act on S
    stale: Flags  # (clusters,) sums have changed and models have not yet
    shared: Floats  # (clusters, p + 1) S, u, T
    base_log_det: Floats  # (clusters,) ln det(λI + S)
    buffer: Floats  # (clusters, p + 1) ΔS, Δu, ΔT
    edges: Edges  # (users, users)
    own: Models  # every user's own estimate; of no rows unless tested each round
    sets: SetNotes
    trees: Trees
    twice: Flags  # (1,) whether uploads count twice in this phase


class GlobalClusters(NamedTuple):
    """The global server's knowledge."""

    cluster_of: Ints  # (users,) the reported local cluster of each user
    group_of: Ints  # (clusters,) the global cluster of each local one; -1 where there is none
    audience: Ints  # (groups,) servers with a part of the global cluster
    known: Floats  # (clusters, p + 1) S, u, T of every local cluster
    log_det: Floats  # (clusters,) ln det of the known sums
    waiting: Floats  # (clusters, p + 1) ΔS⁻, Δu⁻, ΔT⁻: the missing sums of each
    total: Floats  # (groups, p + 1) Sᵍ, uᵍ, Tᵍ
    due: Flags  # (clusters,) whether the missing sums are due
    twice: Flags  # (1,) whether uploads count twice in this phase


#: A fault of a run, beside the faults of records: noise left no positive definite matrix.
NOT_POSITIVE = 4


class State(NamedTuple):
    """All that changes in a run: a saved state is a saved run."""

    clock: Clock
    tally: Tally  # of every user
    local: Local
    hub: GlobalClusters


@compiled
def radius(constants: Constants, count: float, partners: int) -> float:
    """Return the configured β of so many records, times exploration_scale.

    ``partners`` is L', the number of local clusters that share their records.
    """
    if constants.noise_factor > 0.0:
        return constants.radius_scale * authors_radius(constants, max(count, 1.0))
    share = float(partners) if constants.radius_shared else 1.0
    seen = count / (constants.dimension * share * constants.radius_unit)
    inside = constants.radius_term + constants.dimension * math.log(constants.radius_offset + seen)
    bias = constants.radius_bias * math.sqrt(share)
    return constants.radius_scale * math.sqrt(max(inside, 0.0)) + bias


@compiled
def authors_radius(constants: Constants, count: float) -> float:
    """Return β of the authors' code for FCLUB-CDP; see :class:`..config.Authors`."""
    d, servers = constants.dimension, float(constants.servers)
    depth, spread = 1.0 + math.log(count), 2.0 * math.log(2.0 * count)
    rho = constants.noise_factor * depth * (4.0 * math.sqrt(d) + spread)
    upsilon = math.sqrt(math.sqrt(2.0) * depth * (math.sqrt(d) + spread) / constants.root_epsilon)
    inside = constants.radius_term + d * math.log(constants.radius_offset + count / (d * rho))
    return math.sqrt(inside) + math.sqrt(servers) * (math.sqrt(rho) + upsilon)


@compiled
def settle(models: Models, row: int, statistic: Floats, ridge: float, factor: Floats) -> bool:
    """Compute one model anew from its sum (p + 1,); False if λI + S is not positive definite."""
    log_det = invert_statistic(statistic, ridge, factor, models.inverse[row], models.theta[row])
    models.log_det[row] = log_det
    models.records[row] = statistic[-1]
    return not math.isnan(log_det)


@compiled
def refresh(constants: Constants, local: Local, cluster: int, scratch: Scratch) -> bool:
    """Bring a local cluster's models up to its sums; see :func:`settle`."""
    local.stale[cluster] = 0
    for i in range(scratch.row.size):
        scratch.row[i] = local.shared[cluster, i] + local.buffer[cluster, i]
    sound = settle(local.models, cluster, scratch.row, constants.ridge, scratch.factor)
    if constants.buffered:
        base = factorise(local.shared[cluster], constants.ridge, scratch.factor)
    else:
        shared = local.shared[cluster]
        sound &= settle(local.acting, cluster, shared, constants.ridge, scratch.factor)
        base = local.acting.log_det[cluster]
    local.base_log_det[cluster] = base
    return sound and not math.isnan(base)


@compiled
def pick(
    constants: Constants, models: Models, row: int, partners: int, items: Floats32, scoring: Scoring
) -> int:
    """Return the item (d, K) with the highest upper bound by one model; the first one of equals."""
    beta = radius(constants, models.records[row], partners)
    beta = math.sqrt(beta) if constants.squared else beta
    return choose_arm(models, row, beta, constants.squared, items, scoring)


@compiled
def add(sums: Floats, row: int, context: Floats, reward: float) -> None:
    """Add one record to a row of sums."""
    add_record(sums, row, context, reward, 0.0)  # noise is added to these: no grid would stay
    sums[row, sums.shape[1] - 1] += 1.0


@inlined
def learn(
    constants: Constants, local: Local, user: int, context: Floats, reward: float, scratch: Scratch
) -> None:
    """Take in one record: the user's own sums, the model of its cluster, the upload buffer."""
    add(local.sums, user, context, reward)
    if constants.sharing == DELAYED:
        add(local.buffer, local.cluster_of[user], context, reward)
    update(local.models, local.model_of[user], context, reward, scratch.gain)
    if constants.clustering == EDGES or constants.clustering == SETS:
        update(local.own, user, context, reward, scratch.gain)


@compiled
def rename(constants: Constants, local: Local, cluster: int, scratch: Scratch) -> int:
    """Name a cluster by its lowest user, give it a model of its users' sums; return the name.

    ``cluster`` is the present number of the cluster's users, and need not be a user of theirs.
    """
    name = -1
    scratch.row[:] = 0.0
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
    """Delete the user's edges, and split the cluster (CLUB, Gentile et al. 2014, Figure 1)."""
    own = local.own
    if delete_edges_of(user, own.theta, own.records, constants.alpha1, local.edges) == 0:
        return
    # Users of a part carry a number beyond all users until the part is named.
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
    """Keep a set's estimate: a new set is compared with its estimate at birth."""
    local.sets.frozen_theta[cluster] = local.models.theta[cluster]
    local.sets.frozen_count[cluster] = local.models.records[cluster]


@compiled
def _split(constants: Constants, local: Local, user: int, scratch: Scratch) -> int:
    """Make a set of a user alone; the rest keeps its frozen estimate. Return the rest's name."""
    sets, old, users = local.sets, local.cluster_of[user], local.cluster_of.size
    size, pending = sets.size[old] - 1, sets.pending[old]
    frozen_count = sets.frozen_count[old]
    scratch.gain[:] = sets.frozen_theta[old]
    for member in range(users):
        if local.cluster_of[member] == old and member != user:
            local.cluster_of[member] = users
    rename(constants, local, old, scratch)
    rest = rename(constants, local, users, scratch)
    _freeze(local, user)
    sets.size[user], sets.pending[user] = 1, 0
    sets.size[rest], sets.pending[rest] = size, pending
    sets.frozen_theta[rest] = scratch.gain
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
    """Merge a set with all sets that are the same, if all their users have come."""
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
    """Split the user off, then merge equal sets (SCLUB, Li et al. 2019, Algorithm 1)."""
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
    """Return ridge estimates of all rows, (rows, d); zeros where no records have such a sum."""
    d = packed_dimension(sums.shape[1] - 1)
    theta, factor, inverse = np.zeros((sums.shape[0], d)), np.zeros((d, d)), np.zeros((d, d))
    for row in range(sums.shape[0]):
        if np.isnan(invert_statistic(sums[row], ridge, factor, inverse, theta[row])):
            theta[row] = 0.0
    return theta
