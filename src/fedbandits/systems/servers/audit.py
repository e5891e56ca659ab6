"""Local servers in two neighbouring worlds, for an audit: four servers with two users each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """A run of servers in :data:`WORLD` whose users come in turn; some have a replaced record.

    ``pair`` is the record in either world, its reward less ``offset``; it comes in each of
    ``record_rounds``, at most one of a server's users. The tastes of others are like these users'
    by ``likeness``, from -1 to 1. On a ``fixed`` log all items of a round are alike, so that no
    decision changes any record; ``number`` names the draws of an interactive run.
    """

    def __init__(
        self, run: PartiesReplicate, number: int, pair: tuple[Record, Record], fixed: bool,
        record_rounds: Sequence[int], offset: float = 0.0, likeness: float = -1.0,
        attacker: Callable[[Ints], Attacker] | None = None,
    ) -> None:  # fmt: skip
        #: Users who have the replaced records; the first one is attacked.
        self.users = [(round_ - 1) % USERS for round_ in record_rounds]
        super().__init__(run, [int(run.plan.facts.home[user]) for user in self.users], attacker)
        self.pair, self.record_rounds = pair, record_rounds
        self._offset, self._likeness = offset, likeness
        self._fixed, self._key = fixed, audit_key(0 if fixed else number)

    def play_round(self, world: int, round_: int) -> None:
        """Serve one user; then the round is over for all servers.

        A server learns nothing from a record that the server refuses.
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
        """Return the user and the items of a round, and the reward of a replaced record."""
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
        return round_ in self.record_rounds

    def _taste(self, arrival: Arrival, item: int) -> float:
        """Return a reward in [0, 1], linear in the item."""
        taste = 1.0 if arrival.user in self.users else self._likeness
        return 0.5 + 0.5 * taste * float(np.clip(arrival.items[0, item], -1, 1))


def rounds_of_servers(first: int, last: int) -> list[list[int]]:
    """Return the rounds in which users of each server come, of servers that have any.

    The rounds are those from ``first`` to ``last``.
    """
    rounds_of: dict[int, list[int]] = {}
    for round_ in range(first, last + 1):
        rounds_of.setdefault(int(WORLD.facts.home[(round_ - 1) % USERS]), []).append(round_)
    return list(rounds_of.values())
