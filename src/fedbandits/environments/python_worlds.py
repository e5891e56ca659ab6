"""Open worlds in plain Python: what an environment returns is checked, and compiled loops call it.

The environment's own class is :class:`fedbandits.environments.python.PythonEnvironment`.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbandits._typing import Floats32
from fedbandits.draws import Draws
from fedbandits.environments.open_world import OpenWorld
from fedbandits.errors import BoundExceededError, DataError
from fedbandits.random import Key, Purpose

if TYPE_CHECKING:
    from fedbandits.environments.python import PythonEnvironment

#: Rounding of contexts to float32 may add so much to their norm.
_ROUNDING = 1e-6


@functools.lru_cache(maxsize=4096)
def begun(environment: PythonEnvironment, key: Key) -> Any:
    """Begin the world of ``environment`` in the replicate that ``key`` names.

    It is made again if it is no longer in memory. The result is the same.
    """
    return environment.begin(Draws(key, 0, 0, Purpose.WORLD))


def show(
    environment: PythonEnvironment, key: Key, agent: int, round_: int
) -> tuple[Floats32, Floats32]:
    """Ask ``environment`` for the decision set of an agent in a round, and check it.

    Returns contexts, (d, columns), and expected rewards, (arms,). Raises DataError if they have
    another shape than the facts say, or contain NaN, and BoundExceededError if they are outside the
    bounds in the facts. The privacy guarantee depends on these bounds.
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

    What it raises is kept: compiled code cannot raise it. It then fails at every call, so a loop
    ends, and :meth:`check` raises it. ``asks_persons`` says whether compiled loops need to know who
    comes.
    """

    def __init__(self, environment: PythonEnvironment, key: Key, asks_persons: bool) -> None:
        super().__init__(environment.facts, environment, environment.first_rounds)
        self._environment, self._key, self._asks_persons = environment, key, asks_persons
        self._last = (0, 0)
        self._error: BaseException | None = None
        fill = _FILL(lambda _, agent, round_: self._called(-1, self.fill, agent, round_))
        pay = _PAY(lambda _, *choice: self._called(math.nan, self.reward, *choice))
        self._kept = fill, pay  # as long as their addresses are used
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
        found = environment.person(begun(environment, self._key), agent, round_, draws)
        persons = environment.facts.persons or 0
        if not isinstance(found, int | np.integer) or not 0 <= found < persons:
            raise DataError(
                f"{type(environment).__name__}.person: round {round_} has no number of a person; "
                f"allowed: 0 to {persons - 1}, one below facts.persons"
            )
        return int(found)

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
        """Answer compiled code, by ``failed`` once something was raised."""
        if self._error is None:
            try:
                return function(*arguments)
            except BaseException as error:  # also Ctrl-C: it is raised again by check
                self._error = error
        return failed


_FILL = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)
_PAY = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * 4)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
