"""The loop over the rounds of a phase; ``phases.py`` has what comes between two phases."""

from __future__ import annotations

from fedbandits._compile import compiled
from fedbandits.environments.kernels.arrivals import (
    ClusteredWorld,
    draw_arrival,
    draw_item_reward,
    fill_expected,
    fill_items,
    items_workspace,
)
from fedbandits.learners.kernels.models import update
from fedbandits.privacy.kernels import NO_FAULT, record_fault
from fedbandits.random import Key, Purpose, fill_normal
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
from fedbandits.systems.fclub_published.kernels.state import (
    ALWAYS,
    DELAYED,
    EDGES,
    NOT_POSITIVE,
    SETS,
    Constants,
    Hub,
    Local,
    Scratch,
    State,
)
from fedbandits.systems.servers.kernels import NUMBER, Clock

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
    world: ClusteredWorld, constants: Constants, state: State, scratch: Scratch, key: Key, stop: int
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
