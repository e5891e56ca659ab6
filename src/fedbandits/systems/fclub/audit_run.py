"""Whole servers of the sound FCLUB, at an audit's disposal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.clustered import Arrival
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.likelihood import Attacker, attacker, stated_pattern
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.fclub.plan import FCLUBPlan
from fedbandits.systems.games import audit_key, contexts, packed_pair, packed_record
from fedbandits.systems.party_games import Released, SmallWorld
from fedbandits.systems.servers.audit import DIMENSION, ITEMS, USERS, ServersRun
from fedbandits.systems.visits_audit import Visited


class FCLUBRun(ServersRun):
    """Servers whose releases, if ``informed``, are seen by someone who knows all but one record."""

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
        """Play it, and note the released row of the record's user: its other records are known."""
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
        """Return what the other records of the user add to its row."""
        others: Floats = self.target.state.sums[place, : self._plan.size]
        if round_ >= self.record_rounds[0]:
            others = others - packed_record(self.pair[world])
        return others

    def _entered(self, round_: int) -> int:
        """Return how many replaced records are in the release after a round."""
        return int(round_ >= self.record_rounds[0])


def visited_server(small: SmallWorld) -> Visited:
    """Return the first server of a small world, to which one of its users comes alone."""
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

    The known part of a user's row is what the row must be: k of the replaced records, and nothing
    else. So a server that counts more of them shows.
    """

    def _replaces(self, round_: int) -> bool:
        return (round_ - 1) % USERS in self.users

    def _others(self, place: int, world: int, round_: int) -> Floats:
        return np.zeros(self._plan.size)

    def _entered(self, round_: int) -> int:
        visits = (round_ - 1 - self.users[0]) // USERS + 1
        return min(visits, self._plan.constants.records_per_person)
