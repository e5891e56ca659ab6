"""The sound FCLUB in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message
from fedbandits.learners.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import (
    Attacker,
    attacker,
    stated_deviations,
    stated_pattern,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.loop import simulated_noise, simulated_rows
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    Neighbours,
    audit_key,
    different_records,
    drawn_targets,
    opposite_records,
    packed_record,
)
from fedbandits.systems.noisy_releases import (
    Listener,
    Names,
    PartiesNoise,
    parties_numbers,
    scaled,
    some_releases,
)
from fedbandits.systems.party_games import (
    PARTY_RUNS,
    SECURE_RUNS,
    MessagesGame,
    play_parties,
)
from fedbandits.systems.servers.audit import WORLD, ServersRun

_ROUNDS = 64
_KINDS: tuple[Neighbours, ...] = ("fixed log", "interactive")
#: Keys of draws that nothing else here has.
_CHECKED = 2**21


def games(system: System[Any], plan: FCLUBPlan) -> Sequence[Game]:
    """What an audit plays: releases as configured, then two servers in a small world."""
    if not plan.private:
        return []
    sums = plan.sums is not None
    found: list[Game] = [_contents_game(plan, late=False)]
    if sums and plan.release_count > 1:
        found.append(_contents_game(plan, late=True))
    found += [_messages_game(system, kind, plan.config) for kind in _KINDS]
    if sums and _small(system, plan.config).release_count > 1:
        found.append(_messages_game(system, "fixed log", plan.config, late=True))
    found.append(_messages_game(system, "fixed log", plan.config, secure=True))
    return found


def noise_checks(system: System[Any], plan: FCLUBPlan) -> Sequence[NoisyNumbers]:
    """All that servers release: as configured, and as two of them with secure noise."""
    if not plan.private:
        return []
    # One row a server, whatever its users are like.
    small = _small(system, msgspec.structs.replace(plan.config, clustering="population"))
    if plan.releases == USERS:
        small = _small(system, plan.config)
    rows = sum(_row_counts(small))
    deviations = np.broadcast_to(_planned(small, _steps(small)), (rows, *_planned_shape(small)))
    played = PartiesNoise(system, small, WORLD, deviations, partial(_Heard, small))
    who = "user" if plan.releases == USERS else "server"
    return [_compiled_numbers(plan), parties_numbers(played, "2 servers", who, _number)]


def _small(system: System[Any], config: FCLUB) -> FCLUBPlan:
    """The variant in the small world."""
    plan: FCLUBPlan = system.plan(config, WORLD.facts, _ROUNDS)
    return plan


def _records(dimension: int, offset: float, late: bool) -> tuple[Record, Record]:
    """The pair with rewards as they enter sums, less ``offset``: at most 1 - offset in size.

    A record of the first batch is in all releases, and the pair is as far apart as any. Later it
    misses some, so that noise which two of them share shows, and the pair differs in every number.
    """
    kind = different_records if late else opposite_records
    return kind(dimension, 1.0, 1.0 - offset)


def _released(plan: FCLUBPlan) -> ContinualPlan:
    """How a row is released, by itself where sums of phases have no record in common."""
    return plan.sums or ContinualPlan("tree", 1, plan.deviation)


def _row_counts(plan: FCLUBPlan) -> list[int]:
    """How many rows every server releases at most."""
    users = np.bincount(plan.facts.home, minlength=plan.constants.servers)
    return (users if plan.releases == USERS else np.minimum(users, plan.most_clusters)).tolist()


# ------------------------------------------------------------------------- releases as configured


class _Setting(NamedTuple):
    """What is attacked, and by whom."""

    plan: FCLUBPlan
    steps: Ints
    late: bool
    pair: tuple[Floats, Floats]
    attacker: Attacker


def _contents_game(plan: FCLUBPlan, late: bool) -> ContentsGame:
    """The row of the record's user, or of its cluster: both are drawn for every run."""
    constants = plan.constants
    pair = _records(constants.dimension, constants.offset, late)
    moved = packed_record(pair[0]), packed_record(pair[1])
    steps = telling_releases(_released(plan))
    setting = _Setting(plan, steps, late, moved, attacker(_released(plan), moved, steps))
    which = ", a record of a drawn batch" if late else ""
    looks_at = f"contents of {len(steps)} of {plan.release_count} releases, one drawn row{which}"
    return ContentsGame(looks_at, len(steps) * plan.size, partial(_look, setting))


