"""All that changes in a run, as named tuples of arrays: saving it is saving the run.

A local cluster is named by its lowest user, a global one by its lowest local cluster, and what is
kept of it stands in the row of its name: no variant ever has more clusters than users. Sums are
packed (see :mod:`fedbandits.learners.ridge`), with the number of records behind them as last
entry: a row of d (d + 3) / 2 + 1 numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.needs import F64, Needs, Part
from fedbandits.learners.clustering import Edges
from fedbandits.learners.models import Models, Scoring, new_scoring
from fedbandits.systems.fclub_published.plan import (
    ALONE,
    ALWAYS,
    DELAYED,
    EDGES,
    NEVER,
    PHASED,
    SETS,
    TOGETHER,
    PublishedFCLUBPlan,
    row_size,
)
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.state import Clock, new_clock

Flags = NDArray[np.uint8]


class Trees(NamedTuple):
    """The noise of local clusters' uploads; of no rows where there is none."""

    draws: Floats  # (clusters, slots, p)
    releases: Ints  # (clusters,) perturbations that were taken
    uploads: Ints  # (clusters,) those of them that uploads took
    held: Floats  # (clusters, p) H̄, h̄
    coming: Floats  # (clusters, p) H, h: the perturbation that was taken last


class SetNotes(NamedTuple):
    """What SCLUB keeps besides; of no rows elsewhere."""

    checked: Flags  # (users,) who has come in this phase
    size: Ints  # (clusters,) users
    pending: Ints  # (clusters,) those of them that have not come yet
    frozen_theta: Floats  # (clusters, d) at the phase's start, or when it came to be
    frozen_count: Floats  # (clusters,)


class Local(NamedTuple):
    """What servers know of their users; one server's own, or all of them side by side."""

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
    """What the global server knows."""

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
    """All of it."""

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


def new_scratch(plan: PublishedFCLUBPlan, users: int) -> Scratch:
    """Buffers for so many users."""
    d, k = plan.constants.dimension, plan.constants.items
    return Scratch(
        scoring=new_scoring(d, k),
        items=np.zeros((d, k), np.float32),
        expected=np.zeros(k),
        context=np.zeros(d),
        gain=np.zeros(d),
        factor=np.zeros((d, d)),
        row=np.zeros(row_size(d)),
        found=np.zeros(users, np.int64),
        seen=np.zeros(users, np.uint8),
    )


def _empty_models(rows: int, d: int, ridge: float) -> Models:
    return Models(
        inverse=np.tile(np.eye(d) / ridge if ridge > 0.0 else np.zeros((d, d)), (rows, 1, 1)),
        theta=np.zeros((rows, d)),
        log_det=np.full(rows, d * np.log(ridge) if ridge > 0.0 else 0.0),
        records=np.zeros(rows),
    )


def empty_local(plan: PublishedFCLUBPlan, home: Ints) -> Local:
    """Servers before the first round: all users of a server are one cluster, or each is its own.

    Parameters
    ----------
    plan
        What all parties go by.
    home : (users,) int64
        The server of each user.
    """
    constants, n = plan.constants, len(home)
    d, size = constants.dimension, row_size(constants.dimension)
    everyone = np.arange(n, dtype=np.int64)
    _, first, inverse = np.unique(home, return_index=True, return_inverse=True)
    clusters = everyone if constants.clustering == ALONE else first[inverse].astype(np.int64)
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
        base_log_det=np.full(
            delayed, d * np.log(constants.ridge) if constants.ridge > 0.0 else 0.0
        ),
        buffer=np.zeros((delayed, size)),
        edges=(home[:graph, None] == home[None, :graph]).astype(np.uint8)
        * (1 - np.eye(graph, dtype=np.uint8)),
        own=_empty_models(
            n if constants.clustering in (EDGES, SETS) else 0, d, constants.edge_ridge
        ),
        sets=_empty_sets(clusters[:sets], d),
        trees=_empty_trees(plan, n if constants.private else 0),
        twice=np.zeros(1, np.uint8),
    )


def row_of(local: Local, row: int) -> Local:
    """A copy of one cluster's models, with its sums, as the only row; see :func:`put_row`."""
    at = slice(row, row + 1)
    return local._replace(
        models=Models(*(field[at].copy() for field in local.models)),
        acting=Models(*(field[at].copy() for field in local.acting)),
        stale=local.stale[at].copy(),
        shared=local.shared[at],
        base_log_det=local.base_log_det[at].copy(),
        buffer=local.buffer[at],
    )


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
    p = row_size(plan.constants.dimension) - 1
    slots = 0 if plan.tree is None else plan.tree.slots
    return Trees(
        draws=np.zeros((n, slots, p)),
        releases=np.zeros(n, np.int64),
        uploads=np.zeros(n, np.int64),
        held=np.zeros((n, p)),
        coming=np.zeros((n, p)),
    )


def empty_hub(plan: PublishedFCLUBPlan) -> Hub:
    """The global server before the first round: every server has one cluster, all in one group."""
    constants, home = plan.constants, plan.home
    n, size, d = len(home), row_size(constants.dimension), constants.dimension
    rows = n if constants.sharing == DELAYED else 0
    group_of, audience = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    if constants.sharing != NEVER:
        group_of[np.unique(home, return_index=True)[1]] = 0
        audience[0] = constants.servers
    _, first, inverse = np.unique(home, return_index=True, return_inverse=True)
    return Hub(
        cluster_of=first[inverse].astype(np.int64),
        group_of=group_of,
        audience=audience,
        known=np.zeros((rows, size)),
        log_det=np.full(rows, d * np.log(constants.ridge) if constants.ridge > 0.0 else 0.0),
        waiting=np.zeros((rows, size)),
        total=np.zeros((rows, size)),
        due=np.zeros(rows, np.uint8),
        twice=np.zeros(1, np.uint8),
    )


def initial_state(plan: PublishedFCLUBPlan) -> State:
    """The state before anything happened."""
    n = plan.constants.users
    return State(
        clock=new_clock(),
        tally=Tally(np.zeros(n), np.zeros(n)),
        local=empty_local(plan, plan.home),
        hub=empty_hub(plan),
    )


@compiled
def last_of(row: Floats) -> Any:
    """How many records are in a sum."""
    return row[row.size - 1]


def needs(plan: PublishedFCLUBPlan) -> Needs:
    """What :func:`initial_state` will take, and the rounds and phases after it."""
    constants, d = plan.constants, plan.constants.dimension
    n, size = constants.users, row_size(d)
    delayed = 5 if constants.sharing == DELAYED else 0
    models = 1 + (not constants.buffered) + (constants.clustering in (EDGES, SETS))
    graph = n * n if constants.clustering in (PHASED, EDGES) else 0
    slots = 0 if plan.tree is None else plan.tree.slots
    noise = n * (slots + 2) * (size - 1) if constants.private else 0
    users = "environment.users or environment.dim"
    parts = (
        Part("records of users and clusters, added up", (1 + delayed) * n * size * F64, users),
        Part("models of users and clusters", models * n * (d * d + d + 2) * F64, users),
        Part("who is linked to whom", float(graph), "environment.users"),
        Part("noise that is kept for later releases", noise * F64, users),
    )
    choose = 0.5 * d * d * constants.items + 6.0 * d * d + (n if graph else 0)
    phases = min(len(constants.phase_ends), plan.rounds) * (10.0 * n * d**3 + graph * d)
    return Needs(parts, plan.rounds * (choose + 10.0 * d**3) + phases)
