"""Compiled code of FCLUB: a server's round, and the loop over the rounds of a phase."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.kernels.arrivals import (
    ClusteredWorld,
    draw_arrival,
    fill_items,
    items_workspace,
)
from fedbandits.learners.kernels.linucb import Models, choose_arm, update
from fedbandits.learners.kernels.ridge import add_record
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.kernels import Tally
from fedbandits.systems.servers.kernels import Clock, Scratch, recommend


class Constants(NamedTuple):
    """Numbers that are constant in a run, as compiled code takes them."""

    users: int
    servers: int
    dimension: int
    items: int
    context_bound: float
    raw_view: bool
    offset: float  # taken off every reward
    width: float  # exploration_scale times the deviation of a reward
    rounding: float  # rounds a record's products, so that sums are exact: see privacy.rounding
    records_per_person: int  # records of a user that count for releases; 0 for all
    phase_ends: Ints  # last rounds of the phases


class Mixtures(NamedTuple):
    """The clusters of every server's own users, as many as ``number`` says."""

    number: Ints  # (servers,)
    centre: Floats  # (servers, most, d)
    spread: Floats  # (servers, most)
    share: Floats  # (servers, most)
    precision: Floats  # (servers, most, d, d)


class Releases(NamedTuple):
    """Releases of servers; of no rows where they are of no more use."""

    draws: Floats  # (users, slots, p) noise of running sums, kept
    before: Floats  # (users, p + 2) sums at the last release of clusters
    rows: Floats  # (servers, most rows, p) sums of clusters that were released
    shared: Floats  # (users, p + 2) sums of the records that count, where not all do
    filled: Ints  # (servers,) how many


class State(NamedTuple):
    """All that changes in a run: a saved state is a saved run."""

    clock: Clock
    tally: Tally  # of every user
    sums: Floats  # (users, p + 2) raw; see :func:`learn`
    models: Models  # of every user
    cluster_of: Ints  # (users,) the likeliest one of its server's
    mixtures: Mixtures
    releases: Releases


@allocation_free
def learn(
    constants: Constants, models: Models, sums: Floats, shared: Floats, user: int, context: Floats,
    reward: float, counts: bool, gain: Floats,
) -> None:  # fmt: skip
    """Enter a record of a user; a server that acts on raw data learns from the record at once.

    ``sums`` (users, p + 2) are packed statistics, numbers of records, and sums of squared rewards;
    ``shared`` the same of the records that count for releases, with no rows where all count. Only
    the first records of a user ``count``. The buffer ``gain`` (d,) is overwritten.
    """
    centred = reward - constants.offset
    add_record(sums, user, context, centred, constants.rounding)
    if counts and shared.shape[0] > 0:
        add_record(shared, user, context, centred, constants.rounding)
    size = sums.shape[1]
    sums[user, size - 2] += 1.0
    sums[user, size - 1] += centred * centred
    if constants.raw_view:
        update(models, user, context, centred, gain)


@compiled
def run_until(
    world: ClusteredWorld, constants: Constants, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done, or a record is out of bounds; phases end outside."""
    workspace = items_workspace(world)
    tally = state.tally
    for round_ in range(state.clock.round_[0] + 1, stop + 1):
        user = draw_arrival(world, key, round_)
        fill_items(world, workspace, key, round_, scratch.items)
        chosen = choose_arm(
            state.models, user, constants.width, False, scratch.items, scratch.scoring
        )
        fault, reward = recommend(
            world, tally, scratch, constants.context_bound, key, round_, user, chosen
        )  # fmt: skip
        if fault != NO_FAULT:
            state.clock.fault[0] = fault
            return
        counts = state.sums[user, -2] < constants.records_per_person  # so many came before
        learn(
            constants, state.models, state.sums, state.releases.shared, user, scratch.context,
            reward, counts, scratch.gain,
        )  # fmt: skip
    state.clock.round_[0] = max(stop, state.clock.round_[0])
