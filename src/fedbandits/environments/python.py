"""A world in plain Python: contexts and expected rewards come from numpy code.

Compiled loops call Python for every decision set. So such a world is slower than a compiled world.
All systems can play in it, with the same random draws.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.draws import Draws
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.environments.open_world import OpenWorld
from fedbandits.errors import BoundExceededError, DataError
from fedbandits.random import Key, Purpose

__all__ = ["PythonEnvironment"]

#: Largest increase of a context's norm by rounding to float32.
_ROUNDING = 1e-6
#: Types of the functions that compiled code calls: filling a decision set, and paying a reward.
_FILL = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)
_PAY = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * 4)


class PythonEnvironment(ContextualEnvironment, frozen=True, kw_only=True):
    """Base class of contextual environments in plain Python.

    In a subclass, settings are fields. :attr:`dimension` and :attr:`arm_count` give the size of a
    decision set, and :meth:`decision_set` makes the set::

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

    A method may use only its arguments and its settings. Different systems call methods in
    different orders, and each must get the same world.

    Parameters
    ----------
    agents
        Number of agents, M.
    """

    DRIFT_REMEDY: ClassVar[str] = (
        "its method decision_set gets the round, so let it return other expected rewards from some "
        "round on"
    )

    def begin(self, draws: Draws) -> Any:
        """Draw the constant state of one replicate; other methods get it as ``world``.

        All its randomness comes from ``draws``.
        """
        del draws

    def decision_set(
        self, world: Any, agent: int, round_: int, draws: Draws
    ) -> tuple[Floats, Floats]:
        """Return contexts and expected rewards of the arms that an agent can choose in a round.

        Parameters
        ----------
        world
            The result of :meth:`begin`.
        agent, round_ : int
            Number of the agent (the first is 0), and of the round (the first is 1).
        draws : Draws
            The source of all randomness of the decision set.

        Returns
        -------
        contexts : (arms, d) float
            One row for each arm, of norm at most ``facts.context_norm``. If each arm has its own
            model (:attr:`models`), the shape is (1, d).
        expected : (arms,) float
            Expected reward of each arm, within ``facts.reward_range``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no decision_set")

    def draw_reward(self, world: Any, expected: float, draws: Draws) -> float | None:
        """Draw the reward of an arm with the expected reward ``expected``; by default 1 or 0.

        Parameters
        ----------
        world
            The result of :meth:`begin`.
        expected : float
            The expected reward of the arm, from :meth:`decision_set`.
        draws : Draws
            The source of randomness. All systems get the same draws for the same agent and round.

        Returns
        -------
        float or None
            The reward, within ``facts.reward_range``. None means that the reward is never observed:
            then
            nothing is learned from the decision.
        """
        del world
        return float(draws.bernoulli(expected))

    def person(self, world: Any, agent: int, round_: int, draws: Draws) -> int:
        """Return the number of the visiting person, from 0; a guarantee for persons needs it.

        ``facts.persons`` is the number of persons. By default persons are not known.

        Parameters
        ----------
        world
            The result of :meth:`begin`.
        agent, round_ : int
            Number of the agent (the first is 0), and of the round (the first is 1).
        draws : Draws
            The source of randomness, with the same draws as in :meth:`decision_set`.
        """
        raise DataError(
            f"{type(self).__name__}.person: not defined, so persons cannot be protected here; "
            'define it, or set unit = "record"'
        )

    def world(self, key: Key) -> Any:
        return begun(self, key)

    def open(self, key: Key, world: Any = None, asks_persons: bool = False) -> WorldInPython:
        del world
        return WorldInPython(self, key, asks_persons and self.facts.persons is not None)


@functools.lru_cache(maxsize=4096)
def begun(environment: PythonEnvironment, key: Key) -> Any:
    """Begin the world of ``environment`` in the replicate that ``key`` names.

    A world that is no longer in memory is made again. The result is the same.
    """
    return environment.begin(Draws(key, 0, 0, Purpose.WORLD))


