"""A contextual environment as parties meet it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fedbandits.environments.open_world import OpenWorld
from fedbandits.environments.persons import Visit
from fedbandits.environments.stage import Stage
from fedbandits.random import Key


class ContextualStage(Stage):
    """One replicate of a contextual environment, in which parties act.

    A situation is a decision set, (d, columns) float32, or a :class:`.persons.Visit` with one. A
    decision is an arm. An outcome is a reward.

    Parameters
    ----------
    open_world
        Opens the world; see :meth:`.base.ContextualEnvironment.open`.
    key
        Key of the random draws of this replicate.
    parties
        How many agents there are.
    """

    world: OpenWorld

    def __init__(self, open_world: Callable[..., OpenWorld], key: Key, parties: int) -> None:
        super().__init__(open_world(key), key, parties)
        self._best = 0

    def acting(self, round_: int) -> Iterable[int]:
        return self.world.acting(round_)

    def situation(self, round_: int, player: int) -> Any:
        self._best = self.world.fill(player, round_)
        features = self.world.features
        return Visit(str(self.world.person), features) if self.tells_persons else features

    def outcome(self, round_: int, player: int, decision: int) -> float | None:
        expected = self.world.expected
        gap = expected[self._best] - expected[decision]
        return self.book(player, gap, self.world.reward(decision, player, round_))
