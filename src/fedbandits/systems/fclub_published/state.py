"""All that changes in a run, as named tuples of arrays: saving it is saving the run.

A local cluster is named by its lowest user, a global one by its lowest local cluster, and what is
kept of it stands in the row of its name: no variant ever has more clusters than users. Sums are
packed (see :mod:`.learners.kernels.ridge`), with the number of records behind them as last
entry: a row of d (d + 3) / 2 + 1 numbers.
"""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import F64, Memory, Needs
from fedbandits.learners.kernels.linucb import Models, new_scoring
from fedbandits.systems.fclub_published.kernels.servers import (
    ALONE,
    ALWAYS,
    DELAYED,
    EDGES,
    NEVER,
    PHASED,
    SETS,
    TOGETHER,
    GlobalClusters,
    Local,
    Scratch,
    SetNotes,
    State,
    Trees,
)
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.kernels import new_clock


def new_scratch(plan: PublishedFCLUBPlan, users: int) -> Scratch:
    """Make buffers for so many users."""
    d, k = plan.constants.dimension, plan.constants.items
    return Scratch(
        scoring=new_scoring(d, k), items=np.zeros((d, k), np.float32), expected=np.zeros(k),
        context=np.zeros(d), gain=np.zeros(d), factor=np.zeros((d, d)), row=np.zeros(plan.size + 1),
        found=np.zeros(users, np.int64), seen=np.zeros(users, np.uint8),
    )  # fmt: skip


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
    """Return the cluster of each user, (users,): that of all users of a server."""
    _, first, inverse = np.unique(home, return_index=True, return_inverse=True)
    clusters: Ints = first[inverse].astype(np.int64)
    return clusters


def empty_local(plan: PublishedFCLUBPlan, home: Ints) -> Local:
    """Return servers before the first round: their users are one cluster, or each is its own.

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
    """Copy one cluster's models, with its sums, as the only row; see :func:`put_row`."""
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
    """Return the global server before the first round: one cluster a server, all in one group."""
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
