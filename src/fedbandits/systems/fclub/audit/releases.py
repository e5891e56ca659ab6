"""All that servers release as configured, for an audit: what it tells, and its noise.

One record is replaced: of a user, or of its cluster, that is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import (
    attacker,
    stated_deviations,
    stated_pattern,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.fclub.loop import simulated_noise, simulated_rows
from fedbandits.systems.fclub.phases import released_sums
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    ReplacedRecord,
    audit_key,
    different_records,
    drawn_targets,
    look_of,
    opposite_records,
    packed_pair,
)
from fedbandits.systems.noisy_releases import StatedNoise, some_releases
from fedbandits.systems.party_games import SmallWorld

#: Keys of draws that nothing else here has.
_CHECKED = 2**21


def record_pair(dimension: int, offset: float, late: bool) -> tuple[Record, Record]:
    """Return the pair with rewards as they enter sums, less ``offset``: at most 1 - offset in size.

    A record of the first batch is in all releases, and the pair is as far apart as any. Later it
    misses some, so that noise which two of them share shows, and the pair differs in every number.
    """
    kind = different_records if late else opposite_records
    return kind(dimension, 1.0, 1.0 - offset)


# ---------------------------------------------------------------- contents


class _Attacked(NamedTuple):
    """Rows of releases as configured, and the record that is replaced in one."""

    plan: FCLUBPlan
    steps: Ints
    record: ReplacedRecord


def contents_games(plan: FCLUBPlan) -> list[Game]:
    """Attack releases; running sums twice: with a record that is in all, and with a later one."""
    late = plan.sums is not None and plan.release_count > 1
    return [_contents_game(plan, one) for one in ((False, True) if late else (False,))]


def _contents_game(plan: FCLUBPlan, late: bool) -> ContentsGame:
    """Attack the row of the record's user, or of its cluster: both are drawn for every run."""
    constants, config = plan.constants, plan.config
    moved = packed_pair(record_pair(constants.dimension, constants.offset, late))
    # A row is released by itself where sums of phases have no record in common.
    row = plan.sums or ContinualPlan("tree", 1, plan.deviation)
    steps = telling_releases(row)
    record = ReplacedRecord(moved, attacker(row, moved, steps), late, config.records_at_once)
    persons = f"{config.records_at_once} records of a user" if config.protects_persons else ""
    looks_at = (
        f"contents of {len(steps)} of {plan.release_count} releases, one drawn row"
        f"{record.words(persons)}"
    )
    look = partial(_look, _Attacked(plan, steps, record))
    return ContentsGame(looks_at, len(steps) * plan.size, look, late=late)


def _look(attacked: _Attacked, world: int, first: int, count: int) -> Look:
    """Look at runs, each of which is one row of a server: rows share nothing but whose they are."""
    (_, steps, record), parts, done = attacked, [], 0
    (batch,) = drawn_targets(first, count, max(1, len(steps) - 1))
    entered = record.entered(steps, record.batches(batch))
    while done < count:
        parts.append(_one_server(attacked, entered[done:], record.pair[world], first + done))
        done += len(parts[-1])
    return look_of(record.attacker, np.concatenate(parts), entered)


def _one_server(attacked: _Attacked, entered: Floats, record: Floats, run: int) -> Floats:
    """Play as many runs as a drawn server has rows, or as are wanted, (runs, steps, size)."""
    plan, counts = attacked.plan, _row_counts(attacked.plan)
    server, alone = (int(drawn[0]) for drawn in drawn_targets(run, 1, len(counts), 2**20))
    rows, wanted = counts[server], min(counts[server], len(entered))
    sums = np.zeros((rows, len(attacked.steps), plan.size))
    sums[:wanted] = entered[:wanted, :, None] * record
    # Where phases have no record in common any one of them is attacked.
    steps = attacked.steps if plan.sums is not None else [alone % plan.release_count + 1]
    return _release_rows(plan, server, list(steps), sums, run)[:wanted]


