"""The sound FCLUB in two neighbouring worlds, for an audit.

First the releases of servers as configured, with one record of a drawn user or cluster replaced,
and the noise of releases. Then four whole servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.clustered import Arrival
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import (
    Attacker,
    attacker,
    covariance_of,
    drawn_steps,
    stated_pattern,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.privacy.protocol_check import (
    MORE_VISITS,
    MOST_VISITS,
    ProtocolCheck,
    Visited,
    visits_check,
)
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub.declare import FCLUB, Growing
from fedbandits.systems.fclub.loop import simulated_noise, simulated_rows
from fedbandits.systems.fclub.messages import user_counts
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.fclub.state import released_sums
from fedbandits.systems.games import (
    ContentsGame,
    Neighbours,
    ReplacedRecord,
    audit_key,
    contexts,
    different_records,
    drawn_targets,
    look_at_sums,
    opposite_records,
    packed_pair,
    packed_record,
    stretched_records,
)
from fedbandits.systems.noisy_releases import (
    ReportsListener,
    StatedNoise,
    some_releases,
    stated_sums,
)
from fedbandits.systems.party_games import MessagesGame, Released, SmallWorld, Targets, moves
from fedbandits.systems.servers.audit import (
    DIMENSION,
    ITEMS,
    SERVERS,
    WORLD,
    ServersRun,
    rounds_of_servers,
)
from fedbandits.systems.servers.audit import USERS as USERS_OF_WORLD

#: Rounds of the small world, and the end of its first phase.
ROUNDS, _FIRST_END = 64, 20
#: Releases that whole servers make where they make all.
_MOST_RELEASES = 24
#: Keys of the draws of noise checks.
_CHECKED = 2**21


def games(system: System[Any], plan: FCLUBPlan) -> Sequence[Game]:
    """Return the games of an audit: releases as configured, then four servers in a small world."""
    if not plan.private:
        return []
    attacked = [*contents_games(plan), *messages_games(system, plan.config)]
    return [*attacked, *moves_games(system, plan)]


def noise_checks(system: System[Any], plan: FCLUBPlan) -> Sequence[NoisyNumbers]:
    """Return all releases of servers as configured, and of four servers with secure noise."""
    if not plan.private:
        return []
    return [_simulated_numbers(plan), _secure_numbers(_making_all(system, plan))]


def protocol_checks(system: System[Any], plan: FCLUBPlan) -> list[ProtocolCheck]:
    """Return a check of a user with too many visits; none where records are protected."""
    if not (plan.private and plan.config.protects_persons):
        return []
    most = min(plan.config.records_per_person, MOST_VISITS)
    visits = most + MORE_VISITS
    config = msgspec.structs.replace(
        plan.config, records_per_person=most, schedule=Growing(plan.config.schedule.factor, visits)
    )  # all in the first phase: another would begin with a release of all servers
    rounds = max(ROUNDS, 2 * visits)
    small = SmallWorld(system, system.plan(config, WORLD.facts, rounds), WORLD)
    return [visits_check("one server", most, lambda: visited_server(small))]


def _small_world(system: System[Any], config: FCLUB) -> SmallWorld:
    """Return the variant as four servers play it, with some phases in few rounds."""
    small = msgspec.structs.replace(config, schedule=Growing(config.schedule.factor, _FIRST_END))
    return SmallWorld(system, system.plan(small, WORLD.facts, ROUNDS), WORLD)


def _making_all(system: System[Any], plan: FCLUBPlan) -> SmallWorld:
    """Return four servers that make all releases of a plan, if not too many, one a round.

    Where releases are few, users of all servers have come before the first release.
    """
    releases = min(plan.release_count, _MOST_RELEASES)
    first = 1 if releases >= USERS_OF_WORLD else USERS_OF_WORLD
    small = msgspec.structs.replace(plan.config, schedule=Growing(1.01, first))
    if plan.releases != USERS:  # a single row of each server
        small = msgspec.structs.replace(small, clustering="population")
    return SmallWorld(system, system.plan(small, WORLD.facts, first + releases), WORLD)


# ---------------------------------------------------------------- whole servers


def messages_games(system: System[Any], config: FCLUB) -> list[Game]:
    """Attack four servers on a log and reacting; with a later record of sums; with secure noise."""
    small = _small_world(system, config)
    games: list[Game] = [_messages_game(small, "fixed log"), _messages_game(small, "interactive")]
    one = not config.protects_persons
    if one and small.plan.sums is not None and small.plan.release_count > 1:
        games.append(_messages_game(small, "fixed log", late=True))
    games.append(_messages_game(small, "fixed log", secure=True))
    return games


def _messages_game(
    small: SmallWorld, neighbours: Neighbours, late: bool = False, secure: bool = False
) -> MessagesGame:
    plan: FCLUBPlan = small.plan
    fixed = neighbours == "fixed log"
    follows = fixed or plan.config.local_view == "released"
    informed = follows and plan.releases == USERS and plan.sums is not None
    # With secure noise a record of any time.
    first = int(plan.constants.phase_ends[0]) + 1 if late else 1
    last = int(plan.constants.phase_ends[0]) if not (late or secure) else plan.rounds
    pair = _record_pair(plan, late or secure)
    which = ", a record of a later phase" if late else " with secure noise" if secure else ""
    return _replacing(small, pair, neighbours, which, (first, last), informed, secure)


def moves_games(system: System[Any], plan: FCLUBPlan) -> list[Game]:
    """Measure how far a record moves all releases of the plan, within its bounds and beyond."""
    small, offset = _making_all(system, plan), plan.constants.offset
    beyond = stretched_records(DIMENSION, 1.0, 1.0 - offset)
    rounds, words = (1, small.plan.rounds), f", {small.plan.release_count} releases"
    stretched = f", a record beyond its bounds{words}"
    return moves(
        _replacing(small, _record_pair(small.plan, False), "fixed log", words, rounds),
        _replacing(small, beyond, "fixed log", stretched, rounds),
    )


def _replacing(
    small: SmallWorld, pair: tuple[Record, Record], neighbours: Neighbours, which: str,
    rounds: tuple[int, int], informed: bool = False, secure: bool = False,
) -> MessagesGame:  # fmt: skip
    """Replace the record of one of ``rounds``, the first and the last, or all records of a user."""
    plan, (first, last), fixed = small.plan, rounds, neighbours == "fixed log"
    play, what = FCLUBRun, ""
    if plan.config.protects_persons:
        play, what, last = PersonRun, ", all records of a user", USERS_OF_WORLD

    rounds_of = rounds_of_servers(first, last)

    def make(run: PartiesReplicate, number: int, targets: Targets) -> FCLUBRun:
        replaced = [rounds_of[server][drawn] for server, drawn in targets]
        return play(run, number, pair, fixed, informed, replaced)

    looks_at = (
        f"messages of {SERVERS} servers in {plan.rounds} rounds, of one drawn user{which}{what}"
    )
    covariance = None
    if plan.releases == USERS or plan.most_clusters == 1:  # users of clusters may change
        covariance = np.eye(plan.release_count) if plan.sums is None else covariance_of(plan.sums)
    bounds = len(rounds_of), min(map(len, rounds_of))
    return MessagesGame(neighbours, looks_at, small, bounds, make, informed, secure, covariance)


def _record_pair(plan: FCLUBPlan, late: bool) -> tuple[Record, Record]:
    """Return the pair with rewards as they enter sums, less the offset: at most 1 - offset in size.

    A record of the first batch is in all releases, and the pair is as far apart as any. A late
    record misses some releases, so that noise in common to two releases shows, and the pair differs
    in every number.
    """
    kind = different_records if late else opposite_records
    return kind(plan.constants.dimension, 1.0, 1.0 - plan.constants.offset)


# ---------------------------------------------------------------- contents


def contents_games(plan: FCLUBPlan) -> list[Game]:
    """Attack releases; running sums twice: with a record of the first batch, and a later record."""
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
    look = look_at_sums(record, steps, partial(_released, plan, steps))
    return ContentsGame(looks_at, len(steps) * plan.size, look, late=late)


def _released(plan: FCLUBPlan, steps: Ints, sums: Floats, first: int) -> Floats:
    """Release sums (runs, steps, size), each run by one row of a server: rows share no noise."""
    parts, done = list[Floats](), 0
    while done < len(sums):
        parts.append(_one_server(plan, steps, sums[done:], first + done))
        done += len(parts[-1])
    return np.concatenate(parts)


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
        for before in range(done + 1, step if plan.slots else 0):  # releases between the steps
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
    stated = _stated(plan, f"{rows} rows of all servers", "row", steps)
    return stated.simulated(steps, plan.release_count, partial(_drawn, plan, steps))


def _secure_numbers(small: SmallWorld) -> NoisyNumbers:
    """Return all releases of four servers with the noise of a deployment."""
    plan: FCLUBPlan = small.plan
    steps = np.arange(1, plan.release_count + 1)
    who = "user" if plan.releases == USERS else "server"
    stated = _stated(plan, f"{SERVERS} servers", who, steps)
    home = np.arange(SERVERS)
    if plan.releases == USERS:
        home = np.asarray(plan.facts.home)[: len(stated.deviations)]
    return stated._replace(sources=home).deployed(small, partial(_reports, plan))


def _stated(plan: FCLUBPlan, who: str, party: str, steps: Ints) -> StatedNoise:
    """Return deviations and covariance as they are stated, of all rows."""
    rows, pattern = sum(_row_counts(plan)), stated_pattern(1, plan.facts.dimension)
    if plan.sums is not None:
        scales = np.full(rows, plan.sums.scale)
        return stated_sums(who, party, plan.sums, steps, scales, pattern)
    deviations = np.broadcast_to(plan.deviation * pattern, (rows, len(steps), len(pattern)))
    return StatedNoise(who, party, deviations, covariance=np.eye(len(steps)))


def _drawn(plan: FCLUBPlan, steps: Ints, run: int) -> tuple[Floats, Floats]:
    """Return the noise of all rows (rows, steps, size), and the draws in that noise."""
    names = steps if plan.sums is None else drawn_steps(plan.sums, steps)
    noise, given = [], []
    for server, rows in enumerate(_row_counts(plan)):
        sums = np.zeros((rows, len(steps), plan.size))
        noise.append(_release_rows(plan, server, steps.tolist(), sums, _CHECKED + run))
        draw = partial(simulated_noise, plan, audit_key(_CHECKED + run), server)
        given.append(np.stack([draw(step) for step in names.tolist()], axis=1))
    return np.concatenate(noise), np.concatenate(given)


def _reports(plan: FCLUBPlan, run: PartiesReplicate) -> ReportsListener:
    """Listen to the rows of users, or to each server's one cluster."""

    def exact(server: Any) -> Floats:
        sums = released_sums(server.state.sums, server.state.shared)[:, : plan.size]
        return sums if plan.releases == USERS else sums.sum(axis=0, keepdims=True)

    if plan.releases == USERS:
        return ReportsListener(run, exact, True, lambda place: run.players[place].users.tolist())
    return ReportsListener(run, exact, False)


