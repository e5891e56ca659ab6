"""The sound FCLUB in two neighbouring worlds, for an audit.

First all that servers release as configured: what it tells if one record is replaced, of a drawn
user or of its cluster, and its noise. Then two whole servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import (
    Attacker,
    attacker,
    covariance_of,
    stated_deviations,
    stated_pattern,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.loop import simulated_noise, simulated_rows
from fedbandits.systems.fclub.messages import user_counts
from fedbandits.systems.fclub.phases import released_sums
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    Neighbours,
    ReplacedRecord,
    audit_key,
    different_records,
    drawn_targets,
    look_of,
    opposite_records,
    packed_pair,
    packed_record,
)
from fedbandits.systems.noisy_releases import StatedNoise, some_releases
from fedbandits.systems.party_games import MessagesGame, Released, SmallWorld
from fedbandits.systems.servers.audit import USERS as USERS_OF_WORLD
from fedbandits.systems.servers.audit import WORLD, ServersRun

#: Rounds of the small world.
ROUNDS = 64
#: Keys of draws that nothing else here has.
_CHECKED = 2**21


def games(system: System[Any], plan: FCLUBPlan) -> Sequence[Game]:
    """Return what an audit plays: releases as configured, then two servers in a small world."""
    if not plan.private:
        return []
    return [*contents_games(plan), *messages_games(system, plan.config)]


def noise_checks(system: System[Any], plan: FCLUBPlan) -> Sequence[NoisyNumbers]:
    """Return all that servers release: as configured, and as two of them with secure noise."""
    if not plan.private:
        return []
    config = plan.config
    if plan.releases != USERS:  # one row a server, whatever its users are like
        config = msgspec.structs.replace(config, clustering="population")
    return [_simulated_numbers(plan), _secure_numbers(_small_world(system, config))]


def _small_world(system: System[Any], config: FCLUB) -> SmallWorld:
    return SmallWorld(system, system.plan(config, WORLD.facts, ROUNDS), WORLD)


# ---------------------------------------------------------------- whole servers


def messages_games(system: System[Any], config: FCLUB) -> list[Game]:
    """Attack two servers on a log and reacting; with a later record of sums; with secure noise."""
    small = _small_world(system, config)
    found: list[Game] = [_messages_game(small, "fixed log"), _messages_game(small, "interactive")]
    one = not config.protects_persons
    if one and small.plan.sums is not None and small.plan.release_count > 1:
        found.append(_messages_game(small, "fixed log", late=True))
    found.append(_messages_game(small, "fixed log", secure=True))
    return found


def _messages_game(
    small: SmallWorld, neighbours: Neighbours, late: bool = False, secure: bool = False
) -> MessagesGame:
    plan: FCLUBPlan = small.plan
    config, fixed = plan.config, neighbours == "fixed log"
    follows = fixed or config.local_view == "released"
    informed = follows and plan.releases == USERS and plan.sums is not None
    # With secure noise a record of any time.
    first = int(plan.constants.phase_ends[0]) + 1 if late else 1
    last = int(plan.constants.phase_ends[0]) if not (late or secure) else ROUNDS
    pair = _record_pair(plan, late or secure)
    play, what = FCLUBRun, ""
    if config.protects_persons:
        play, what, last = PersonRun, ", all records of a user", USERS_OF_WORLD

    def make(run: PartiesReplicate, number: int, drawn: int) -> FCLUBRun:
        return play(run, number, pair, fixed, informed, first + drawn)

    which = ", a record of a later phase" if late else " with secure noise" if secure else ""
    looks_at = f"messages of 2 servers in {ROUNDS} rounds, of one drawn user{which}{what}"
    covariance = None
    if plan.releases == USERS:  # that of a user's row over time; clusters' users may change
        covariance = np.eye(plan.release_count) if plan.sums is None else covariance_of(plan.sums)
    return MessagesGame(
        neighbours, looks_at, small, (last - first + 1,), make, informed, secure, covariance
    )


class FCLUBRun(ServersRun):
    """Servers whose releases, if ``informed``, are seen by someone who knows all but one record."""

    def __init__(
        self, run: PartiesReplicate, number: int, pair: tuple[Record, Record], fixed: bool,
        informed: bool, record_round: int,
    ) -> None:  # fmt: skip
        plan: Any = run.plan
        self._plan: FCLUBPlan = plan
        offset, knows = self._plan.constants.offset, self._knows_others if informed else None
        super().__init__(run, number, pair, fixed, record_round, offset, attacker=knows)

    def _knows_others(self, steps: Ints) -> Attacker:
        sums: Any = self._plan.sums  # nobody is informed where there are none
        return attacker(sums, packed_pair(self.pair), steps)

    def play_round(self, world: int, round_: int) -> None:
        """Play it, and note the released row of the record's user: its other records are known."""
        super().play_round(world, round_)
        if self.informed and round_ in self._plan.constants.phase_ends:
            deliveries = self.network.transcript.deliveries
            sent: Any = [m for _, m in deliveries if m.sender == self.audited][-1]
            place = int(np.searchsorted(self.target.users, self.user))
            row = np.frombuffer(sent.sums).reshape(-1, self._plan.size)[place]
            self.note(row - self._others(place, world, round_), self._entered(round_))

    def released(self, message: Any) -> Released | None:
        """Return all rows that the record's server releases at the end of a phase."""
        if not hasattr(message, "sums"):
            return None
        plan = self._plan
        scale = plan.deviation if plan.sums is None else plan.sums.scale
        rows = np.frombuffer(message.sums).reshape(-1, plan.size)
        deviations = scale * stated_pattern(1, plan.facts.dimension)
        return Released(message.release, (rows / deviations).reshape(-1))

    def _others(self, place: int, world: int, round_: int) -> Floats:
        """Return what the other records of the user add to its row."""
        others: Floats = self.target.state.sums[place, : self._plan.size]
        if round_ >= self.record_round:
            others = others - packed_record(self.pair[world])
        return others

    def _entered(self, round_: int) -> int:
        """Return how many replaced records are in the release after a round."""
        return int(round_ >= self.record_round)


