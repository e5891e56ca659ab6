"""The sound FCLUB in two neighbouring worlds, for an audit.

:mod:`.releases` attacks releases as configured and looks at their noise, :mod:`.parties` attacks
two whole servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import Attacker, attacker, covariance_of, stated_pattern
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub.audit.releases import (
    contents_games,
    record_pair,
    secure_numbers,
    simulated_numbers,
)
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.games import Neighbours, packed_pair, packed_record
from fedbandits.systems.party_games import MessagesGame, Released, SmallWorld
from fedbandits.systems.servers.audit import USERS as USERS_OF_WORLD
from fedbandits.systems.servers.audit import WORLD, ServersRun


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
    return [simulated_numbers(plan), secure_numbers(small_world(system, config))]


ROUNDS = 64


def small_world(system: System[Any], config: FCLUB) -> SmallWorld:
    """Return the variant in the small world."""
    return SmallWorld(system, system.plan(config, WORLD.facts, ROUNDS), WORLD)


def messages_games(system: System[Any], config: FCLUB) -> list[Game]:
    """Attack two servers on a log and reacting; with a later record of sums; with secure noise."""
    small = small_world(system, config)
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
    pair = record_pair(plan.constants.dimension, plan.constants.offset, late or secure)
    play, what = FCLUBRun, ""
    if config.protects_persons:
        play, what, last = PersonRun, ", all records of a user", USERS_OF_WORLD

    def make(run: PartiesReplicate, number: int, drawn: int) -> FCLUBRun:
        return play(run, number, pair, fixed, informed, first + drawn)

    which = ", a record of a later phase" if late else " with secure noise" if secure else ""
    looks_at = f"messages of 2 servers in {ROUNDS} rounds, of one drawn user{which}{what}"
    return MessagesGame(
        neighbours, looks_at, small, (last - first + 1,), make, informed, secure,
        _covariance(plan),
    )  # fmt: skip


def _covariance(plan: FCLUBPlan) -> Floats | None:
    """Return that of a user's row over time; None of clusters, whose users may change."""
    if plan.releases != USERS:
        return None
    return np.eye(plan.release_count) if plan.sums is None else covariance_of(plan.sums)


class FCLUBRun(ServersRun):
    """Servers whose releases are looked at by someone who knows all records but one.

    If ``informed``, that is; the other parameters are those of :class:`.ServersRun`.
    """

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
        super().play_round(world, round_)
        if self.informed and round_ in self._plan.constants.phase_ends:
            self._hear(world, round_)

    def _hear(self, world: int, round_: int) -> None:
        """Note the released row of the record's user, its other records being known."""
        sent: list[Any] = [
            m for _, m in self.network.transcript.deliveries if m.sender == self.audited
        ]
        place = int(np.searchsorted(self.target.users, self.user))
        row = np.frombuffer(sent[-1].sums).reshape(-1, self._plan.size)[place]
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
    """All records of one user are replaced, from its first one on; parameters as above.

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