def _row_counts(plan: FCLUBPlan) -> list[int]:
    """Return how many rows every server releases at most."""
    users = np.bincount(plan.facts.home, minlength=plan.constants.servers)
    most: list[int] = np.minimum(users, plan.most_clusters).tolist()
    return users.tolist() if plan.releases == USERS else most


def _release_rows(
    plan: FCLUBPlan, server: int, steps: Sequence[int], sums: Floats, run: int
) -> Floats:
    """Make some releases of a server's rows (rows, steps, size), by the code of the simulation."""
    key, users = audit_key(run), plan.facts.users_of(server)
    slots = 0 if plan.sums is None else plan.sums.slots
    draws, released, done = np.zeros((len(sums), slots, plan.size)), [], 0
    for place, step in enumerate(steps):
        for before in range(done + 1, step if slots else 0):  # releases that nobody looks at
            draws[:, before - 1] = simulated_noise(plan, key, server, users, before)
        fresh = partial(simulated_noise, plan, key, server, users, int(step))
        released.append(simulated_rows(plan, int(step), draws, fresh, sums[:, place].copy()))
        done = step
    return np.stack(released, axis=1)


# ---------------------------------------------------------------- noise


def simulated_numbers(plan: FCLUBPlan) -> NoisyNumbers:
    """Return all servers' releases as configured, by the code of the simulation."""
    rows = sum(_row_counts(plan))
    steps = some_releases(plan.release_count, rows * plan.size, plan.sums)
    stated = StatedNoise(f"{rows} rows of all servers", "row", _planned(plan, rows, steps))
    return stated.simulated(steps, plan.release_count, partial(_drawn, plan, steps))


def secure_numbers(small: SmallWorld) -> NoisyNumbers:
    """Return all that two servers release with the noise of a deployment."""
    plan: FCLUBPlan = small.plan
    steps = np.arange(1, plan.release_count + 1)
    deviations = _planned(plan, sum(_row_counts(plan)), steps)
    who = "user" if plan.releases == USERS else "server"
    return StatedNoise("2 servers", who, deviations).deployed(small, partial(_Heard, plan))


def _planned(plan: FCLUBPlan, rows: int, steps: Ints) -> Floats:
    """Return deviations as they are stated, (rows, steps, size)."""
    by_release = np.full(len(steps), plan.deviation)
    if plan.sums is not None:
        by_release = stated_deviations(plan.sums, steps)
    one = np.outer(by_release, stated_pattern(1, plan.facts.dimension))
    return np.broadcast_to(one, (rows, *one.shape))


def _drawn(plan: FCLUBPlan, steps: Ints, first: int, count: int) -> Floats:
    counts, shape = _row_counts(plan), (len(steps), plan.size)

    def one(run: int) -> Floats:
        return np.concatenate([
            _release_rows(plan, server, steps.tolist(), np.zeros((rows, *shape)), run)
            for server, rows in enumerate(counts)
        ])  # fmt: skip

    return np.stack([one(_CHECKED + run) for run in range(first, first + count)])


class _Heard:
    """Hears the noise in what servers release: less the sums that they stand for."""

    def __init__(self, plan: FCLUBPlan, run: PartiesReplicate) -> None:
        self._plan, self._servers = plan, run.players
        self._before = [np.zeros((1, plan.size)) for _ in run.players]

    def __call__(self, messages: list[Message]) -> list[tuple[int, int, Floats]]:
        found: list[tuple[int, int, Floats]] = []
        for index, server in enumerate(self._servers):
            sent: Any
            for sent in (m for m in messages if m.sender == server.name):
                rows = np.frombuffer(sent.sums).reshape(-1, self._plan.size)
                exact = released_sums(server.state.sums, server.state.shared)
                exact = exact[:, : self._plan.size]
                places = server.users
                if self._plan.releases != USERS:  # one cluster: what came in this phase
                    total, places = exact.sum(axis=0, keepdims=True), np.array([index])
                    exact, self._before[index] = total - self._before[index], total
                found += [
                    (int(place), sent.release, row)
                    for place, row in zip(places, rows - exact, strict=True)
                ]
        return found