def _look(setting: _Setting, world: int, first: int, count: int) -> Look:
    """Each row of a server is a run: they share nothing but whose they are."""
    steps, parts, done = setting.steps, [], 0
    (batch,) = drawn_targets(first, count, max(1, len(steps) - 1))
    batch = batch + 2 if setting.late else np.ones_like(batch)
    entered = (steps >= batch[:, None]).astype(np.float64)
    while done < count:
        parts.append(_one_server(setting, entered[done:], setting.pair[world], first + done))
        done += len(parts[-1])
    values = np.concatenate(parts)
    scores = setting.attacker.scores(values, entered, np.ones(count))
    return Look(values.reshape(count, -1), scores, setting.attacker.bare(values, entered))


def _one_server(setting: _Setting, entered: Floats, record: Floats, run: int) -> Floats:
    """As many runs as a drawn server has rows, or as are wanted, (runs, steps, size)."""
    plan, counts = setting.plan, _row_counts(setting.plan)
    server, alone = (int(drawn[0]) for drawn in drawn_targets(run, 1, len(counts), 2**20))
    rows, wanted = counts[server], min(counts[server], len(entered))
    sums = np.zeros((rows, len(setting.steps), plan.size))
    sums[:wanted] = entered[:wanted, :, None] * record
    # Where phases have no record in common any one of them is attacked.
    steps = setting.steps if plan.sums is not None else [alone % plan.release_count + 1]
    released = _release(plan, server, list(steps), sums, run)
    return released[:wanted]


def _release(
    plan: FCLUBPlan, server: int, steps: Sequence[int], sums: Floats, run: int
) -> Floats:
    """Some releases of one server's rows (rows, steps, size), by the code of the simulation."""
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


# ------------------------------------------------------------------------------ checks of noise


def _steps(plan: FCLUBPlan) -> Ints:
    return np.arange(1, plan.release_count + 1)


def _planned_shape(plan: FCLUBPlan) -> tuple[int, int]:
    return plan.release_count, plan.size


def _planned(plan: FCLUBPlan, steps: Ints) -> Floats:
    """Deviations of a row's numbers in some releases, (steps, size), as they are stated."""
    pattern = stated_pattern(1, plan.facts.dimension)
    by_release = np.full(len(steps), plan.deviation)
    if plan.sums is not None:
        by_release = stated_deviations(plan.sums, steps)
    return np.outer(by_release, pattern)


def _number(place: int) -> str:
    return f"number {place}"


def _compiled_numbers(plan: FCLUBPlan) -> NoisyNumbers:
    rows = sum(_row_counts(plan))
    steps = some_releases(plan.release_count, rows * plan.size, plan.sums)
    deviations = np.broadcast_to(_planned(plan, steps), (rows, len(steps), plan.size))
    some = "" if len(steps) == plan.release_count else f"{len(steps)} of "
    return NoisyNumbers(
        looks_at=f"{some}{plan.release_count} releases of {rows} rows of all servers, as compiled",
        count=deviations.size,
        planned=rows * plan.release_count * plan.size,
        noise=scaled(partial(_drawn, plan, steps), deviations),
        name=Names("row", steps, plan.size, _number),
    )


def _drawn(plan: FCLUBPlan, steps: Ints, first: int, count: int) -> Floats:
    noise = []
    for run in range(_CHECKED + first, _CHECKED + first + count):
        shapes = [(rows, len(steps), plan.size) for rows in _row_counts(plan)]
        noise.append(
            np.concatenate(
                [
                    _release(plan, server, steps.tolist(), np.zeros(shape), run)
                    for server, shape in enumerate(shapes)
                ]
            )
        )
    return np.stack(noise)