def show(
    environment: PythonEnvironment, key: Key, agent: int, round_: int
) -> tuple[Floats32, Floats32]:
    """Call ``environment`` for the decision set of an agent in a round, and check the set.

    Returns contexts, (d, columns), and expected rewards, (arms,). Raises DataError if their shapes
    differ from the facts, or if they contain NaN, and BoundExceededError if they are outside the
    bounds in the facts. The privacy guarantee depends on these bounds.
    """
    facts, name = environment.facts, type(environment).__name__
    draws = Draws(key, agent, round_, Purpose.CONTEXT)
    returned = environment.decision_set(begun(environment, key), agent, round_, draws)
    try:
        contexts, expected = returned
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
        raise DataError(
            f"{name}.decision_set: round {round_} has entries that are not finite numbers"
        )
    norms = np.linalg.norm(features.astype(np.float64), axis=0)
    row = int(norms.argmax())
    longest = float(norms[row])
    low, high = facts.reward_range
    if longest > facts.context_norm * (1.0 + _ROUNDING):
        raise BoundExceededError(
            f"{name}.decision_set: round {round_}, row {row} (the first is 0) has the norm "
            f"{longest:.9g}, allowed: {facts.context_norm:.9g}, the bound in its facts; scale "
            "contexts down"
        )
    if not low <= rewards.min() <= rewards.max() <= high:
        raise BoundExceededError(
            f"{name}.decision_set: round {round_} has an expected reward outside [{low:g}, "
            f"{high:g}], the range in its facts"
        )
    if longest > facts.context_norm:
        features = features * np.float32(facts.context_norm * (1.0 - _ROUNDING) / longest)
    return features, rewards


class WorldInPython(OpenWorld):
    """An open world in plain Python, which compiled loops call back.

    Compiled code cannot raise Python's errors, so the first error is kept. All later calls fail, so
    a loop ends, and :meth:`check` raises the error. ``asks_persons`` tells whether compiled loops
    need the persons.
    """

    def __init__(self, environment: PythonEnvironment, key: Key, asks_persons: bool) -> None:
        super().__init__(environment.facts, environment, environment.first_rounds)
        self._environment, self._key, self._asks_persons = environment, key, asks_persons
        self._last = (0, 0)
        self._error: BaseException | None = None
        fill = _FILL(lambda _, agent, round_: self._called(-1, self.fill, agent, round_))
        pay = _PAY(lambda _, *choice: self._called(math.nan, self.reward, *choice))
        self._kept = fill, pay  # kept as long as their addresses are used
        self.handle = self._handle(0, *(_address(function) for function in self._kept))

    def fill(self, agent: int, round_: int) -> int:
        self._features[:], self._expected[:] = show(self._environment, self._key, agent, round_)
        self._last = (agent, round_)
        if self._asks_persons:
            self._who[0] = self.person
        return int(np.argmax(self._expected))

    @property
    def person(self) -> int:
        (agent, round_), environment = self._last, self._environment
        draws = Draws(self._key, agent, round_, Purpose.CONTEXT)
        number = environment.person(begun(environment, self._key), agent, round_, draws)
        persons = environment.facts.persons or 0
        if not isinstance(number, int | np.integer) or not 0 <= number < persons:
            raise DataError(
                f"{type(environment).__name__}.person: round {round_} has no number of a person; "
                f"allowed: 0 to {persons - 1}, one below facts.persons"
            )
        return int(number)

    def reward(self, arm: int, agent: int, round_: int) -> float:
        environment, expected = self._environment, float(self._expected[arm])
        draws, name = Draws(self._key, agent, round_, Purpose.REWARD), type(environment).__name__
        returned: object = environment.draw_reward(begun(environment, self._key), expected, draws)
        if returned is None:
            return math.nan
        if not isinstance(returned, int | float | np.number):
            raise DataError(
                f"{name}.draw_reward: returned {returned!r}, allowed: a number, or None"
            )
        reward = float(returned)
        low, high = environment.facts.reward_range
        if not low <= reward <= high:  # the privacy guarantee depends on this range
            raise BoundExceededError(
                f"{name}.draw_reward: round {round_} has a reward outside "
                f"[{low:g}, {high:g}], the range in its facts"
            )
        return reward

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def _called(self, failed: Any, function: Callable[..., Any], *arguments: int) -> Any:
        """Call a function for compiled code; return ``failed`` after an error."""
        if self._error is None:
            try:
                return function(*arguments)
            except BaseException as error:  # also Ctrl-C: check raises it again
                self._error = error
        return failed


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
