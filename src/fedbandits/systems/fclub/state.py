"""All that changes in a run, as named tuples of arrays: saving it is saving the run."""

from __future__ import annotations

import numpy as np

from fedbandits.environments.base import F64, Memory, Needs
from fedbandits.learners.clustering import one_cluster
from fedbandits.learners.kernels.evidence import Mixture
from fedbandits.learners.kernels.linucb import Models, new_scoring
from fedbandits.systems.fclub.kernels import Mixtures, Releases, Scratch, State
from fedbandits.systems.fclub.plan import CLUSTERS, REWARD_VARIANCE, FCLUBPlan
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.kernels import new_clock


def new_scratch(dimension: int, items: int) -> Scratch:
    """Make the buffers."""
    return Scratch(
        scoring=new_scoring(dimension, items), items=np.zeros((dimension, items), np.float32),
        expected=np.zeros(items), context=np.zeros(dimension), gain=np.zeros(dimension),
    )  # fmt: skip


def prior_models(plan: FCLUBPlan, users: int) -> Models:
    """Return what is known of users before anything was learned."""
    dimension = plan.constants.dimension
    start = plan.prior_variance / REWARD_VARIANCE * np.eye(dimension)
    return Models(
        inverse=np.tile(start, (users, 1, 1)),
        theta=np.zeros((users, dimension)),
        log_det=np.zeros(users),
        records=np.zeros(users),
    )


def counting_users(plan: FCLUBPlan, users: int) -> int:
    """Return of how many of so many users records are counted: none where all records count."""
    return users if plan.constants.records_per_person else 0


def initial_state(plan: FCLUBPlan) -> State:
    """Return the state before the first round."""
    constants, p = plan.constants, plan.size
    n, d, servers = constants.users, constants.dimension, constants.servers
    most = min(plan.most_clusters, n)
    mixtures = Mixtures(
        np.ones(servers, np.int64), np.zeros((servers, most, d)), np.zeros((servers, most)),
        np.zeros((servers, most)), np.zeros((servers, most, d, d)),
    )  # fmt: skip
    for server in range(servers):
        put_mixture(mixtures, server, one_cluster(d))
    by_cluster = plan.releases == CLUSTERS
    return State(
        clock=new_clock(),
        tally=Tally(np.zeros(n), np.zeros(n)),
        sums=np.zeros((n, p + 2)),
        models=prior_models(plan, n),
        cluster_of=np.zeros(n, np.int64),
        mixtures=mixtures,
        told=Releases(
            draws=np.zeros((n, plan.slots, p)),
            before=np.zeros((n if by_cluster else 0, p + 2)),
            rows=np.zeros((servers, most * plan.release_count if by_cluster else 0, p)),
            shared=np.zeros((counting_users(plan, n), p + 2)),
            filled=np.zeros(servers, np.int64),
        ),
    )


def mixture_of(mixtures: Mixtures, server: int) -> Mixture:
    """Return a server's clusters."""
    count = mixtures.number[server]
    return Mixture(*(field[server, :count].copy() for field in mixtures[1:]))


def put_mixture(mixtures: Mixtures, server: int, found: Mixture) -> None:
    """Keep a server's clusters."""
    count = len(found.share)
    mixtures.number[server] = count
    for field, values in zip(mixtures[1:], found, strict=True):
        field[server, :count], field[server, count:] = values, 0.0


def needs(plan: FCLUBPlan) -> Needs:
    """Estimate what :func:`initial_state` will take, and the rounds and phases after it."""
    constants, p = plan.constants, plan.size
    n, d, servers = constants.users, constants.dimension, constants.servers
    slots = plan.slots
    rows = plan.release_count if plan.releases == CLUSTERS else 0
    counted = 2 if constants.records_per_person else 1
    users, model = "environment.users or environment.dim", d * d + d + 2
    mixtures = servers * min(plan.most_clusters, n)
    parts = (
        Memory("records of users, added up", n * (p + 2) * F64 * counted, users),
        Memory("models of users", n * model * F64, users),
        Memory("clusters of servers", mixtures * model * F64, "environment.servers"),
        Memory(
            "noise that is kept for later releases",
            n * slots * p * F64,
            f"{users}, or sync less",
        ),
        Memory("sums of clusters", mixtures * rows * p * F64, f"{users}, or sync less"),
    )
    phases = len(constants.phase_ends)
    choose = 0.5 * d * d * constants.items + 6.0 * d * d
    return Needs(parts, plan.rounds * choose + phases * n * (100.0 * d**3 + (20.0 + slots) * p))