class PersonRun(FCLUBRun):
    """All records of one user are replaced, from its first one on.

    What is known of the user's row is what it must be: k of the replaced records, and nothing else.
    So it shows if more of them count.
    """

    def _replaces(self, round_: int) -> bool:
        return (round_ - 1) % USERS_OF_WORLD == self.user

    def _others(self, place: int, world: int, round_: int) -> Floats:
        return np.zeros(self._plan.size)

    def _entered(self, round_: int) -> int:
        visits = (round_ - 1 - self.user) // USERS_OF_WORLD + 1
        return min(visits, self._plan.constants.records_per_person)


def _record_pair(plan: FCLUBPlan, late: bool) -> tuple[Record, Record]:
    """Return the pair with rewards as they enter sums, less the offset: at most 1 - offset in size.

    A record of the first batch is in all releases, and the pair is as far apart as any. Later it
    misses some, so that noise which two of them share shows, and the pair differs in every number.
    """
    kind = different_records if late else opposite_records
    return kind(plan.constants.dimension, 1.0, 1.0 - plan.constants.offset)


# ---------------------------------------------------------------- contents


def contents_games(plan: FCLUBPlan) -> list[Game]:
    """Attack releases; running sums twice: with a record that is in all, and with a later one."""
    late = plan.sums is not None and plan.release_count > 1
    return [_contents_game(plan, one) for one in ((False, True) if late else (False,))]


def _contents_game(plan: FCLUBPlan, late: bool) -> ContentsGame:
    """Attack the row of the record's user, or of its cluster: both are drawn for every run."""
    config, moved = plan.config, packed_pair(_record_pair(plan, late))
    # A row is released by itself where sums of phases have no record in common.
    row = plan.sums or ContinualPlan("tree", 1, plan.deviation)
    steps = telling_releases(row)
    record = ReplacedRecord(moved, attacker(row, moved, steps), late, config.records_at_once)
    persons = f"{config.records_at_once} records of a user" if config.protects_persons else ""
    looks_at = (
        f"contents of {len(steps)} of {plan.release_count} releases, one drawn row"
        f"{record.words(persons)}"
    )
    look = partial(_look, plan, steps, record)
    return ContentsGame(looks_at, len(steps) * plan.size, look, late=late)


