"""The loop over the rounds of a phase; ``phases.py`` has what comes between two phases."""

from __future__ import annotations

from fedbandits._compile import allocation_free, compiled, inlined
from fedbandits.environments.kernels.arrivals import (
    ClusteredWorld,
    ItemsWorkspace,
    draw_arrival,
    draw_item_reward,
    fill_expected,
    fill_items,
    items_workspace,
)
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
from fedbandits.systems.fclub_published.kernels.regroup import check_edges, check_sets
from fedbandits.systems.fclub_published.kernels.servers import (
    ALWAYS,
    DELAYED,
    EDGES,
    NOT_POSITIVE,
    SETS,
    Constants,
    GlobalClusters,
    Local,
    Scratch,
    State,
    learn,
    pick,
    refresh,
)
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.kernels import NUMBER, Clock

_NOISE = int(Purpose.PRIVACY_NOISE)


@compiled
def run_until(
    world: ClusteredWorld, constants: Constants, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done or a fault is noted; no phase may end before that."""
    _play(world, items_workspace(world), constants, state, scratch, key, stop)


@allocation_free
def _play(
    world: ClusteredWorld, workspace: ItemsWorkspace, constants: Constants, state: State,
    scratch: Scratch, key: Key, stop: int,
) -> None:  # fmt: skip
    """Play rounds: a user comes, is recommended an item, and its server learns and shares."""
    clock, tally, local, hub = state
    while clock.round_[0] < stop and clock.fault[0] == NO_FAULT:
        round_ = clock.round_[0] + 1
        user = draw_arrival(world, key, round_)
        fill_items(world, workspace, key, round_, scratch.items)
        row = local.model_of[user]
        if local.stale[row] and not refresh(constants, local, row, scratch):
            clock.fault[0] = NOT_POSITIVE
            return
        models, partners = local.models if constants.buffered else local.acting, local.partners[row]
        chosen = pick(constants, models, row, partners, scratch.items, scratch.scoring)
        fault, reward = _recommend(world, constants, tally, scratch, key, round_, user, chosen)
        if fault != NO_FAULT:
            clock.fault[0] = fault
            return
        learn(constants, local, user, scratch.context, reward, scratch)
        clock.round_[0] = round_
        if constants.sharing == DELAYED:
            if upload_due(constants, local, local.cluster_of[user]):
                _upload(constants, clock, local, hub, scratch, key, local.cluster_of[user])
        elif constants.sharing == ALWAYS:
            _share_record(constants, clock, hub, local.cluster_of[user])
        elif constants.clustering == EDGES:
            check_edges(constants, local, user, scratch)
        elif constants.clustering == SETS:
            check_sets(constants, local, user, round_, scratch)


@inlined
def _recommend(
    world: ClusteredWorld, constants: Constants, tally: Tally, scratch: Scratch, key: Key,
    round_: int, user: int, chosen: int,
) -> tuple[int, float]:  # fmt: skip
    """Show an item to a user; return what is wrong with the record, and the reward."""
    items, expected, context = scratch.items, scratch.expected, scratch.context
    best = fill_expected(world, user, round_, items, expected)
    reward = draw_item_reward(expected[chosen], key, round_)
    tally.regret[user] += expected[best] - expected[chosen]
    tally.reward[user] += reward
    for i in range(constants.dimension):
        context[i] = float(items[i, chosen])
    return record_fault(context, reward, constants.context_bound, 0.0, 1.0, False)


@inlined
def _share_record(constants: Constants, clock: Clock, hub: GlobalClusters, cluster: int) -> None:
    """Count the messages by which all servers of a global cluster get a record at once."""
    others = hub.audience[hub.group_of[cluster]] - 1
    clock.uploads[0] += 1
    clock.downloads[0] += others
    clock.bytes_[0] += NUMBER * (constants.dimension + 1) * (1 + others)


@compiled
def _upload(
    constants: Constants, clock: Clock, local: Local, hub: GlobalClusters, scratch: Scratch,
    key: Key, cluster: int,
) -> None:  # fmt: skip
    """Let a local cluster upload, and every cluster that lacks enough then download."""
    size = NUMBER * local.buffer.shape[1]
    if not take_upload(constants, hub, cluster, local.buffer[cluster], scratch):
        clock.fault[0] = NOT_POSITIVE
        return
    note_upload(constants, local, cluster)
    if constants.private:
        draw = local.trees.draws[cluster, noise_slot(local, cluster)]
        party = noise_party(constants, cluster, AFTER_UPLOAD)
        fill_normal(draw, key, party, clock.round_[0], _NOISE)
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
