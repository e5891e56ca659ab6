"""Constants and state of a run of published FCLUB."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.learners.kernels.clustering import Edges
from fedbandits.learners.kernels.models import Models, Scoring
from fedbandits.learners.kernels.ridge import packed_size
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


class Hub(NamedTuple):
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
    hub: Hub


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


def row_size(dimension: int) -> int:
    """Count the numbers of a sum: a packed statistic, and how many records are in it."""
    return int(packed_size(dimension)) + 1


@compiled
def last_of(row: Floats) -> Any:
    """Return how many records are in a sum."""
    return row[row.size - 1]
