"""Published FCLUB as a compiled loop over the rounds of a phase; see ``phases.py`` for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.arrivals import (
    draw_arrival,
    draw_item_reward,
    fill_expected,
    fill_items,
    items_workspace,
)
from fedbandits.environments.clustered import Clustered
from fedbandits.learners.clustering import adjusted_rand_index
from fedbandits.learners.models import update
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.privacy.kernels import record_fault
from fedbandits.random import Key, Purpose, fill_normal, normals
from fedbandits.systems.fclub_published.kernels.exchange import (
    AFTER_UPLOAD,
    begin_buffer,
    hand_out,
    noise_party,
    noise_slot,
    note_upload,
    take_download,
    take_noise,
    take_upload,
    upload_due,
)
from fedbandits.systems.fclub_published.kernels.models import add, pick, refresh
from fedbandits.systems.fclub_published.kernels.regroup import (
    begin_sets_phase,
    check_edges,
    check_sets,
)
from fedbandits.systems.fclub_published.merging import (
    NotARecordsSumError,
    clusters_of,
)
from fedbandits.systems.fclub_published.phases import (
    begin_alone,
    learn_alone,
    partners_of,
    regroup,
    renew,
    report,
    split_users,
    take_over,
    totals_of,
)
from fedbandits.systems.fclub_published.plan import (
    ALWAYS,
    DELAYED,
    EDGES,
    NEVER,
    PHASED,
    SETS,
    Constants,
    PublishedFCLUBPlan,
)
from fedbandits.systems.fclub_published.state import (
    NOT_POSITIVE,
    Hub,
    Local,
    Scratch,
    State,
    initial_state,
    new_scratch,
)
from fedbandits.systems.servers.replicate import NUMBER, ServersReplicate
from fedbandits.systems.servers.state import Clock

_NOISE = int(Purpose.PRIVACY_NOISE)


@compiled
def _upload(
    constants: Constants,
    clock: Clock,
    local: Local,
    hub: Hub,
    scratch: Scratch,
    key: Key,
    cluster: int,
) -> None:
    """A local cluster uploads; whoever lacks enough then downloads."""
    size = NUMBER * local.buffer.shape[1]
    if not take_upload(constants, hub, cluster, local.buffer[cluster], scratch):
        clock.fault[0] = NOT_POSITIVE
        return
    note_upload(constants, local, cluster)
    if constants.private:
        draw = local.trees.draws[cluster, noise_slot(local, cluster)]
        fill_normal(
            draw, key, noise_party(constants, cluster, AFTER_UPLOAD), clock.round_[0], _NOISE
        )
        take_noise(constants, local, cluster)
    begin_buffer(constants, local, cluster)
    clock.uploads[0] += 1
    clock.bytes_[0] += size
    for other in range(hub.due.size):
        if hub.due[other]:
            take_download(local, other, hub.waiting[other])
            hand_out(hub, other)
            clock.downloads[0] += 1
            clock.bytes_[0] += size


@compiled
def run_until(
    world: Any, constants: Constants, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done or a fault is noted; no phase may end before that.

    A round is that of :func:`.kernels.models.choose` and :func:`.kernels.models.learn`, written
    out: handing a large tuple of arrays to a function costs more than what the function does.
    """
    workspace = items_workspace(world)
    clock, tally, local, hub = state
    models, acting, own, scoring = local.models, local.acting, local.own, scratch.scoring
    cluster_of, model_of, partners, stale = (
        local.cluster_of, local.model_of, local.partners, local.stale,
    )  # fmt: skip
    sums, buffer, base_log_det = local.sums, local.buffer, local.base_log_det
    items, expected, context, gain = scratch.items, scratch.expected, scratch.context, scratch.gain
    audience, group_of = hub.audience, hub.group_of
    delayed, tested = constants.sharing == DELAYED, constants.clustering in (EDGES, SETS)
    shared, bound = constants.sharing == ALWAYS, constants.context_bound
    while clock.round_[0] < stop and clock.fault[0] == 0:
        round_ = clock.round_[0] + 1
        user = draw_arrival(world, key, round_)
        fill_items(world, workspace, key, round_, items)
        row, cluster = model_of[user], cluster_of[user]
        if stale[row] and not refresh(constants, local, row, scratch):
            clock.fault[0] = NOT_POSITIVE
            return
        if constants.buffered:
            chosen = pick(constants, models, row, partners[row], items, scoring)
        else:
            chosen = pick(constants, acting, row, partners[row], items, scoring)
        best = fill_expected(world, user, round_, items, expected)
        reward = draw_item_reward(expected[chosen], key, round_)
        tally.regret[user] += expected[best] - expected[chosen]
        tally.reward[user] += reward
        for i in range(constants.dimension):
            context[i] = float(items[i, chosen])
        fault, reward = record_fault(context, reward, bound, 0.0, 1.0, False)
        if fault != NO_FAULT:
            clock.fault[0] = fault
            return
        add(sums, user, context, reward)
        update(models, row, context, reward, gain)
        clock.round_[0] = round_
        if delayed:
            add(buffer, cluster, context, reward)
            grown = models.log_det[cluster] - base_log_det[cluster]
            if grown >= constants.log_upload and upload_due(constants, local, cluster):
                _upload(constants, clock, local, hub, scratch, key, cluster)
        elif shared:
            others = audience[group_of[cluster]] - 1
            clock.uploads[0] += 1
            clock.downloads[0] += others
            clock.bytes_[0] += NUMBER * (constants.dimension + 1) * (1 + others)
        elif tested:
            update(own, user, context, reward, gain)
            if constants.clustering == EDGES:
                check_edges(constants, local, user, scratch)
            else:
                check_sets(constants, local, user, round_, scratch)


