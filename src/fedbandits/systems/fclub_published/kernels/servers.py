"""Knowledge of servers about their users, and the models by which they recommend."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.learners.kernels.clustering import Edges
from fedbandits.learners.kernels.linucb import Models, Scoring, choose_arm, update
from fedbandits.learners.kernels.ridge import add_record, factorise, invert_statistic
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.kernels import Clock

#: Who learns with whom.
ALONE, TOGETHER, PHASED, EDGES, SETS = 0, 1, 2, 3, 4
#: What servers tell one another.
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
    ridge: float  # λ added to what is recommended by
    edge_ridge: float
    merge_ridge: float
    radius_scale: float  # exploration_scale · σ
    radius_term: float  # 2 ln(2/α), or 2 ln(mL/α) of Lemma 1
    radius_offset: float  # what is added to T/d: 3, or ρ_max/ρ_min of Lemma 1
    radius_unit: float  # ρ_min in Lemma 1, else 1
    radius_shared: bool  # T is divided by L' too, and √L' multiplies the bias
    radius_bias: float  # exploration_scale · (√ρ_max + κ)
    noise_factor: float  # √32 · 2 ln(4/δ)/ε of the authors' β, or 0: another β
    root_epsilon: float  # √ε; 1 where it has no use
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
    uploads: Ints  # (clusters,) those of them that uploads took
    held: Floats  # (clusters, p) H̄, h̄
    coming: Floats  # (clusters, p) H, h: the perturbation that was taken last


class SetNotes(NamedTuple):
    """Notes that SCLUB keeps besides; of no rows elsewhere."""

    checked: Flags  # (users,) who has come in this phase
    size: Ints  # (clusters,) users
    pending: Ints  # (clusters,) those of them that have not come yet
    frozen_theta: Floats  # (clusters, d) at the phase's start, or when it came to be
    frozen_count: Floats  # (clusters,)


class Local(NamedTuple):
    """Servers' knowledge of their users; one server's own, or all of them side by side."""

    home: Ints  # (users,) the server that each lives on
    sums: Floats  # (users, p + 1) raw
    cluster_of: Ints  # (users,) the local cluster of each
    model_of: Ints  # (users,) the row of the model that recommends to each
    partners: Ints  # (clusters,) L': local clusters that share with it, itself included
    models: Models  # of S + ΔS; where there is no buffer, of S
    acting: Models  # of S alone; of no rows unless that is acted on
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

    cluster_of: Ints  # (users,) the local cluster of each, as servers reported it
    group_of: Ints  # (clusters,) the global cluster of each local one; -1 where there is none
    audience: Ints  # (groups,) servers that have a part of it
    known: Floats  # (clusters, p + 1) S, u, T of every local cluster
    log_det: Floats  # (clusters,) ln det of those
    waiting: Floats  # (clusters, p + 1) ΔS⁻, Δu⁻, ΔT⁻: what each lacks
    total: Floats  # (groups, p + 1) Sᵍ, uᵍ, Tᵍ
    due: Flags  # (clusters,) who must be sent what it lacks
    twice: Flags  # (1,) whether uploads count twice in this phase


#: Why a run cannot go on, beside what is wrong with a record: noise left no positive matrix.
NOT_POSITIVE = 4


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    tally: Tally  # of every user
    local: Local
    hub: GlobalClusters


class Scratch(NamedTuple):
    """Buffers of a round; nothing in them outlives it."""

    scoring: Scoring
    items: Floats32  # (d, K)
    expected: Floats  # (K,)
    context: Floats  # (d,)
    gain: Floats  # (d,)
    factor: Floats  # (d, d)
    row: Floats  # (p + 1,)
    found: Ints  # (users,)
    seen: Flags  # (users,)


@compiled
def radius(constants: Constants, count: float, partners: int) -> float:
    """Return β of so many records as it is configured, times exploration_scale.

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
