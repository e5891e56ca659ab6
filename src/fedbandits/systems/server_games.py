"""Who comes and what is shown, where an audit makes it up: two servers with two users each."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._typing import Floats32
from fedbandits.environments.clustered import Clustered
from fedbandits.systems.games import Record, audit_key, contexts

USERS, DIMENSION, ITEMS = 4, 2, 2


def small_clusters() -> Clustered:
    """The world that whole systems are audited in."""
    return Clustered(users=USERS, clusters=2, servers=2, dim=DIMENSION, items=ITEMS)


class ServersRun:
    """Users who come in turn; what the first one is shown once, and what it earns, differs.

    Parameters
    ----------
    world
        Of the environment; only who lives where counts.
    pair
        The record in either world, rewards less ``offset``.
    offset
        What is taken off rewards before they enter sums.
    fixed
        All items of a round are alike: no decision changes any record.
    run
        Names the draws of an interactive run; a fixed log is one log.
    likeness
        Of the other users' tastes with the first one's, from -1 to 1.
    record_round
        In which the replaced record comes; one of the first user's.
    """

    def __init__(
        self, world: Any, pair: tuple[Record, Record], offset: float, fixed: bool, run: int,
        likeness: float = -1.0, record_round: int = 1,
    ) -> None:  # fmt: skip
        self.pair, self._round = pair, record_round
        self._home, self._offset, self._fixed = world.server, offset, fixed
        self._key, self._likeness = audit_key(0 if fixed else run), likeness

    def user(self, round_: int) -> int:
        """Who comes in a round."""
        return (round_ - 1) % USERS

    def arrival(self, world: int, round_: int) -> tuple[int, int, Floats32, float | None]:
        """Server, place there, items (d, K), and the reward where it is settled beforehand."""
        user = self.user(round_)
        server = int(self._home[user])
        place = int((self._home[:user] == server).sum())
        if round_ == self._round:
            record = self.pair[world]
            items = np.tile(record.context[:, None], ITEMS).astype(np.float32)
            return server, place, items, record.reward + self._offset
        drawn = contexts(self._key, user, round_, DIMENSION, ITEMS, 1.0)
        if self._fixed:
            drawn[:] = drawn[:, :1]
        return server, place, drawn.astype(np.float32), None

    def earned(self, user: int, item: Floats32, settled: float | None) -> float:
        """A reward in [0, 1]; linear in the item where it is not settled."""
        taste = 1.0 if user == 0 else self._likeness
        return 0.5 + 0.5 * taste * float(np.clip(item[0], -1, 1)) if settled is None else settled
