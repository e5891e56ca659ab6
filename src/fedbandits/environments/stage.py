"""A world as the parties of one replicate see it: who acts, the situation, and the outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats
from fedbandits.environments.delay import Delay
from fedbandits.random import Key


class Stage:
    """One replicate of a world; it books regret and reward.

    What a situation, a decision and an outcome are belongs to the kind of environment.

    Parameters
    ----------
    world
        Arrays of the replicate's world.
    key
        It names the random draws.
    parties
        How many parties' regret and reward are told apart.
    """

    #: When outcomes are observed; None for at once. Whoever makes the stage sets it.
    delay: Delay | None = None
    #: Whether situations say who comes, as a :class:`.persons.Visit`. Whoever makes it sets it.
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
        """Add to what a player has lost and earned.

        Parameters
        ----------
        player
            Number of the player.
        regret
            What the decision has lost in expectation; NaN if that is not known.
        reward
            What it has earned; NaN if that is never observed.

        Returns
        -------
        float or None
            The reward; None if it is not observed.
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
