"""Local servers in two neighbouring worlds, for an audit: four servers with two users each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from fedbandits._typing import Ints
from fedbandits.environments.clustered import Arrival, Clustered
from fedbandits.errors import BoundExceededError
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.likelihood import Attacker
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import audit_key, contexts
from fedbandits.systems.party_games import AuditedRun

SERVERS, USERS, DIMENSION, ITEMS = 4, 8, 2, 2
#: The world that whole systems are audited in.
WORLD = Clustered(users=USERS, clusters=2, servers=SERVERS, dim=DIMENSION, items=ITEMS)


class ServersRun(AuditedRun):
    """Users who come in turn; what one of them is shown once, and what it earns, differs.

    The parties play in :data:`WORLD`. In ``record_round`` the user who comes then has the replaced
    record: ``pair`` is that record in either world, its reward less ``offset``. The tastes of
    others are like that user's by ``likeness``, from -1 to 1. In a ``fixed`` log all items of a
    round are alike, so that no decision changes any record; an interactive run's draws are named
    by ``number``.
    """

    def __init__(
        self, run: PartiesReplicate, number: int, pair: tuple[Record, Record], fixed: bool,
        record_round: int, offset: float = 0.0, likeness: float = -1.0,
        attacker: Callable[[Ints], Attacker] | None = None,
    ) -> None:  # fmt: skip
        #: Who has the replaced record, and which server serves that user.
        self.user = (record_round - 1) % USERS
        super().__init__(run, int(run.plan.facts.home[self.user]), attacker)
        self.pair, self.record_round = pair, record_round
        self._offset, self._likeness = offset, likeness
        self._fixed, self._key = fixed, audit_key(0 if fixed else number)

    def play_round(self, world: int, round_: int) -> None:
        """Serve one user; then the round is over for all servers.

        A server may refuse a record, and then learns nothing of it.
        """
        arrival, settled = self._arrival(world, round_)
        server = self.run.players[self.run.plan.facts.home[arrival.user]]
        with suppress(BoundExceededError):
            decision = server.decide(arrival)
            reward = self._taste(arrival, decision.action) if settled is None else settled
            self.network.send(server.observe(decision, reward))
        self.network.settle()
        for other in self.run.players:
            self.network.send(other.end_round(round_))
        self.network.settle()

    def _arrival(self, world: int, round_: int) -> tuple[Arrival, float | None]:
        """Return who comes and what is shown, and the reward where it is settled beforehand."""
        user = (round_ - 1) % USERS
        if self._replaces(round_):
            record = self.pair[world]
            items = np.tile(record.context[:, None], ITEMS).astype(np.float32)
            return Arrival(round_, user, items), record.reward + self._offset
        drawn = contexts(self._key, user, round_, DIMENSION, ITEMS, 1.0)
        if self._fixed:
            drawn[:] = drawn[:, :1]
        return Arrival(round_, user, drawn.astype(np.float32)), None

    def _replaces(self, round_: int) -> bool:
        """Tell whether the record of a round is a replaced one."""
        return round_ == self.record_round

    def _taste(self, arrival: Arrival, item: int) -> float:
        """Return a reward in [0, 1], linear in the item."""
        taste = 1.0 if arrival.user == self.user else self._likeness
        return 0.5 + 0.5 * taste * float(np.clip(arrival.items[0, item], -1, 1))