# ---------------------------------------------------------------- runs of servers


class FCLUBRun(ServersRun):
    """Servers; an ``informed`` attacker of their releases knows all other records."""

    def __init__(
        self, run: PartiesReplicate, number: int, pair: tuple[Record, Record], fixed: bool,
        informed: bool, record_rounds: Sequence[int],
    ) -> None:  # fmt: skip
        plan: Any = run.plan
        self._plan: FCLUBPlan = plan
        offset, knows = self._plan.constants.offset, self._knows_others if informed else None
        super().__init__(run, number, pair, fixed, record_rounds, offset, attacker=knows)

    def _knows_others(self, steps: Ints) -> Attacker:
        sums: Any = self._plan.sums  # nobody is informed where there are none
        return attacker(sums, packed_pair(self.pair), steps)

    def play_round(self, world: int, round_: int) -> None:
        """Play a round, and note the released row of the attacked user, less other records."""
        super().play_round(world, round_)
        if self.informed and round_ in self._plan.constants.phase_ends:
            deliveries = self.network.transcript.deliveries
            sent: Any = [m for _, m in deliveries if m.sender == self.audited][-1]
            place = int(np.searchsorted(self.target.users, self.users[0]))
            row = np.frombuffer(sent.sums).reshape(-1, self._plan.size)[place]
            self.note(row - self._others(place, world, round_), self._entered(round_))

    def released(self, message: Any) -> Released | None:
        """Return all rows that a server releases at the end of a phase."""
        if not hasattr(message, "sums"):
            return None
        plan = self._plan
        scale = plan.deviation if plan.sums is None else plan.sums.scale
        rows = np.frombuffer(message.sums).reshape(-1, plan.size)
        deviations = scale * stated_pattern(1, plan.facts.dimension)
        return Released(message.release, (rows / deviations).reshape(-1))

    def _others(self, place: int, world: int, round_: int) -> Floats:
        """Return the sum of the other records in the row of the user."""
        others: Floats = self.target.state.sums[place, : self._plan.size]
        if round_ >= self.record_rounds[0]:
            others = others - packed_record(self.pair[world])
        return others

    def _entered(self, round_: int) -> int:
        """Return how many replaced records are in the release after a round."""
        return int(round_ >= self.record_rounds[0])


