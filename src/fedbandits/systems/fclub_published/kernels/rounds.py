"""Uploads and downloads (Algorithms 3 and 4), noise (Algorithm 5), and the loop over rounds."""

from __future__ import annotations

from fedbandits._compile import allocation_free, compiled, inlined
from fedbandits._typing import Floats, Ints
from fedbandits.environments.kernels.arrivals import (
    ClusteredWorld,
    ItemsWorkspace,
    draw_arrival,
    fill_items,
    items_workspace,
)
from fedbandits.learners.kernels.ridge import factorise
from fedbandits.privacy.kernels import NO_FAULT, TREE, add_release_noise, draw_slot
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.fclub_published.kernels.servers import (
    ALWAYS,
    DELAYED,
    EDGES,
    NOT_POSITIVE,
    SETS,
    Constants,
    GlobalClusters,
    Local,
    State,
    check_edges,
    check_sets,
    learn,
    pick,
    refresh,
)
from fedbandits.systems.servers.kernels import NUMBER, Clock, Scratch, recommend

_NOISE = int(Purpose.PRIVACY_NOISE)
#: The use of a draw of noise: after an upload, a report, a renewal. Part of the draw's name.
AFTER_UPLOAD, FOR_REPORT, AT_RENEWAL = 0, 1, 2


@compiled
def noise_party(constants: Constants, cluster: int, kind: int) -> int:
    """Return the party in the name of a simulated draw, another for every cluster and use."""
    return cluster + constants.users * kind


@compiled
def noise_slot(local: Local, cluster: int) -> int:
    """Return the slot of the draw of a cluster's next release; see :func:`take_noise`."""
    return int(draw_slot(TREE, local.trees.releases[cluster] + 1))


@compiled
def take_noise(constants: Constants, local: Local, cluster: int) -> None:
    """Pop the next perturbation of a cluster's tree (Algorithm 5, line 5), once its draw is there.

    The perturbation before is held.
    """
    trees = local.trees
    trees.releases[cluster] += 1
    trees.held[cluster] = trees.coming[cluster]
    add_noise(constants, trees.draws[cluster], trees.releases[cluster], trees.coming[cluster])


@compiled
def add_noise(constants: Constants, draws: Floats, release: int, out: Floats) -> None:
    """Write the perturbation of a tree's release, (p,), into ``out``; ``draws`` (slots, p)."""
    out[:] = 0.0
    scale, entry_scale = constants.noise_scale, constants.entry_scale
    add_release_noise(TREE, scale, out[:0], entry_scale, draws, release, out)


@compiled
def new_tree(local: Local, cluster: int) -> None:
    """Give a cluster a fresh tree: none of its perturbations was taken."""
    trees = local.trees
    trees.draws[cluster] = 0.0
    trees.coming[cluster] = 0.0
    trees.releases[cluster] = 0
    trees.uploads[cluster] = 0


@compiled
def take_report_noise(constants: Constants, local: Local, cluster: int) -> None:
    """Take the perturbation of a report, which is H and H̄ at once (Algorithm 2, line 4)."""
    take_noise(constants, local, cluster)
    local.trees.held[cluster] = local.trees.coming[cluster]


@compiled
def begin_buffer(constants: Constants, local: Local, cluster: int) -> None:
    """Begin an upload buffer after an upload or a renewal: 3ρI + H - H̄ and h - h̄, or nothing."""
    local.buffer[cluster] = 0.0
    if constants.private:
        trees, place = local.trees, 0
        for i in range(constants.entry_scale.size):
            local.buffer[cluster, i] = trees.coming[cluster, i] - trees.held[cluster, i]
        for i in range(constants.dimension):
            local.buffer[cluster, place] += 3.0 * constants.shift
            place += constants.dimension - i


@inlined
def upload_due(constants: Constants, local: Local, cluster: int) -> bool:
    """Tell whether det(S + ΔS) ≥ U det S, and the privatizer has a release left."""
    grown = local.models.log_det[cluster] - local.base_log_det[cluster]
    may = not constants.private or local.trees.uploads[cluster] < constants.most_uploads
    return grown >= constants.log_upload and may


@compiled
def add_upload(upload: Floats, copies: float, sums: Floats) -> None:
    """Add an upload to a sum, ``copies`` times; its number of records counts once."""
    last = upload.size - 1
    for i in range(last):
        sums[i] += copies * upload[i]
    sums[last] += upload[last]


