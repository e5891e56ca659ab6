"""What drivers of one replicate have in common: compiled ones, and those that let parties play."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import Environment
from fedbandits.federation.memory import MemoryNetwork
from fedbandits.random import Key, replicate_key


class Replicate:
    """A world, and the key that names all draws in it.

    Parameters
    ----------
    environment
        Where it is played.
    rounds
        T.
    seed, replicate
        Name the draws.
    """

    def __init__(self, environment: Environment, rounds: int, seed: int, replicate: int) -> None:
        self.key: Key = replicate_key(seed, replicate)
        self.rounds = rounds
        self.world: Any = environment.world(self.key)


class TalliedReplicate(Replicate):
    """A compiled simulation whose state has a ``tally`` of every party's regret and reward."""

    state: Any

    @property
    def regret(self) -> Floats:
        """Cumulative regret of every party."""
        regret: Floats = self.state.tally.regret
        return regret

    @property
    def reward(self) -> Floats:
        """Cumulative reward of every party."""
        reward: Floats = self.state.tally.reward
        return reward


class CountedMessages:
    """Parties whose network counts what it delivers."""

    network: MemoryNetwork

    @property
    def messages(self) -> int:
        """Messages delivered so far."""
        return self.network.transcript.messages.total()

    @property
    def bytes(self) -> int:
        """Bytes of payload delivered so far."""
        return self.network.transcript.payload_bytes


class PartyReplicate(Replicate, CountedMessages):
    """Parties that play side by side in one process."""

    def __init__(self, environment: Environment, rounds: int, seed: int, replicate: int) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.regret: Floats = np.zeros(environment.parties)
        self.reward: Floats = np.zeros(environment.parties)
        self.done = 0
