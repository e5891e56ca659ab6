"""A contextual environment as parties meet it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats32
from fedbandits.environments.base import (
    ContextualEnvironment,
    draw_decision_set,
    draw_reward,
)
from fedbandits.environments.choices import note_choice
from fedbandits.environments.joining import acting_in, joined
from fedbandits.environments.persons import Visit, draw_person
from fedbandits.environments.stage import Stage
from fedbandits.random import Key


@compiled
def draw_chosen_reward(
    world: Any, expected: Floats32, key: Key, agent: int, round_: int, arm: int
) -> float:
    """Call :func:`note_choice` and :func:`draw_reward` from outside compiled code.

    Parameters
    ----------
    world
        The world of the replicate.
    expected
        The expected rewards of all arms.
    key, agent, round_
        Key of the random draws, number of the agent, and the round.
    arm
        The arm that was chosen.
    """
    note_choice(world, agent, round_, arm)
    return draw_reward(world, expected[arm], key, agent, round_)


class ContextualStage(Stage):
    """One replicate of a contextual environment, in which parties act.

    A situation is a decision set, (d, columns) float32, or a :class:`.persons.Visit` with one. A
    decision is an arm. An outcome is a reward.

    Parameters
    ----------
    environment
        The environment of which this is one replicate.
    key
        Key of the random draws of this replicate.
    """

    def __init__(self, environment: ContextualEnvironment, key: Key) -> None:
        world = joined(environment, environment.world(key))
        super().__init__(world, key, environment.parties)
        facts = environment.facts
        self._features = np.zeros(facts.features_shape, np.float32)
        self._expected = np.zeros(facts.arms, np.float32)
        self._best = 0

    def acting(self, round_: int) -> Iterable[int]:
        return acting_in(self.world, len(self.regret), round_)

    def situation(self, round_: int, player: int) -> Any:
        self._best = draw_decision_set(
            self.world, self.key, player, round_, self._features, self._expected
        )
        if not self.tells_persons:
            return self._features
        person = draw_person(self.world, self.key, player, round_)
        return Visit(str(person), self._features)

    def outcome(self, round_: int, player: int, decision: int) -> float | None:
        expected = self._expected
        reward = draw_chosen_reward(self.world, expected, self.key, player, round_, decision)
        return self.book(player, expected[self._best] - expected[decision], reward)
