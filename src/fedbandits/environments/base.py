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

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32
from fedbandits.random import Key, Purpose, bernoulli

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Dimension = Annotated[int, Meta(ge=1, le=2_000)]
Arms = Annotated[int, Meta(ge=2, le=65_535)]

_REWARD = int(Purpose.REWARD)


class Environment(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    """Where rewards come from. One world serves every system of an experiment."""

    #: What the parties are called.
    PARTIES: ClassVar[str] = "agents"

    @property
    def parties(self) -> int:
        """Those whose regret and reward are told apart in results: agents, data owners, users."""
        raise NotImplementedError

    @property
    def acting(self) -> int:
        """How many of them act in one round."""
        return self.parties

    @property
    def public_facts(self) -> tuple[str, ...]:
        """What a privacy claim must take as public because of how the data was prepared."""
        return ()

    def prepare(self) -> None:
        """Load and check what the worlds need, once, before anything runs."""

    def world(self, key: Key) -> Any:
        """The arrays of one replicate, a named tuple."""
        raise NotImplementedError


class ContextualEnvironment(Environment, frozen=True, kw_only=True):
    """Where contexts come from too: every round each agent sees a decision set."""

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
    def features_shape(self) -> tuple[int, int]:
        """Shape of a decision set's features: a column an arm, or one that all arms show."""
        return self.dimension, self.arm_count if self.models == 1 else 1

    @property
    def context_norm(self) -> float:
        """A bound on the Euclidean norm of every context."""
        return 1.0

    @property
    def reward_range(self) -> tuple[float, float]:
        """The smallest and the largest reward."""
        return 0.0, 1.0

    def visits_per_person(self, rounds: int) -> float | None:
        """Mean number of rounds that one person's data serves, or None if each is a new person."""
        return None

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
        Name the draw.
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
