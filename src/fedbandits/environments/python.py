"""A world in plain Python: contexts and expected rewards come from numpy code.

Compiled loops call back into Python for every decision set, so it is slower than one that is
compiled. All systems can play in it, and meet the same draws.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.draws import Draws
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.environments.stage import Stage
from fedbandits.errors import BoundExceededError, DataError
from fedbandits.random import Key, Purpose

#: Rounding of contexts to float32 may add so much to their norm.
_ROUNDING = 1e-6


class PythonWorld(NamedTuple):
    """One replicate of a :class:`PythonEnvironment`, as compiled code takes it."""

    number: int  # which environment it is, see :func:`environment_number`


class PythonEnvironment(ContextualEnvironment, frozen=True, kw_only=True):
    """A contextual environment in plain Python.

    A subclass has its settings as fields, says how large a decision set is
    (:attr:`dimension`, :attr:`arm_count`), and makes decision sets::

        @fb.register
        class Coins(fb.environments.PythonEnvironment, tag="coins"):
            "Coins to toss; the context of an arm is its unit vector."

            coins: int = 5

            @property
            def dimension(self):
                return self.coins

            @property
            def arm_count(self):
                return self.coins

            def begin(self, draws):
                return draws.uniform(self.coins)

            def decision_set(self, world, agent, round_, draws):
                return np.eye(self.coins), world

    What it makes must follow from its arguments alone. Different systems ask in different orders,
    and each must meet the same world.
    """

    def begin(self, draws: Draws) -> Any:
        """What is drawn once for each replicate; given to all other methods as ``world``.

        Parameters
        ----------
        draws : Draws
            The source of all that is random in it.
        """
        del draws

    def decision_set(
        self, world: Any, agent: int, round_: int, draws: Draws
    ) -> tuple[Floats, Floats]:
        """What an agent can choose from in a round.

        Parameters
        ----------
        world
            What :meth:`begin` returned.
        agent, round_ : int
            Number of the agent, from 0, and of the round, from 1.
        draws : Draws
            The source of all that is random in it.

        Returns
        -------
        contexts : (arms, d) float
            A row an arm; of norm at most ``facts.context_norm``. Where every arm has a model of
            its own (:attr:`models`): (1, d).
        expected : (arms,) float
            Every arm's expected reward, within ``facts.reward_range``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no decision_set")

    def draw_reward(self, world: Any, expected: float, draws: Draws) -> float:
        """The reward of an arm with that expected reward; by default 1 or 0.

        Parameters
        ----------
        world
            What :meth:`begin` returned.
        expected : float
            As :meth:`decision_set` gave it.
        draws : Draws
            The source of its randomness: the same for all systems in the same agent and round.

        Returns
        -------
        float
            Within ``facts.reward_range``.
        """
        del world
        return float(draws.bernoulli(expected))

    def world(self, key: Key) -> PythonWorld:
        # Compiled loops are what asks for it: they need the way back into Python.
        from fedbandits.environments import python_calls

        del key
        return PythonWorld(python_calls.number_of(self))

    def stage(self, key: Key) -> PythonStage:  # type: ignore[override]
        return PythonStage(self, key)


class Shown(NamedTuple):
    """A decision set that was held to what the facts say."""

    features: Floats32  # (d, arms), or (d, 1) with a model an arm
    expected: Floats32  # (arms,)

    @property
    def best(self) -> int:
        """The arm with the largest expected reward."""
        return int(np.argmax(self.expected))


@functools.lru_cache(maxsize=4096)
def begun(environment: PythonEnvironment, key: Key) -> Any:
    """The world of a replicate; made anew when it was forgotten, which changes nothing."""
    return environment.begin(Draws(key, 0, 0, Purpose.WORLD))


def show(environment: PythonEnvironment, key: Key, agent: int, round_: int) -> Shown:
    """A decision set of an environment, checked.

    Raises
    ------
    DataError
        If it has another shape than the facts say, or holds what is no number.
    BoundExceededError
        If it is not within the bounds of the facts: privacy rests on them.
    """
    facts, name = environment.facts, type(environment).__name__
    draws = Draws(key, agent, round_, Purpose.CONTEXT)
    found = environment.decision_set(begun(environment, key), agent, round_, draws)
    try:
        contexts, expected = found
        features = np.asarray(contexts, np.float32).T
        rewards = np.asarray(expected, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name}.decision_set: must return two arrays, contexts and expected rewards: {error}"
        ) from None
    if features.shape != facts.features_shape or rewards.shape != (facts.arms,):
        raise DataError(
            f"{name}.decision_set: returned contexts of shape {np.shape(contexts)} and expected "
            f"rewards of shape {rewards.shape}, expected {facts.features_shape[::-1]} and "
            f"{(facts.arms,)}"
        )
    if not (np.isfinite(features).all() and np.isfinite(rewards).all()):
        raise DataError(f"{name}.decision_set: round {round_} has entries that are no numbers")
    longest = float(np.sqrt((features.astype(np.float64) ** 2).sum(axis=0)).max())
    low, high = facts.reward_range
    if longest > facts.context_norm * (1.0 + _ROUNDING):
        raise BoundExceededError(
            f"{name}.decision_set: round {round_} has a context that is longer than "
            f"{facts.context_norm:g}, the bound in its facts; scale contexts down"
        )
    if not low <= rewards.min() <= rewards.max() <= high:
        raise BoundExceededError(
            f"{name}.decision_set: round {round_} has an expected reward outside [{low:g}, "
            f"{high:g}], the range in its facts"
        )
    if longest > facts.context_norm:
        features = features * np.float32(facts.context_norm * (1.0 - _ROUNDING) / longest)
    return Shown(features, rewards)


def pay(
    environment: PythonEnvironment, key: Key, expected: float, agent: int, round_: int
) -> float:
    """The reward of an arm, checked.

    Raises
    ------
    BoundExceededError
        If it is not within the range of the facts: privacy rests on it.
    """
    draws = Draws(key, agent, round_, Purpose.REWARD)
    reward = float(environment.draw_reward(begun(environment, key), expected, draws))
    low, high = environment.facts.reward_range
    if not low <= reward <= high:
        raise BoundExceededError(
            f"{type(environment).__name__}.draw_reward: round {round_} has a reward outside "
            f"[{low:g}, {high:g}], the range in its facts"
        )
    return reward


class PythonStage(Stage):
    """One replicate of a world in plain Python, for parties to act in; nothing is compiled."""

    def __init__(self, environment: PythonEnvironment, key: Key) -> None:
        super().__init__(None, key, environment.agents)
        self._environment = environment
        self._shown: Shown | None = None

    def acting(self, round_: int) -> Iterable[int]:
        return range(len(self.regret))

    def situation(self, round_: int, player: int) -> Floats32:
        self._shown = show(self._environment, self.key, player, round_)
        return np.ascontiguousarray(self._shown.features)

    def outcome(self, round_: int, player: int, decision: int) -> float:
        shown = self._shown
        if shown is None:
            raise RuntimeError("an outcome comes after its situation")
        expected = shown.expected
        reward = pay(self._environment, self.key, float(expected[decision]), player, round_)
        self.regret[player] += expected[shown.best] - expected[decision]
        self.reward[player] += reward
        return reward
