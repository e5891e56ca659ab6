"""An FCLUB run as one compiled loop: round by round until a phase ends.

What happens between phases is in :mod:`fedbandits.systems.fclub_published.phases`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Ints
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
from fedbandits.privacy.bounds import NO_FAULT, record_fault, require_within
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.drivers import TalliedReplicate
from fedbandits.systems.fclub_published.claim import epsilon_spent
from fedbandits.systems.fclub_published.config import FCLUB
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
from fedbandits.systems.fclub_published.kernels.regroup import check_edges, check_sets
from fedbandits.systems.fclub_published.phases import NotARecordsSumError, begin_phase
from fedbandits.systems.fclub_published.plan import (
    ALWAYS,
    BOUND,
    DELAYED,
    EDGES,
    NEVER,
    SETS,
    Constants,
    Plan,
    make_plan,
)
from fedbandits.systems.fclub_published.state import (
    NOT_POSITIVE,
    Clock,
    Hub,
    Local,
    Scratch,
    State,
    initial_state,
    new_scratch,
)

#: Bytes of a number.
_NUMBER = 8
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
    size = _NUMBER * local.buffer.shape[1]
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

    A round is that of :func:`~fedbandits.systems.fclub_published.kernels.models.choose` and
    :func:`~fedbandits.systems.fclub_published.kernels.models.learn`, written out: handing a large tuple of arrays to
    a function costs more than what the function does.
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
    shared = constants.sharing == ALWAYS
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
        best = fill_expected(world, user, items, expected)
        reward = draw_item_reward(expected[chosen], key, round_)
        tally.regret[user] += expected[best] - expected[chosen]
        tally.reward[user] += reward
        for i in range(constants.dimension):
            context[i] = float(items[i, chosen])
        fault, reward = record_fault(context, reward, BOUND, 0.0, 1.0, False)
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
            clock.bytes_[0] += _NUMBER * (constants.dimension + 1) * (1 + others)
        elif tested:
            update(own, user, context, reward, gain)
            if constants.clustering == EDGES:
                check_edges(constants, local, user, scratch)
            else:
                check_sets(constants, local, user, round_, scratch)


class Simulation(TalliedReplicate):
    """One replicate of one FCLUB variant.

    Parameters
    ----------
    config, environment
        What is run, and where.
    rounds
        T; noise is planned for it.
    seed, replicate
        Name the draws.
    threads
        Not used: replicates run side by side instead.
    """

    def __init__(
        self,
        config: FCLUB,
        environment: Clustered,
        rounds: int,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = make_plan(config, environment.facts, rounds)
        self.state: State = initial_state(self.plan, self.world.server)
        self._scratch = new_scratch(self.plan, environment.parties)
        begin_phase(self.plan.constants, self.state, self.key, first=True)

    @property
    def done(self) -> int:
        """Rounds played."""
        return int(self.state.clock.round_[0])

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; a phase's end belongs to its last round.

        Raises
        ------
        NotARecordsSumError
            If noise left a matrix that nothing can be recommended by.
        """
        constants, clock = self.plan.constants, self.state.clock
        stop = min(stop, self.rounds)
        while self.done < stop:
            end = int(constants.phase_ends[clock.phase[0]])
            run_until(self.world, constants, self.state, self._scratch, self.key, min(stop, end))
            if clock.fault[0] == NOT_POSITIVE:
                raise NotARecordsSumError(
                    f"round {self.done + 1}: the noise left a matrix that is not positive definite"
                )
            require_within(int(clock.fault[0]), f"round {self.done + 1}")
            if self.done == end:
                clock.phase[0] += 1
                begin_phase(constants, self.state, self.key)

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
    def syncs(self) -> int:
        """Uploads so far, reports of phases included."""
        return int(self.state.clock.uploads[0])

    @property
    def messages(self) -> int:
        """Uploads and downloads so far."""
        return self.syncs + int(self.state.clock.downloads[0])

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, 8 a number."""
        return int(self.state.clock.bytes_[0])

    @property
    def epsilon(self) -> float:
        """ε that the contents of a server's messages cost so far, at the configured δ."""
        return epsilon_spent(
            self.plan, self.config.delta, self.syncs, int(self.state.clock.phase[0])
        )