@compiled
def note_upload(constants: Constants, local: Local, cluster: int) -> None:
    """Note that uploaded records are known from now on (Algorithm 3, line 8)."""
    if constants.private:
        local.trees.uploads[cluster] += 1
    copies = 2.0 if local.twice[0] else 1.0
    add_upload(local.buffer[cluster], copies, local.shared[cluster])
    if constants.buffered and not constants.private and not local.twice[0]:
        local.base_log_det[cluster] = local.models.log_det[cluster]
    else:
        local.stale[cluster] = 1


@compiled
def weigh_upload(
    total: Floats, known: Floats, upload: Floats, copies: float, ridge: float, row: Floats,
    factor: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Return ln det of a group, and of the cluster, with an upload; NaN for no sum.

    The group knows ``total``, the cluster ``known``, (p + 1,) each; the upload counts ``copies``
    times. ``row`` (p + 1,) and ``factor`` (d, d) are buffers that are overwritten.
    """
    row[:] = total
    add_upload(upload, copies, row)
    whole = factorise(row, ridge, factor)
    row[:] = known
    add_upload(upload, copies, row)
    return whole, factorise(row, ridge, factor)


@compiled
def enter_upload(
    constants: Constants,
    hub: GlobalClusters,
    cluster: int,
    upload: Floats,
    whole: float,
    part: float,
) -> None:
    """Enter an upload, and mark clusters whose missing sums are due in ``hub.due``.

    In the authors' code the clusters of a group that was renewed share one array by accident: an
    upload then counts twice, and all others have the upload at once (``hub.twice``). ``whole`` and
    ``part`` are the two numbers of :func:`weigh_upload`.
    """
    group = hub.group_of[cluster]
    copies = 2.0 if hub.twice[0] else 1.0
    add_upload(upload, copies, hub.total[group])
    add_upload(upload, copies, hub.known[cluster])
    hub.log_det[cluster] = part
    for other in range(hub.group_of.size):
        if hub.group_of[other] == group:
            if other != cluster:
                add_upload(upload, copies, hub.waiting[other])
            grown = whole - hub.log_det[other] >= constants.log_download
            if (grown or copies > 1.0) and hub.waiting[other, -1] > 0.0:
                hub.due[other] = 1
                hub.log_det[other] = whole


@compiled
def hand_out(hub: GlobalClusters, cluster: int) -> None:
    """Note that a cluster gets its missing sums, ``hub.waiting`` (Algorithm 4, line 4)."""
    hub.known[cluster] += hub.waiting[cluster]
    hub.waiting[cluster] = 0.0
    hub.due[cluster] = 0


@compiled
def take_download(local: Local, cluster: int, download: Floats) -> None:
    """Add the missing sums of a cluster (Algorithm 4, line 3)."""
    local.shared[cluster] += download
    local.stale[cluster] = 1


@compiled
def play_trees(
    constants: Constants, steps: Ints, draws: Floats, key: Key, first: int, values: Floats
) -> None:
    """Draw noise of releases ``steps`` (runs, n), in every tree anew, into (runs, trees, n, p)."""
    runs, trees, places, _ = values.shape
    for run in range(runs):
        for tree in range(trees):
            done = 0
            for place in range(places):
                release = steps[run, place]
                at = release
                while at > done:  # the blocks of a release
                    slot, name = draw_slot(TREE, at), (first + run) * trees + tree
                    fill_normal(draws[slot], key, at, name, _NOISE)
                    at &= at - 1
                add_noise(constants, draws, release, values[run, tree, place])
                done = release


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
        fault, reward = recommend(
            world, tally, scratch, constants.context_bound, key, round_, user, chosen
        )  # fmt: skip
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
    size, upload = NUMBER * local.buffer.shape[1], local.buffer[cluster]
    whole, part = weigh_upload(
        hub.total[hub.group_of[cluster]], hub.known[cluster], upload, 2.0 if hub.twice[0] else 1.0,
        constants.ridge, scratch.row, scratch.factor,
    )  # fmt: skip
    if not (whole == whole and part == part):  # NaN
        clock.fault[0] = NOT_POSITIVE
        return
    enter_upload(constants, hub, cluster, upload, whole, part)
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
