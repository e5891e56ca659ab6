"""Worlds as compiled code meets them, without knowing their types.

Loops are given a :class:`Handle`: the addresses of two C functions, and the arrays that
they write. So a new kind of world compiles its own code, and no loop anew. The C functions
are made of the kernels that a world's environment names, see
:mod:`fedbandits.environments.open_world`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, call_float, call_int, inlined
from fedbandits._typing import Floats32, Ints
from fedbandits.random import Key, Purpose, bernoulli

_REWARD = int(Purpose.REWARD)
#: Stands for somebody who cannot be told from others.
NOBODY = -1


class Handle(NamedTuple):
    """One replicate of a world, as compiled loops take it: of the same type for all worlds."""

    packed: int  # address of what the two functions work on
    fill: int  # address of int64 fill(packed, agent, round): the best arm; negative if it failed
    reward: int  # address of float64 reward(packed, arm, agent, round)
    joins: Ints  # (agents,): the first round of each agent
    who: Ints  # (1,): receives the person who comes, or NOBODY
    features: Floats32  # (dimension, columns): receives the contexts
    expected: Floats32  # (arms,): receives the expected reward of each arm


class PackedWorld(NamedTuple):
    """All that the functions of a handle work on."""

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
    """Draw the reward of an arm of the decision set that was filled last.

    It is NaN if it is never observed: then nothing is learned from the decision.
    """
    return float(call_float(handle.reward, handle.packed, arm, agent, round_))


@inlined
def first_turn(joins: Ints, agent: int, round_: int, step: int) -> int:
    """Return the first round that an agent plays, of the given one and every ``step``-th after it.

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
    """Return the expected reward itself as the reward."""
    return np.float64(expected[arm])


@allocation_free
def nobody(world: Any, key: Key, agent: int, round_: int) -> int:
    """Return :data:`NOBODY`, in worlds without persons."""
    return NOBODY


@allocation_free
def note_nothing(world: Any, agent: int, round_: int, arm: int) -> None:
    """Leave a choice unnoted, in worlds of which nothing changes in a run."""
    return


def filling(fill: Any, person: Any) -> Callable[[Any], Any]:
    """Return how the ``fill`` of a handle is made of a world's kernels, for a ``CFunction``."""

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
    """Return how the ``reward`` of a handle is made of a world's kernels, for a ``CFunction``."""

    def make(read: Any) -> Any:
        def entry(address: Any, arm: Any, agent: Any, round_: Any) -> Any:
            shown = read(address)
            note(shown.world, agent, round_, arm)
            return reward(shown.world, shown.key, agent, round_, shown.expected, arm)

        return entry

    return make
