"""Open worlds: compiled loops get a handle, and parties call methods round by round.

A :class:`Stage` is the parties' view of a replicate: the acting players, the situation, and the
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
    """Kernels of the worlds of one type; Numba can compile them.

    The random draws of all kernels are named by ``key``, ``agent`` and ``round_``. The draws must
    not depend on the order of calls.

    ``fill(world, workspace, key, agent, round_, features, expected)`` writes a decision set and
    returns the best arm. ``features``, (dimension, columns) float32, receives the contexts: one
    column for each arm, or one that all arms share. ``expected``, (arms,) float32, receives the
    expected reward of each arm. ``workspace(world)``, in plain Python, makes its scratch arrays.

    ``reward(world, key, agent, round_, expected, arm)`` draws the reward of an arm. NaN is a reward
    that is never observed. By default the reward is 1 with probability ``expected[arm]``, else 0.

    ``person(world, key, agent, round_)`` returns the visiting person: a number from 0, below the
    ``persons`` of the facts. By default persons cannot be distinguished.

    ``note(world, agent, round_, arm)`` records the chosen arm before the reward is drawn. Worlds
    that play back a log keep choices. By default nothing happens.
    """

    fill: Callable[..., Any]
    reward: Callable[..., Any] = worlds.bernoulli_reward
    person: Callable[..., Any] = worlds.nobody
    note: Callable[..., Any] = worlds.note_nothing
    workspace: Callable[[Any], Any] = no_workspace


class OpenWorld:
    """One replicate of a contextual environment, for loops and parties.

    ``handle`` is for compiled loops, and valid as long as the open world exists. ``arrays`` is the
    result of the environment's ``world``. ``first_rounds`` is empty if all agents begin in the
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
        """Contexts of the last decision set, (dimension, columns); the next set overwrites them."""
        return self._features

    @property
    def expected(self) -> Floats32:
        """Expected rewards of the last decision set, (arms,); the next set overwrites them."""
        return self._expected

    @property
    def person(self) -> int:
        """Number of the visiting person in the last decision set."""
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
        self._kept: list[Any] = []  # keeps the memory at the addresses of the handle
        if isinstance(arrays, drift.DriftingWorld):
            before = self._open(arrays.before, kernels, key)
            drifted = drift.Drifted(before, arrays.other, arrays.shares)
            self.handle = self._open(drifted, _DRIFT, key)
        else:
            self.handle = self._open(arrays, kernels, key)

    def _open(self, world: Any, kernels: WorldKernels, key: Key) -> Handle:
        packed = PackedWorld(
            world, kernels.workspace(world), key, self._features, self._expected, self._who
        )
        memory = laid_out(packed)
        self._kept += [packed, memory]
        self._address = memory.address
        self._fill = c_function(worlds.filling, int, 3, kernels.fill, kernels.person).of(memory)
        self._reward = c_function(worlds.paying, float, 4, kernels.reward, kernels.note).of(memory)
        return self._handle(self._address, self._fill.address, self._reward.address)

    def fill(self, agent: int, round_: int) -> int:
        return int(self._fill.call(self._address, agent, round_))

    def reward(self, arm: int, agent: int, round_: int) -> float:
        return float(self._reward.call(self._address, arm, agent, round_))


def arrays_of(world: Any) -> Any:
    """Return the arrays of a world, open or not."""
    return world.arrays if isinstance(world, OpenWorld) else world


def first_round_of(world: Any, agent: int) -> int:
    """Return the first round of an agent in a world: 1 if it is not open."""
    return world.first_round(agent) if isinstance(world, OpenWorld) else 1


_DRIFT = WorldKernels(drift.fill_drifted, drift.reward_drifted, workspace=drift.workspace)


class Stage:
    """The parties' view of one replicate, which books regret and reward of ``parties`` parties.

    Each kind of environment has its own types of situation, decision and outcome.
    """

    #: Delay of outcomes; None for no delay. The maker of the stage sets it.
    delay: Delay | None = None
    #: Whether situations name the person, as a :class:`Visit`. The maker of the stage sets it.
    tells_persons: bool = False

    def __init__(self, world: Any, key: Key, parties: int) -> None:
        self.world, self.key = world, key
        #: (parties,) cumulative regret.
        self.regret: Floats = np.zeros(parties)
        #: (parties,) cumulative reward.
        self.reward: Floats = np.zeros(parties)

    def acting(self, round_: int) -> Iterable[int]:
        """List the players that act in round ``round_`` by number, in ascending order."""
        raise NotImplementedError

    def situation(self, round_: int, player: int) -> Any:
        """Return the situation in which ``player`` decides in round ``round_``."""
        raise NotImplementedError

    def outcome(self, round_: int, player: int, decision: Any) -> Any:
        """Book the ``decision`` of ``player`` in round ``round_``; return the observed outcome.

        None means that nothing is observed: the party then closes the decision.
        """
        raise NotImplementedError

    def book(self, player: int, regret: float, reward: float) -> float | None:
        """Add to a player's cumulative regret and reward; return the reward.

        NaN is an unknown regret, or a reward that is never observed: then the result is None.
        """
        if not math.isnan(reward):
            self.reward[player] += reward
        if not math.isnan(regret):
            self.regret[player] += regret
        return None if math.isnan(reward) else reward


def noted_in(world: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of ``world`` that change in a run, by name, for checkpoints.

    They are in the world's field ``noted``, a named tuple. Most worlds have none.
    """
    noted = getattr(world, "noted", None)
    return {} if noted is None else dict(noted._asdict())


class Visit(NamedTuple):
    """A situation, and the person for whom a decision is made, where persons visit again and again.

    A privacy guarantee for persons counts their records, so each record needs a name of its person.
    Persons and times of visits are public there: they never depend on contexts, choices or rewards.
    """

    person: str  # a name, the same in all visits of the person to one party
    situation: Any  # the situation of the decision


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