class Replicate(ServersReplicate[PublishedFCLUBPlan]):
    """One replicate of one variant."""

    def __init__(
        self,
        plan: PublishedFCLUBPlan,
        environment: Clustered,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        super().__init__(plan, environment, seed, replicate, threads)
        self.state: State = initial_state(plan)
        self._scratch = new_scratch(plan, plan.constants.users)
        self._begin_phase(first=True)

    def _run_until(self, stop: int) -> None:
        run_until(self.world, self.plan.constants, self.state, self._scratch, self.key, stop)

    def _require_sound(self, fault: int) -> None:
        """Raise what a noted fault means.

        Raises
        ------
        NotARecordsSumError
            If noise left a matrix that nothing can be recommended by.
        """
        if fault == NOT_POSITIVE:
            raise NotARecordsSumError(
                f"round {self.done + 1}: the noise left a matrix that is not positive definite"
            )
        super()._require_sound(fault)

    def _end_phase(self) -> None:
        self.state.clock.phase[0] += 1
        self._begin_phase()

    def _begin_phase(self, first: bool = False) -> None:
        """Everything that happens between two phases, on all servers."""
        if self.plan.constants.clustering == SETS:
            begin_sets_phase(self.state.local)
        elif self.plan.constants.clustering == PHASED:
            self._find_clusters(first)

    def _find_clusters(self, first: bool) -> None:
        """Algorithm 2."""
        constants, (clock, _, local, hub) = self.plan.constants, self.state
        labels = np.zeros_like(local.cluster_of)
        for server in range(constants.servers):
            users = np.flatnonzero(local.home == server)
            edges = np.ascontiguousarray(local.edges[np.ix_(users, users)])
            labels[users] = users[split_users(constants, local.sums[users], edges)]
            local.edges[np.ix_(users, users)] = edges
        if constants.sharing == NEVER:
            learn_alone(constants, local, labels)
            return
        round_ = int(clock.round_[0])

        def draw(cluster: int, kind: int) -> Floats:
            return simulated_noise(constants, self.key, cluster, round_, kind)

        take_over(constants, local, labels)
        reports = report(constants, local, draw)
        names = clusters_of(labels)
        clock.uploads[0] += constants.servers
        clock.downloads[0] += constants.servers
        clock.bytes_[0] += NUMBER * len(names) * reports.shape[1]
        if not regroup(constants, hub, local.home, labels, reports, first):
            if constants.own_merging:
                begin_alone(constants, local, draw)
            return
        clock.bytes_[0] += NUMBER * len(names) * reports.shape[1]
        local.model_of[:] = hub.group_of[labels] if constants.sharing == ALWAYS else labels
        totals = totals_of(constants, hub, reports)
        for name in names:
            group = int(hub.group_of[name])
            renew(constants, local, int(name), totals[group], partners_of(hub, group), draw)

    @property
    def clusters(self) -> Ints:
        """For each user the cluster that it learns with, over all servers, (users,)."""
        local, hub = self.state.local, self.state.hub
        if self.plan.constants.sharing == NEVER:
            return local.cluster_of.copy()
        found: Ints = hub.group_of[local.cluster_of]
        return found

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """What clustering is judged by, (users,) each; the index is the same for all."""
        found = self.clusters
        index = adjusted_rand_index(found, self.world.cluster)
        return {
            "cluster_size": np.bincount(found)[found].astype(np.float64),
            "adjusted_rand_index": np.full(len(found), index),
        }

    @property
    def epsilon(self) -> float:
        """ε that the contents of a server's messages cost so far, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs, int(self.state.clock.phase[0]))


def simulated_noise(constants: Constants, key: Key, cluster: int, round_: int, kind: int) -> Floats:
    """Standard normals of one draw, (p,), from the seed: they protect nobody."""
    party = int(noise_party(constants, cluster, kind))
    return normals(constants.entry_scale.size, key, party, round_, Purpose.PRIVACY_NOISE)
