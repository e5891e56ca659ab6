"""What every environment promises, to Python and to the compiled loops.

An *environment* is configuration: a frozen struct, read from TOML. Its :meth:`Environment.world`
makes a *world*: the arrays of one replicate, a named tuple that compiled code takes as it is.

A *contextual* environment shows every agent a decision set each round. Compiled code calls
:func:`decision_set_workspace` and :func:`fill_decision_set`; which implementation runs is settled
at compile time by the type of the world. Two layouts of a decision set exist, told apart by
``models``:

* ``models == 1``: all arms share one parameter vector; ``features`` is (dim, arms).
* ``models == arms``: one parameter vector an arm ("disjoint" linear models, Li et al. 2010);
  every arm shows the same context, and ``features`` is (dim, 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits._compile import compiled
from fedbandits._compile import implements as implements  # for worlds from outside
from fedbandits._typing import Floats, Floats32
from fedbandits.environments.facts import ContextualFacts, Facts
from fedbandits.environments.needs import Needs
from fedbandits.environments.stage import Stage
from fedbandits.random import Key, Purpose, bernoulli

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Dimension = Annotated[int, Meta(ge=1, le=2_000)]
Arms = Annotated[int, Meta(ge=2, le=65_535)]

_REWARD = int(Purpose.REWARD)


class Environment(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Where rewards come from. One world serves every system of an experiment."""

    #: What the parties are called.
    PARTIES: ClassVar[str] = "agents"
    #: The kind of its facts: systems that plan from them can play here.
    FACTS: ClassVar[type[Facts]] = Facts

    @property
    def parties(self) -> int:
        """Those whose regret and reward are told apart in results: agents, data owners, users."""
        raise NotImplementedError

    @property
    def acting(self) -> int:
        """How many of them act in one round."""
        return self.parties

    @property
    def facts(self) -> Facts:
        """What every party may know of it beforehand."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Load and check what the worlds need, once, before anything runs."""

    def world(self, key: Key) -> Any:
        """The arrays of one replicate, a named tuple."""
        raise NotImplementedError

    def needs(self, rounds: int) -> Needs:
        """What the world of one replicate takes in so many rounds; nothing is known by default."""
        del rounds
        return Needs()

    def stage(self, key: Key) -> Stage:
        """One replicate, for parties to act in."""
        raise NotImplementedError


class ContextualEnvironment(Environment, frozen=True, kw_only=True):
    """Where contexts come from too: every round each agent sees a decision set.

    Parameters
    ----------
    agents
        Number of agents, M.
    """

    FACTS: ClassVar[type[Facts]] = ContextualFacts

    agents: Count = 10

    @property
    def parties(self) -> int:
        return self.agents

    @property
    def dimension(self) -> int:
        """Length of a context vector."""
        raise NotImplementedError

    @property
    def arm_count(self) -> int:
        """Actions in a decision set."""
        raise NotImplementedError

    @property
    def models(self) -> int:
        """Parameter vectors: 1 if the arms share one, else one an arm."""
        return 1

    @property
    def largest_gap(self) -> float:
        """The most regret that an agent can add in one round."""
        low, high = self.facts.reward_range
        return high - low

    @property
    def facts(self) -> ContextualFacts:
        return ContextualFacts(
            parties=self.agents,
            dimension=self.dimension,
            arms=self.arm_count,
            models=self.models,
        )

    def stage(self, key: Key) -> ContextualStage:
        return ContextualStage(self, key)

    def true_parameters(self, world: Any) -> Floats | None:
        """Parameters behind the rewards, (models, dimension); None if the truth is not linear."""
        return None


def decision_set_workspace(world: Any) -> Any:
    """Scratch arrays that :func:`fill_decision_set` may use. Implemented once a world type."""
    raise NotImplementedError(f"no environment claims {type(world).__name__}")


def fill_decision_set(
    world: Any, workspace: Any, key: Any, agent: int, round_: int, features: Any, expected: Any
) -> int:
    """Write one decision set. Implemented once a world type.

    Parameters
    ----------
    world, workspace : named tuple
        The replicate's arrays, and :func:`decision_set_workspace` of them.
    key, agent, round_
        They name the random draws.
    features : (dimension, columns) float32
        Receives the contexts: a column an arm, or a single column that all arms share.
    expected : (arms,) float32
        Receives every arm's expected reward.

    Returns
    -------
    int
        The best arm.
    """
    raise NotImplementedError(f"no environment claims {type(world).__name__}")


def draw_reward(world: Any, expected: float, key: Key, agent: int, round_: int) -> float:
    """Draw the reward of an arm. Implemented once a world type.

    Parameters
    ----------
    world : named tuple
    expected : float
        The arm's expected reward.
    key, agent, round_
        Name the draw: all systems meet the same one in the same agent and round.
    """
    raise NotImplementedError(f"no environment claims {type(world).__name__}")


def bernoulli_reward(world: Any, expected: Any, key: Any, agent: Any, round_: Any) -> Any:
    """1 with probability ``expected``, else 0: an implementation of :func:`draw_reward`."""
    return 1.0 if bernoulli(expected, key, agent, round_, _REWARD, 0) else 0.0


@compiled
def draw_decision_set(
    world: Any, key: Key, agent: int, round_: int, features: Floats32, expected: Floats32
) -> int:
    """:func:`fill_decision_set` for callers outside compiled code."""
    workspace = decision_set_workspace(world)
    return fill_decision_set(world, workspace, key, agent, round_, features, expected)


@compiled
def draw_world_reward(world: Any, expected: float, key: Key, agent: int, round_: int) -> float:
    """:func:`draw_reward` for callers outside compiled code."""
    return draw_reward(world, expected, key, agent, round_)


class ContextualStage(Stage):
    """A situation is a decision set, (d, columns) float32; a decision an arm; an outcome a reward.

    Parameters
    ----------
    environment
        The environment whose world it is.
    key
        It names the random draws.
    """

    def __init__(self, environment: ContextualEnvironment, key: Key) -> None:
        super().__init__(environment.world(key), key, environment.agents)
        facts = environment.facts
        self._features = np.zeros(facts.features_shape, np.float32)
        self._expected = np.zeros(facts.arms, np.float32)
        self._best = 0

    def acting(self, round_: int) -> Iterable[int]:
        return range(len(self.regret))

    def situation(self, round_: int, player: int) -> Floats32:
        self._best = draw_decision_set(
            self.world, self.key, player, round_, self._features, self._expected
        )
        return self._features

    def outcome(self, round_: int, player: int, decision: int) -> float:
        expected = self._expected
        reward = draw_world_reward(self.world, expected[decision], self.key, player, round_)
        self.regret[player] += expected[self._best] - expected[decision]
        self.reward[player] += reward
        return reward