class _Heard:
    """What servers release, less the sums that they stand for."""

    def __init__(self, plan: FCLUBPlan, run: PartiesReplicate) -> None:
        self._plan, self._servers = plan, run.players
        self._before = [np.zeros((1, plan.size)) for _ in run.players]

    def __call__(self, messages: list[Message]) -> list[tuple[int, int, Floats]]:
        found: list[tuple[int, int, Floats]] = []
        for index, server in enumerate(self._servers):
            for sent in (m for m in messages if m.sender == server.name):
                rows = np.frombuffer(sent.sums).reshape(-1, self._plan.size)
                exact = server.sums[:, : self._plan.size]
                places = server.users
                if self._plan.releases != USERS:  # one cluster: what came in this phase
                    total, places = exact.sum(axis=0, keepdims=True), np.array([index])
                    exact, self._before[index] = total - self._before[index], total
                found += [
                    (int(place), sent.release, row)
                    for place, row in zip(places, rows - exact, strict=True)
                ]
        return found


# -------------------------------------------------------------------------------- whole parties


def _messages_game(
    system: System[Any], neighbours: Neighbours, config: FCLUB, late: bool = False,
    secure: bool = False,
) -> MessagesGame:  # fmt: skip
    fixed, plan = neighbours == "fixed log", _small(system, config)
    follows = fixed or config.local_view == "released"
    informed = follows and plan.releases == USERS and plan.sums is not None
    # With secure noise a record of any time.
    first = int(plan.constants.phase_ends[0]) + 1 if late else 1
    last = int(plan.constants.phase_ends[0]) if not (late or secure) else _ROUNDS
    pair = _records(plan.constants.dimension, plan.constants.offset, late or secure)

    def begin(run: int) -> FCLUBRun:
        (drawn,) = drawn_targets(run, 1, last - first + 1)
        parties = play_parties(system, plan, WORLD, run, secure)
        return FCLUBRun(parties, run, pair, fixed, informed, first + int(drawn[0]))

    which = ", a record of a later phase" if late else " with secure noise" if secure else ""
    return MessagesGame(
        neighbours, f"messages of 2 servers in {_ROUNDS} rounds, of one drawn user{which}", _ROUNDS,
        begin, gaussian=informed, runs=SECURE_RUNS if secure else PARTY_RUNS,
    )  # fmt: skip


class FCLUBRun(ServersRun):
    """Servers whose releases are looked at by someone who knows all records but one.

    Parameters
    ----------
    run, number, pair, fixed
        The parties and their network, the number that names the draws of an interactive run, the
        record in either world, and whether all items of a round are alike.
    informed
        Whether to look at what is sent.
    record_round
        The round of the replaced record: that of the user who comes then.
    """

    def __init__(
        self, run: PartiesReplicate, number: int, pair: tuple[Record, Record], fixed: bool,
        informed: bool, record_round: int,
    ) -> None:  # fmt: skip
        plan: Any = run.plan
        offset = plan.constants.offset
        super().__init__(run, number, pair, fixed, offset, record_round=record_round)
        self._plan: FCLUBPlan = plan
        self._informed = informed
        #: The rows of the record's user, less what its other records add.
        self._rows: list[Floats] = []
        self._entered: list[bool] = []

    def play_round(self, world: int, round_: int) -> None:
        super().play_round(world, round_)
        if self._informed and round_ in self._plan.constants.phase_ends:
            self._hear(world, round_)

    def _hear(self, world: int, round_: int) -> None:
        """Note the released row of the record's user, its other records being known."""
        server = self.run.players[self.server]
        sent = [m for _, m in self.network.transcript.deliveries if m.sender == server.name]
        place = int(np.searchsorted(server.users, self.user))
        row = np.frombuffer(sent[-1].sums).reshape(-1, self._plan.size)[place]
        others = server.sums[place, : self._plan.size]
        if round_ >= self.record_round:
            others = others - packed_record(self.pair[world])
        self._rows.append(row - others)
        self._entered.append(round_ >= self.record_round)

    def look(self) -> Look | None:
        """The likelihood ratio and numbers without noise, if others' records are known."""
        if not self._informed or self._plan.sums is None:
            return None
        values, entered = np.array(self._rows)[None], np.array([self._entered], np.float64)
        moved = packed_record(self.pair[0]), packed_record(self.pair[1])
        steps = np.arange(1, len(self._rows) + 1)
        sees = attacker(self._plan.sums, moved, steps)
        scores = sees.scores(values, entered, np.ones(1))
        return Look(values.reshape(1, -1), scores, sees.bare(values, entered))
