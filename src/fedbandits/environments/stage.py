"""A world as the parties of one replicate see it: who acts, the situation, and the outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats
from fedbandits.environments.delay import Delay
from fedbandits.environments.open_world import OpenWorld
from fedbandits.random import Key


class Stage:
    """One replicate of a world; it books regret and reward of so many ``parties``.

    What a situation, a decision and an outcome are belongs to the kind of environment.
    """

    #: When outcomes are observed; None for at once. Whoever makes the stage sets it.
    delay: Delay | None = None
    #: Whether situations say who comes, as a :class:`Visit`. Whoever makes it sets it.
    tells_persons: bool = False

    def __init__(self, world: Any, key: Key, parties: int) -> None:
        self.world, self.key = world, key
        #: (parties,) cumulative.
        self.regret: Floats = np.zeros(parties)
        #: (parties,) cumulative.
        self.reward: Floats = np.zeros(parties)

    def acting(self, round_: int) -> Iterable[int]:
        """List the players that act in round ``round_`` by number, in ascending order."""
        raise NotImplementedError

    def situation(self, round_: int, player: int) -> Any:
        """Return the situation in which ``player`` decides in round ``round_``."""
        raise NotImplementedError

    def outcome(self, round_: int, player: int, decision: Any) -> Any:
        """Book the ``decision`` of ``player`` in round ``round_``; return what it observes.

        None if it observes nothing: the party then lets go of the decision.
        """
        raise NotImplementedError

    def book(self, player: int, regret: float, reward: float) -> float | None:
        """Add to what a player has lost in expectation and earned; return the reward.

        NaN is a regret that is not known, or a reward that is never observed: then return None.
        """
        if not math.isnan(reward):
            self.reward[player] += reward
        if not math.isnan(regret):
            self.regret[player] += regret
        return None if math.isnan(reward) else reward


def noted_in(world: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of ``world`` that change in a run, by name: checkpoints keep them.

    They are in a named tuple that is called ``noted``. Most worlds have none.
    """
    noted = getattr(world, "noted", None)
    return {} if noted is None else dict(noted._asdict())


class Visit(NamedTuple):
    """A situation, and the person for whom a decision is made, where persons come again and again.

    A privacy guarantee for persons counts their records, so it must be known whose each record is.
    Who comes, and when, is public there: it never depends on what was shown, chosen or earned.
    """

    person: str  # a name, the same in all visits of that person to one party
    situation: Any  # what the decision is made on


class ContextualStage(Stage):
    """One replicate of a contextual environment, in which parties act.

    A situation is a decision set, (d, columns) float32, or a :class:`Visit` with one. A decision is
    an arm, an outcome a reward. ``open_world`` is :meth:`.base.ContextualEnvironment.open`.
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
