"""Worlds that are open: for compiled loops, which get a handle, and for parties, which ask in turn.

A :class:`Stage` is a world as the parties of one replicate see it: who acts, the situation, and the
outcome.

Two threads must not share an open world: its arrays are overwritten in every round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import c_function, laid_out
from fedbandits._typing import Floats, Floats32
from fedbandits.environments.delay import Delay
from fedbandits.environments.kernels import drift, worlds
from fedbandits.environments.kernels.worlds import Handle, PackedWorld
from fedbandits.random import Key

if TYPE_CHECKING:
    from fedbandits.facts import ContextualFacts


def no_workspace(world: Any) -> tuple[()]:
    """Return no scratch arrays."""
    del world
    return ()


class WorldKernels(NamedTuple):
    """Functions that compiled code asks of the worlds of one type; Numba can compile them.

    The random draws of all of them are named by ``key``, ``agent`` and ``round_``. They must draw
    the same in whatever order they are asked.

    ``fill(world, workspace, key, agent, round_, features, expected)`` writes a decision set and
    returns the best arm. ``features``, (dimension, columns) float32, receives the contexts: one
    column for each arm, or one that all arms share. ``expected``, (arms,) float32, receives the
    expected reward of each arm. ``workspace(world)``, in plain Python, makes its scratch arrays.

    ``reward(world, key, agent, round_, expected, arm)`` draws the reward of an arm. NaN is a reward
    that is never observed. By default it is 1 with probability ``expected[arm]``, else 0.

    ``person(world, key, agent, round_)`` says who comes: a number from 0, below the ``persons`` of
    the facts. By default nobody who could be told from others.

    ``note(world, agent, round_, arm)`` takes note of the chosen arm before the reward is drawn.
    Worlds that play back a log keep choices. By default nothing happens.
    """

    fill: Callable[..., Any]
    reward: Callable[..., Any] = worlds.bernoulli_reward
    person: Callable[..., Any] = worlds.nobody
    note: Callable[..., Any] = worlds.note_nothing
    workspace: Callable[[Any], Any] = no_workspace


class OpenWorld:
    """One replicate of a contextual environment, with what loops and parties need to play in it.

    ``handle`` is for compiled loops, and good for as long as the open world is kept. ``arrays`` is
    what the environment's ``world`` returned. ``first_rounds`` is empty if all agents begin in the
    first round.
    """

    handle: Handle

    def __init__(self, facts: ContextualFacts, arrays: Any, first_rounds: Sequence[int]) -> None:
        self.arrays = arrays
        self._features = np.zeros(facts.features_shape, np.float32)
        self._expected = np.zeros(facts.arms, np.float32)
        self._who = np.full(1, worlds.NOBODY)
        self._joins = np.array(first_rounds or (1,) * facts.parties)

    def _handle(self, packed: int, fill: Any, reward: Any) -> Handle:
        return Handle(packed, fill, reward, self._joins, self._who, self._features, self._expected)

    @property
    def features(self) -> Floats32:
        """Contexts of the last decision set, (dimension, columns); the next one overwrites them."""
        return self._features

    @property
    def expected(self) -> Floats32:
        """Expected rewards of the last decision set, (arms,); the next one overwrites them."""
        return self._expected

    @property
    def person(self) -> int:
        """Number of the person who comes, as of the last decision set."""
        return int(self._who[0])

    def first_round(self, agent: int) -> int:
        """Return the first round of an agent."""
        return int(self._joins[agent])

    def acting(self, round_: int) -> list[int]:
        """Return the numbers of the agents that act in a round, in ascending order."""
        return np.flatnonzero(self._joins <= round_).tolist()

    def fill(self, agent: int, round_: int) -> int:
        """Write the decision set of an agent, from 0, in a round, from 1; return its best arm."""
        raise NotImplementedError

    def reward(self, arm: int, agent: int, round_: int) -> float:
        """Choose an arm of the last decision set, and return its reward: NaN if not observed.

        ``agent`` and ``round_`` are those of that decision set.
        """
        raise NotImplementedError

    def check(self) -> None:
        """Raise the error that a world in plain Python has raised since it was opened."""


class CompiledWorld(OpenWorld):
    """An open world whose functions are compiled.

    Arrays of a drifting world are a ``DriftingWorld``; ``kernels`` are of the world without drift.
    """

    def __init__(
        self, facts: ContextualFacts, arrays: Any, first_rounds: Sequence[int],
        kernels: WorldKernels, key: Key,
    ) -> None:  # fmt: skip
        super().__init__(facts, arrays, first_rounds)
        self._kept: list[Any] = []  # what addresses point at
        if isinstance(arrays, drift.DriftingWorld):
            before = self._open(arrays.before, kernels, key)
            drifted = drift.Drifted(before, arrays.other, arrays.shares)
            self.handle = self._open(drifted, _DRIFT, key)
        else:
            self.handle = self._open(arrays, kernels, key)

    def _open(self, world: Any, kernels: WorldKernels, key: Key) -> Handle:
        shown = PackedWorld(
            world, kernels.workspace(world), key, self._features, self._expected, self._who
        )
        there = laid_out(shown)
        self._kept += [shown, there]
        self._address = there.address
        self._fill = c_function(worlds.filling, int, 3, kernels.fill, kernels.person).of(there)
        self._reward = c_function(worlds.paying, float, 4, kernels.reward, kernels.note).of(there)
        return self._handle(self._address, self._fill.address, self._reward.address)

    def fill(self, agent: int, round_: int) -> int:
        return int(self._fill.call(self._address, agent, round_))

    def reward(self, arm: int, agent: int, round_: int) -> float:
        return float(self._reward.call(self._address, arm, agent, round_))


def arrays_of(world: Any) -> Any:
    """Return the arrays of a world that may be open."""
    return world.arrays if isinstance(world, OpenWorld) else world


def first_round_of(world: Any, agent: int) -> int:
    """Return the first round of an agent in a world: 1 if it is not open."""
    return world.first_round(agent) if isinstance(world, OpenWorld) else 1


_DRIFT = WorldKernels(drift.fill_drifted, drift.reward_drifted, workspace=drift.workspace)


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
        """Book the ``decision`` of ``player`` in round ``round_``; return the observed outcome.

        None if it observes nothing: the party then lets go of the decision.
        """
        raise NotImplementedError

    def book(self, player: int, regret: float, reward: float) -> float | None:
        """Add to a player's cumulative regret and reward; return the reward.

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
