"""Published FCLUB as a compiled loop over the rounds of a phase; :mod:`.state` ends phases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats, Ints
from fedbandits.learners.clustering import adjusted_rand_index
from fedbandits.random import Key, Purpose, normals
from fedbandits.systems.fclub_published.kernels.rounds import noise_party, run_until
from fedbandits.systems.fclub_published.kernels.servers import (
    ALWAYS,
    NEVER,
    NOT_POSITIVE,
    PHASED,
    SETS,
    State,
    begin_sets_phase,
)
from fedbandits.systems.fclub_published.noise import ClusterNoise, SimulatedNoise
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.state import (
    NotARecordsSumError,
    adopt,
    begin_alone,
    clusters_of,
    initial_state,
    learn_alone,
    propose,
    renew,
    renewal_of,
    report,
    split_users,
)
from fedbandits.systems.servers.kernels import NUMBER
from fedbandits.systems.servers.replicate import ServersReplicate


class Replicate(ServersReplicate[PublishedFCLUBPlan]):
    """One replicate of one variant."""

    state: State

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._begin_phase(first=True)

    def _first_state(self) -> State:
        return initial_state(self.plan)

    def _run_until(self, stop: int) -> None:
        run_until(self.world, self.plan.constants, self.state, self._scratch, self.key, stop)

    def _require_sound(self, fault: int) -> None:
        """Raise the error of a noted fault; noise may have left a matrix that is no sum."""
        if fault == NOT_POSITIVE:
            raise NotARecordsSumError(
                f"round {self.done + 1}: the noise left a matrix that is not positive definite"
            )
        super()._require_sound(fault)

    def _end_phase(self) -> None:
        self.state.clock.phase[0] += 1
        self._begin_phase()

    def _begin_phase(self, first: bool = False) -> None:
        """Begin a phase on all servers."""
        if self.plan.constants.clustering == SETS:
            begin_sets_phase(self.state.local)
        elif self.plan.constants.clustering == PHASED:
            self._find_clusters(first)

    def _find_clusters(self, first: bool) -> None:
        """Find clusters on all servers, and merge them (Algorithm 2)."""
        plan, (clock, _, local, hub) = self.plan, self.state
        constants = plan.constants
        labels = np.zeros_like(local.cluster_of)
        for users in self._users:
            edges = np.ascontiguousarray(local.edges[np.ix_(users, users)])
            labels[users] = users[split_users(constants, local.sums[users], edges)]
            local.edges[np.ix_(users, users)] = edges
        if constants.sharing == NEVER:
            learn_alone(constants, local, labels)
            return
        round_ = int(clock.round_[0])

        def draw(cluster: int, kind: int) -> Floats:
            return simulated_noise(plan, self.key, 0, cluster, round_, kind)

        noise = SimulatedNoise(plan, local, draw) if constants.private else ClusterNoise()
        exact, reports = report(plan, local, labels, noise)
        clusters = clusters_of(labels)
        size = NUMBER * len(clusters) * reports.shape[1]
        clock.uploads[0] += constants.servers
        clock.downloads[0] += constants.servers
        clock.bytes_[0] += size
        everybody = np.ones(len(labels), np.bool_)
        proposal = propose(constants, hub, local.home, everybody, labels, reports, first)
        adopt(constants, hub, local.home, proposal)
        if proposal.renewed:
            clock.bytes_[0] += size
            renewal = renewal_of(hub, proposal, clusters)
            rows = renewal.groups if constants.sharing == ALWAYS else clusters
            renew(plan, local, renewal, rows, noise)
        elif constants.own_merging:
            begin_alone(plan, local, exact)

    @property
    def clusters(self) -> Ints:
        """The cluster that each user learns with, over all servers, (users,)."""
        local, hub = self.state.local, self.state.hub
        if self.plan.constants.sharing == NEVER:
            return local.cluster_of.copy()
        groups: Ints = hub.group_of[local.cluster_of]
        return groups

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """Measures of clustering, (users,) each; the index is the same for all."""
        clusters = self.clusters
        index = adjusted_rand_index(clusters, self.world.cluster)
        return {
            "cluster_size": np.bincount(clusters)[clusters].astype(np.float64),
            "adjusted_rand_index": np.full(len(clusters), index),
        }

    @property
    def epsilon(self) -> float:
        """ε of the contents of a server's messages so far, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs, int(self.state.clock.phase[0]))


def simulated_noise(
    plan: PublishedFCLUBPlan, key: Key, server: int, cluster: int, round_: int, kind: int
) -> Floats:
    """Draw standard normals, (p,), from the seed: such noise protects nobody."""
    del server  # clusters have names among all servers
    party = int(noise_party(plan.constants, cluster, kind))
    return normals(plan.size, key, party, round_, Purpose.PRIVACY_NOISE)
