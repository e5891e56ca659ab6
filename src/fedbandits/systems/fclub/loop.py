"""FCLUB as a compiled loop over the rounds of a phase; :mod:`.state` ends phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats
from fedbandits.learners.clustering import adjusted_rand_index
from fedbandits.learners.kernels.evidence import Spectrum, decompose, stack
from fedbandits.privacy.kernels import add_release_noise, draw_slot
from fedbandits.random import Key, Purpose, normals
from fedbandits.systems.fclub.kernels import State, run_until
from fedbandits.systems.fclub.plan import CLUSTERS, NEVER, USERS, FCLUBPlan
from fedbandits.systems.fclub.state import (
    begin_phase,
    find_clusters,
    initial_state,
    learn_from,
    make_release,
    mixture_of,
    put_mixture,
    released_sums,
)
from fedbandits.systems.servers.kernels import NUMBER
from fedbandits.systems.servers.replicate import ServersReplicate


class Replicate(ServersReplicate[FCLUBPlan]):
    """One replicate of one variant."""

    state: State

    def _first_state(self) -> State:
        return initial_state(self.plan)

    def _run_until(self, stop: int) -> None:
        run_until(self.world, self.plan.constants, self.state, self._scratch, self.key, stop)

    def _end_phase(self) -> None:
        """Let all servers release, and then each learn from the releases of the others."""
        state, release = self.state, int(self.state.clock.phase[0]) + 1
        rows = [self._release(server, release) for server in range(len(self._users))]
        of_use = rows
        if self.plan.releases == CLUSTERS:  # all releases so far
            of_use = [
                kept[:n] for kept, n in zip(state.releases.rows, state.releases.filled, strict=True)
            ]
        spectra = [decompose(released) for released in of_use]
        for server, users in enumerate(self._users):
            start = mixture_of(state.mixtures, server)
            ready = find_clusters(self.plan, release, state.sums[users], rows[server], start)
            nothing = decompose(rows[server][:0])
            others = stack(Spectrum, [nothing, *spectra[:server], *spectra[server + 1 :]])
            learned = learn_from(self.plan, release, ready, others)
            begin_phase(state.models, users, learned.estimates, ready.variance)
            state.cluster_of[users] = learned.cluster_of
            put_mixture(state.mixtures, server, learned.mixture)
        state.clock.phase[0] = release
        if self.plan.releases != NEVER:  # each uploads its own rows, and downloads all others'
            clock, servers = state.clock, len(rows)
            clock.uploads[0] += servers
            clock.downloads[0] += servers
            clock.bytes_[0] += NUMBER * self.plan.size * sum(map(len, rows)) * servers

    def _release(self, server: int, release: int) -> Floats:
        state, users, kept = self.state, self._users[server], self.state.releases
        by_cluster = self.plan.releases == CLUSTERS
        before = kept.before[users] if by_cluster else kept.before
        draws = kept.draws[users]
        fresh = partial(simulated_noise, self.plan, self.key, server, release)
        shared = kept.shared[users] if len(kept.shared) else kept.shared
        rows = make_release(
            self.plan, released_sums(state.sums[users], shared), before, state.cluster_of[users],
            partial(simulated_rows, self.plan, release, draws, fresh),
        )  # fmt: skip
        kept.draws[users] = draws
        if by_cluster:
            kept.before[users] = before
            count = kept.filled[server]
            kept.rows[server, count : count + len(rows)] = rows
            kept.filled[server] += len(rows)
        return rows

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """Measures of how well clusters are found, (users,) each.

        The adjusted Rand index compares the users of one server with the truth, and is averaged
        over servers by their users: servers have names of clusters of their own.
        """
        size, index = np.zeros(len(self.world.server)), 0.0
        for users in self._users:
            labels = self.state.cluster_of[users]
            size[users] = np.bincount(labels)[labels]
            truth = self.world.cluster[users]
            index += len(users) * adjusted_rand_index(truth, labels) / len(size)
        return {"cluster_size": size, "adjusted_rand_index": np.full(len(size), index)}

    @property
    def epsilon(self) -> float:
        """ε of the contents of a server's releases so far, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs // len(self._users))


def simulated_rows(
    plan: FCLUBPlan, release: int, draws: Floats, fresh: Callable[[], Floats], rows: Floats
) -> Floats:
    """Return rows (rows, p) with simulated noise; ``draws`` (users, slots, p) keeps some draws."""
    scale = plan.entry_scale
    if plan.sums is None:
        if plan.deviation == 0.0:
            return rows
        noisy: Floats = rows + plan.deviation * scale * fresh()[: len(rows)]
        return noisy
    released, sums = rows.copy(), plan.sums
    draws[:, draw_slot(sums.code, release)] = fresh()
    coefficients = sums.coefficients()
    for user in range(len(released)):
        add_release_noise(
            sums.code, sums.scale, coefficients, scale, draws[user], release, released[user]
        )
    return released


def simulated_noise(plan: FCLUBPlan, key: Key, server: int, release: int) -> Floats:
    """Draw standard normals of a server's release, from the seed: such noise protects nobody."""
    parties: Sequence[int] = plan.facts.users_of(server)
    if plan.releases != USERS:
        most = plan.most_clusters
        parties = [server * most + c for c in range(min(most, len(parties)))]
    return np.stack([normals(plan.size, key, p, release, Purpose.PRIVACY_NOISE) for p in parties])