def _look(
    plan: FCLUBPlan, steps: Ints, record: ReplacedRecord, world: int, first: int, count: int
) -> Look:
    """Look at runs, each of which is one row of a server: rows share nothing but whose they are."""
    (batch,) = drawn_targets(first, count, max(1, len(steps) - 1))
    entered = record.entered(steps, record.batches(batch))
    sums, parts, done = entered[:, :, None] * record.pair[world], [], 0
    while done < count:
        parts.append(_one_server(plan, steps, sums[done:], first + done))
        done += len(parts[-1])
    return look_of(record.attacker, np.concatenate(parts), entered)


def _one_server(plan: FCLUBPlan, steps: Ints, sums: Floats, run: int) -> Floats:
    """Play as many runs as a drawn server has rows, or as are wanted, (runs, steps, size)."""
    counts = _row_counts(plan)
    server, alone = (int(drawn[0]) for drawn in drawn_targets(run, 1, len(counts), 2**20))
    wanted = min(counts[server], len(sums))
    rows = np.zeros((counts[server], *sums.shape[1:]))
    rows[:wanted] = sums[:wanted]
    # Where phases have no record in common any one of them is attacked.
    steps = steps if plan.sums is not None else np.array([alone % plan.release_count + 1])
    return _release_rows(plan, server, steps.tolist(), rows, run)[:wanted]


def _row_counts(plan: FCLUBPlan) -> list[int]:
    """Return how many rows every server releases at most."""
    users = user_counts(plan)
    return users if plan.releases == USERS else [min(n, plan.most_clusters) for n in users]


def _release_rows(
    plan: FCLUBPlan, server: int, steps: Sequence[int], sums: Floats, run: int
) -> Floats:
    """Make some releases of a server's rows (rows, steps, size), by the code of the simulation."""
    noise = partial(simulated_noise, plan, audit_key(run), server)
    draws, released, done = np.zeros((len(sums), plan.slots, plan.size)), [], 0
    for place, step in enumerate(steps):
        for before in range(done + 1, step if plan.slots else 0):  # that nobody looks at
            draws[:, before - 1] = noise(before)
        rows = sums[:, place].copy()
        released.append(simulated_rows(plan, step, draws, partial(noise, step), rows))
        done = step
    return np.stack(released, axis=1)


# ---------------------------------------------------------------- noise


def _simulated_numbers(plan: FCLUBPlan) -> NoisyNumbers:
    """Return all servers' releases as configured, by the code of the simulation."""
    rows = sum(_row_counts(plan))
    steps = some_releases(plan.release_count, rows * plan.size, plan.sums)
    stated = StatedNoise(f"{rows} rows of all servers", "row", _planned(plan, rows, steps))
    return stated.simulated(steps, plan.release_count, partial(_drawn, plan, steps))


def _secure_numbers(small: SmallWorld) -> NoisyNumbers:
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
    sums = [np.zeros((rows, len(steps), plan.size)) for rows in _row_counts(plan)]
    return np.stack([
        np.concatenate([
            _release_rows(plan, server, steps.tolist(), rows, _CHECKED + run)
            for server, rows in enumerate(sums)
        ])
        for run in range(first, first + count)
    ])  # fmt: skip


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
                exact, places = exact[:, : self._plan.size], server.users.tolist()
                if self._plan.releases != USERS:  # one cluster: what came in this phase
                    total, places = exact.sum(axis=0, keepdims=True), [index]
                    exact, self._before[index] = total - self._before[index], total
                noise = zip(places, rows - exact, strict=True)
                found += [(place, sent.release, row) for place, row in noise]
        return found
