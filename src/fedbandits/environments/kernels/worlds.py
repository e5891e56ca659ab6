"""Worlds for compiled code, which does not know their types.

Loops are given a :class:`Handle`: the addresses of two C functions, and the arrays that they write.
So a new kind of world compiles its own code, and no loop anew. The C functions are made of the
kernels that a world's environment names, see :mod:`fedbandits.environments.open_world`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, call_float, call_int, inlined
from fedbandits._typing import Floats32, Ints
from fedbandits.random import Key, Purpose, bernoulli

_REWARD = int(Purpose.REWARD)
#: The number of a person who cannot be distinguished from others.
NOBODY = -1


class Handle(NamedTuple):
    """One replicate of a world for compiled loops: of the same type for all worlds."""

    packed: int  # address of the argument of both functions
    fill: int  # address of int64 fill(packed, agent, round): the best arm; negative after a failure
    reward: int  # address of float64 reward(packed, arm, agent, round)
    joins: Ints  # (agents,): the first round of each agent
    who: Ints  # (1,): receives the visiting person, or NOBODY
    features: Floats32  # (dimension, columns): receives the contexts
    expected: Floats32  # (arms,): receives the expected reward of each arm


class PackedWorld(NamedTuple):
    """The argument of a handle's functions."""

    world: Any
    workspace: Any
    key: Key
    features: Floats32
    expected: Floats32
    who: Ints


@inlined
def fill_decision_set(handle: Handle, agent: int, round_: int) -> int:
    """Write the decision set of an agent in a round, and its person, into the handle's arrays.

    Returns the best arm; a negative number if a world in plain Python has failed.
    """
    return int(call_int(handle.fill, handle.packed, agent, round_))


@inlined
def draw_reward(handle: Handle, arm: int, agent: int, round_: int) -> float:
    """Draw the reward of an arm of the last decision set.

    NaN means that the reward is never observed: then nothing is learned from the decision.
    """
    return float(call_float(handle.reward, handle.packed, arm, agent, round_))


@inlined
def first_turn(joins: Ints, agent: int, round_: int, step: int) -> int:
    """Return the first round that an agent plays, among ``round_`` and every ``step``-th after it.

    ``joins`` has the first round of each agent, (agents,) int64.
    """
    missed = max(0, joins[agent] - round_)
    return int(round_ + (missed + step - 1) // step * step)


@allocation_free
def bernoulli_reward(
    world: Any, key: Key, agent: int, round_: int, expected: Floats32, arm: int
) -> float:
    """Draw a reward: 1 with the expected reward as its probability, else 0."""
    return 1.0 if bernoulli(expected[arm], key, agent, round_, _REWARD, 0) else 0.0


@allocation_free
def expected_reward(
    world: Any, key: Key, agent: int, round_: int, expected: Floats32, arm: int
) -> float:
    """Return the expected reward as the reward."""
    return np.float64(expected[arm])


@allocation_free
def nobody(world: Any, key: Key, agent: int, round_: int) -> int:
    """Return :data:`NOBODY`, in worlds without persons."""
    return NOBODY


@allocation_free
def note_nothing(world: Any, agent: int, round_: int, arm: int) -> None:
    """Ignore a choice, in worlds without notes."""
    return


def filling(fill: Any, person: Any) -> Callable[[Any], Any]:
    """Return a maker of a handle's ``fill`` from a world's kernels, for a ``CFunction``."""

    def make(read: Any) -> Any:
        def entry(address: Any, agent: Any, round_: Any) -> Any:
            shown = read(address)
            shown.who[0] = person(shown.world, shown.key, agent, round_)
            return fill(
                shown.world, shown.workspace, shown.key, agent, round_, shown.features,
                shown.expected,
            )  # fmt: skip

        return entry

    return make


def paying(reward: Any, note: Any) -> Callable[[Any], Any]:
    """Return a maker of a handle's ``reward`` from a world's kernels, for a ``CFunction``."""

    def make(read: Any) -> Any:
        def entry(address: Any, arm: Any, agent: Any, round_: Any) -> Any:
            shown = read(address)
            note(shown.world, agent, round_, arm)
            return reward(shown.world, shown.key, agent, round_, shown.expected, arm)

        return entry

    return make
