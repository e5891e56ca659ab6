"""Coins to toss: a world in plain Python."""

from __future__ import annotations

import numpy as np

import fedbandits as fb
from fedbandits.draws import Draws


@fb.register
class Coins(fb.environments.PythonEnvironment, frozen=True, kw_only=True, tag="coins"):
    """Coins to toss. Each shows heads with a probability of its own, the same for all agents.

    Parameters
    ----------
    coins
        How many there are. The context of a coin is its unit vector.
    """

    coins: fb.environments.base.Arms = 5

    @property
    def dimension(self) -> int:
        return self.coins

    @property
    def arm_count(self) -> int:
        return self.coins

    def begin(self, draws: Draws) -> np.ndarray:
        return draws.uniform(self.coins)

    def decision_set(
        self, world: np.ndarray, agent: int, round_: int, draws: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        return np.eye(self.coins), world
