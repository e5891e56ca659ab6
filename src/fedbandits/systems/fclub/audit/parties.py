"""Two whole servers, with one record of one user replaced."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import attacker, stated_pattern
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub.audit.contents import record_pair
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.games import Look, Neighbours, drawn_targets, packed_record
from fedbandits.systems.paired_parties import covariance_of
from fedbandits.systems.party_games import (
    PARTY_RUNS,
    SECURE_RUNS,
    MessagesGame,
    Released,
    play_parties,
)
from fedbandits.systems.servers.audit import USERS as USERS_OF_WORLD
from fedbandits.systems.servers.audit import WORLD, ServersRun

ROUNDS = 64
_KINDS: tuple[Neighbours, ...] = ("fixed log", "interactive")


def small_plan(system: System[Any], config: FCLUB) -> FCLUBPlan:
    """The variant in the small world."""
    plan: FCLUBPlan = system.plan(config, WORLD.facts, ROUNDS)
    return plan


def messages_games(system: System[Any], config: FCLUB) -> list[Game]:
    """Two servers on a log and reacting; with a later record of running sums; with secure noise."""
    small = small_plan(system, config)
    found: list[Game] = [_messages_game(system, kind, config) for kind in _KINDS]
    one = not config.protects_persons
    if one and small.sums is not None and small.release_count > 1:
        found.append(_messages_game(system, "fixed log", config, late=True))
    found.append(_messages_game(system, "fixed log", config, secure=True))
    return found


def _messages_game(
    system: System[Any], neighbours: Neighbours, config: FCLUB, late: bool = False,
    secure: bool = False,
) -> MessagesGame:  # fmt: skip
    fixed, plan = neighbours == "fixed log", small_plan(system, config)
    follows = fixed or config.local_view == "released"
    informed = follows and plan.releases == USERS and plan.sums is not None
    # With secure noise a record of any time.
    first = int(plan.constants.phase_ends[0]) + 1 if late else 1
    last = int(plan.constants.phase_ends[0]) if not (late or secure) else ROUNDS
    pair = record_pair(plan.constants.dimension, plan.constants.offset, late or secure)
    play, what = FCLUBRun, ""
    if config.protects_persons:
        play, what, last = PersonRun, ", all records of a user", USERS_OF_WORLD

    def begin(run: int) -> FCLUBRun:
        (drawn,) = drawn_targets(run, 1, last - first + 1)
        parties = play_parties(system, plan, WORLD, run, secure)
        return play(parties, run, pair, fixed, informed, first + int(drawn[0]))

    which = ", a record of a later phase" if late else " with secure noise" if secure else ""
    looks_at = f"messages of 2 servers in {ROUNDS} rounds, of one drawn user{which}{what}"
    return MessagesGame(
        neighbours, looks_at, ROUNDS, begin, gaussian=informed,
        runs=SECURE_RUNS if secure else PARTY_RUNS,
        covariance=None if secure else _covariance(plan),
    )  # fmt: skip


def _covariance(plan: FCLUBPlan) -> Floats | None:
    """That of a user's row over time. None where rows are of clusters, whose users may change."""
    if plan.releases != USERS:
        return None
    return np.eye(plan.release_count) if plan.sums is None else covariance_of(plan.sums)


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
        self._entered: list[int] = []

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
        self._rows.append(row - self._known(server, place, world, round_))
        self._entered.append(self._count(round_))

    def released(self, message: Any) -> Released | None:
        """All rows that the server of the record's user releases at the end of a phase."""
        if not hasattr(message, "sums"):
            return None
        plan = self._plan
        scale = plan.deviation if plan.sums is None else plan.sums.scale
        rows = np.frombuffer(message.sums).reshape(-1, plan.size)
        deviations = scale * stated_pattern(1, plan.facts.dimension)
        return Released(message.release, (rows / deviations).reshape(-1))

    def _known(self, server: Any, place: int, world: int, round_: int) -> Floats:
        """What the other records of the user add to its row."""
        others: Floats = server.state.sums[place, : self._plan.size]
        if round_ >= self.record_round:
            others = others - packed_record(self.pair[world])
        return others

    def _count(self, round_: int) -> int:
        """How many replaced records are in the release after a round."""
        return int(round_ >= self.record_round)

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


class PersonRun(FCLUBRun):
    """All records of one user are replaced, from its first one on; parameters as above.

    What is known of the user's row is what it must be: k of the replaced records, and nothing else.
    So it shows if more of them count.
    """

    def _replaces(self, round_: int) -> bool:
        return (round_ - 1) % USERS_OF_WORLD == self.user

    def _known(self, server: Any, place: int, world: int, round_: int) -> Floats:
        return np.zeros(self._plan.size)

    def _count(self, round_: int) -> int:
        visits = (round_ - 1 - self.user) // USERS_OF_WORLD + 1
        return min(visits, self._plan.constants.records_per_person)
