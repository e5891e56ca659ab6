"""A clustered world as its servers meet it: a user comes, and items can be recommended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.environments.kernels.arrivals import (
    draw_arrival,
    draw_item_reward,
    draw_items,
    fill_expected,
)
from fedbandits.environments.stage import Stage
from fedbandits.random import Key


class Arrival(NamedTuple):
    """A user who has come to its server, and what can be recommended."""

    round_: int
    user: int
    items: Floats32  # (d, K)


class ClusteredStage(Stage):
    """The server of the user that arrives acts; a decision is an item, an outcome a reward.

    Regret and reward are booked for users.
    """

    def __init__(self, world: Any, key: Key, users: int) -> None:
        super().__init__(world, key, users)
        self._items = np.zeros((world.theta.shape[1], world.items), np.float32)
        self._expected: Floats = np.zeros(world.items)
        self._user = self._best = 0

    def acting(self, round_: int) -> Iterable[int]:
        self._user = int(draw_arrival(self.world, self.key, round_))
        return (int(self.world.server[self._user]),)

    def situation(self, round_: int, player: int) -> Arrival:
        draw_items(self.world, self.key, round_, self._items)
        self._best = fill_expected(self.world, self._user, round_, self._items, self._expected)
        return Arrival(round_, self._user, self._items)

    def outcome(self, round_: int, player: int, decision: int) -> float:
        expected = self._expected
        reward = float(draw_item_reward(expected[decision], self.key, round_))
        self.regret[self._user] += expected[self._best] - expected[decision]
        self.reward[self._user] += reward
        return reward