def visited_server(small: SmallWorld) -> Visited:
    """Return the first server of a small world, with visits of a single user."""
    server: Any = small.begin(0, secure=False).players[0]
    plan: FCLUBPlan = small.plan
    user, offset = int(server.users[0]), plan.constants.offset

    def comes(visit: int) -> Floats:
        items = contexts(audit_key(0), user, visit, DIMENSION, ITEMS, 1.0).astype(np.float32)
        decision = server.decide(Arrival(visit, user, items))
        server.observe(decision, 1.0)
        chosen = items[:, int(decision.action)].astype(np.float64)
        return packed_record(Record(chosen, 1.0 - offset))

    return Visited(server, lambda: server.state.shared[0, : plan.size], comes)


class PersonRun(FCLUBRun):
    """All records of some users are replaced, from the first record of each user on.

    The known part of a user's row is k of the replaced records, and nothing else. So a server that
    counts more records shows.
    """

    def _replaces(self, round_: int) -> bool:
        return (round_ - 1) % USERS_OF_WORLD in self.users

    def _others(self, place: int, world: int, round_: int) -> Floats:
        return np.zeros(self._plan.size)

    def _entered(self, round_: int) -> int:
        visits = (round_ - 1 - self.users[0]) // USERS_OF_WORLD + 1
        return min(visits, self._plan.constants.records_per_person)
