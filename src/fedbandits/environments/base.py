"""The interface of environments, for Python and for the compiled loops.

An *environment* is configuration: a frozen struct, read from TOML. Its :meth:`Environment.world`
makes a *world*: the arrays of one replicate, a named tuple that compiled code takes unchanged.

A *contextual* environment shows every agent a decision set each round. It names the kernels that
compiled code calls with its worlds, and opens a world for a loop or for parties. A decision set has
one of two layouts, according to ``models``:

* ``models == 1``: all arms share one parameter vector; ``features`` is (dim, arms).
* ``models == arms``: each arm has a parameter vector of its own ("disjoint" linear models, Li et
  al. 2010). All arms show the same context, and ``features`` is (dim, 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits._typing import Floats
from fedbandits.environments.delay import Delay
from fedbandits.environments.drift import Drift, RoundNumber, refuse_drift
from fedbandits.environments.kernels.drift import DriftingWorld
from fedbandits.environments.open_world import (
    CompiledWorld,
    ContextualStage,
    OpenWorld,
    Stage,
    WorldKernels,
)
from fedbandits.environments.tables.formats import (
    AS_FOUND,
    Decimal,
    Reading,
    Separator,
    Thousands,
    reading_of,
    refuse_reading,
)
from fedbandits.errors import ConfigError
from fedbandits.facts import ContextualFacts, Facts
from fedbandits.random import Key

__all__ = ["ContextualEnvironment", "Environment", "Words", "plural"]

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Dimension = Annotated[int, Meta(ge=1, le=2_000)]
Arms = Annotated[int, Meta(ge=2, le=65_535)]


#: Bytes of a number.
F64, F32 = 8, 4


class Words(NamedTuple):
    """The words of an environment, for texts that people read.

    Parameters
    ----------
    party, parties
        A noun for one party, and its plural: ``hospital``, ``hospitals``.
    loss
        The quantity that regret counts: ``regret`` in general, ``mistakes`` where each wrong
        decision
        costs 1.
    turn
        One decision of one party: ``round``, ``visit``, ``purchase``.
    """

    party: str = "agent"
    parties: str = "agents"
    loss: str = "regret"
    turn: str = "round"

    def loss_of_one(self, acting: int) -> str:
        """Name one party's loss, if ``acting`` parties act in a round: ``mistakes per shop``."""
        return f"{self.loss} per {self.party}" if acting > 1 else self.loss


def plural(noun: str) -> str:
    """Return the plural of a ``noun``: ``hospitals``, ``branches``, ``facilities``."""
    if noun.endswith("s"):
        return noun
    if noun.endswith(("ch", "sh", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in (*"aeiou", ""):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


class Memory(NamedTuple):
    """Arrays of one kind with their ``bytes``; ``what`` and ``keys`` are words for an error."""

    what: str  # the content of the arrays
    bytes: float
    keys: str  # the keys of a configuration that make them smaller


class Needs(NamedTuple):
    """Least memory and work of one replicate; empty if unknown.

    Environments and systems state these needs, so that an experiment that does not fit into memory
    is refused before it runs. Only lasting arrays are counted. A run takes somewhat more, never
    less.
    """

    parts: tuple[Memory, ...] = ()
    operations: float = 0.0  # multiply-adds, or similar work, in all rounds; within a factor of 10

    @property
    def bytes(self) -> float:
        """Bytes of all parts."""
        return sum(part.bytes for part in self.parts)


class Environment(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base class of environments, which draw contexts and rewards.

    All systems of an experiment play in the same world.

    Parameters
    ----------
    drift
        Change of expected rewards in the course of a run; by default none. Regret is relative to
        the
        best arm of the moment.
    delay
        Delay until a reward is observed; by default none. Regret and reward are counted in the
        round of
        the decision, whenever the reward is observed.
    """

    #: The nouns of the environment in texts.
    WORDS: ClassVar[Words] = Words()
    #: Whether the rewards come from real data, so that results say something about real people.
    REAL_DATA: ClassVar[bool] = False
    #: The kind of the facts: a system that plans from this kind can play here.
    FACTS: ClassVar[type[Facts]] = Facts
    #: Rewards of the second world under drift, in words; empty for environments that cannot drift.
    SECOND_WORLD: ClassVar[str] = ""
    #: The remedy in the error for drift, if environments of this kind cannot drift.
    DRIFT_REMEDY: ClassVar[str] = "leave it out"

    drift: Drift | None = None
    delay: Delay | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.drift is not None and not self.SECOND_WORLD:
            refuse_drift(self)

    @property
    def parties(self) -> int:
        """Number of parties (agents, data owners, users) that results show one by one."""
        raise NotImplementedError

    @property
    def words(self) -> Words:
        """Words for texts; by default those of the class."""
        return self.WORDS

    @property
    def acting(self) -> int:
        """Number of parties that act in one round."""
        return self.parties

    @property
    def first_rounds(self) -> tuple[int, ...]:
        """The first round of each party; empty if all parties begin in round 1."""
        return ()

    @property
    def facts(self) -> Facts:
        """The facts that every party may know before the first round."""
        raise NotImplementedError

    @property
    def party_names(self) -> tuple[str, ...]:
        """Names of the parties, in order; empty if parties have only numbers."""
        return ()

    @property
    def regret_is_known(self) -> bool:
        """True if the best decision of a round is known, so that regret can be counted."""
        return True

    def identified(self) -> Self:
        """Return the environment with digests of its files; by default there are no files."""
        return self

    def prepare(self) -> None:
        """Load and check the data that worlds need; called once, before anything runs."""

    def refuse_rounds(self, rounds: int) -> None:
        """Refuse a number of ``rounds`` that the data is not enough for; by default none."""
        del rounds

    def refuse_elsewhere(self) -> None:
        """Refuse to be played on other machines that lack the data; by default never refuse."""

    def cautions(self) -> Iterable[str]:
        """List cautions about settings with doubtful results, each with its key first."""
        return ()

    def world(self, key: Key) -> Any:
        """Make the world of one replicate, a named tuple of arrays; ``key`` names its draws."""
        raise NotImplementedError

    def needs(self, rounds: int) -> Needs:
        """Estimate memory and time of one replicate in ``rounds`` rounds; unknown by default."""
        del rounds
        return Needs()

    def measures(self, world: Any, rounds: int) -> Mapping[str, Floats]:
        """Return reports after ``rounds`` rounds: (parties,) arrays by name; by default none."""
        del world, rounds
        return {}

    def stage(self, key: Key) -> Stage:
        """Begin a replicate in which parties act, with the draws that ``key`` names."""
        raise NotImplementedError


class FromFile(Environment, frozen=True, kw_only=True):
    """Base class of environments that may be read from a file of text.

    Parameters
    ----------
    encoding, separator, decimal, thousands
        The format of the file, as in a ``table``.
    """

    #: Keys that describe the file.
    OF_FILE: ClassVar[tuple[str, ...]] = ("encoding", "separator", "decimal", "thousands")

    encoding: str = AS_FOUND.encoding
    separator: Separator | None = None
    decimal: Decimal | None = None
    thousands: Thousands | None = None

    @property
    def reading(self) -> Reading:
        """The format of the file."""
        return reading_of(self)

    def refuse_keys_of_file(self, file: str, given: bool) -> None:
        """Refuse keys that do not fit together, or describe a file that is not ``given``.

        ``file`` is the key that names the file. Raises ValueError, whose text begins with a key.
        """
        refuse_reading(self)
        for key in () if given else self.OF_FILE:
            if getattr(self, key) not in (None, AS_FOUND.encoding):
                raise ValueError(
                    f"{key}: given without {file}, whose format it describes; remove it"
                )


#: The first round of all agents, or a list with a first round for each agent.
FirstRound = RoundNumber | tuple[RoundNumber, ...]


def first_rounds_of(given: FirstRound, parties: int) -> tuple[int, ...]:
    """Return the first round of each of ``parties`` parties; empty if all begin in round 1.

    Before its first round an agent has no decision set, so it plays nothing, and has no regret,
    reward or records. Its draws in later rounds do not depend on its first round. Raises
    ConfigError if a list has another length.
    """
    if isinstance(given, int):
        return () if given == 1 else (given,) * parties
    if len(given) != parties:
        raise ConfigError(
            f"environment.first_round: given a list of {len(given)}, allowed: a list of {parties}, "
            "one first round for each agent, or one number for all of them"
        )
    return given if max(given) > 1 else ()


class ContextualEnvironment(Environment, frozen=True, kw_only=True):
    """Base class of environments that show each agent a decision set every round.

    Parameters
    ----------
    agents
        Number of agents, M.
    first_round
        The round in which an agent begins: one number for all agents, or a list with one for each,
        such as ``[1, 1, 500]``. Before it, an agent decides nothing and learns from no records.
    """

    FACTS: ClassVar[type[Facts]] = ContextualFacts
    #: The kernels of the worlds; see :meth:`kernels`.
    KERNELS: ClassVar[WorldKernels]

    agents: Count = 10
    first_round: FirstRound = 1

    @property
    def parties(self) -> int:
        return self.agents

    @property
    def first_rounds(self) -> tuple[int, ...]:
        late = self.first_round != 1  # else never ask for the parties: a file may hold them
        return first_rounds_of(self.first_round, self.parties) if late else ()

    @property
    def dimension(self) -> int:
        """Length of a context vector, d."""
        raise NotImplementedError

    @property
    def arm_count(self) -> int:
        """Number of actions in a decision set, K."""
        raise NotImplementedError

    @property
    def models(self) -> int:
        """Number of parameter vectors: 1 if all arms share one, else one for each arm."""
        return 1

    @property
    def has_constant(self) -> bool:
        """True if contexts have a constant coordinate, and lengths near 1 as a rule.

        Then the middle of the range of rewards can be subtracted from every reward.
        """
        return False

    @property
    def row_deviation(self) -> float | None:
        """Root mean square distance of contexts from their mean, if the user can change it."""
        return None

    @property
    def alike(self) -> bool:
        """True if the expected reward of a context is the same for all agents; the default."""
        return True

    @property
    def right_or_wrong(self) -> bool:
        """True if each arm pays 1 or 0 for certain in each situation."""
        return False

    def prepared(self) -> ContextualEnvironment | None:
        """Return the world with the best preparation of contexts; None if this world has it.

        All draws are the same. The default is None.
        """
        return None

    @property
    def largest_gap(self) -> float:
        """Largest regret that one agent can add in one round."""
        low, high = self.facts.reward_range
        return high - low

    @property
    def facts(self) -> ContextualFacts:
        return ContextualFacts(
            parties=self.parties,
            dimension=self.dimension,
            arms=self.arm_count,
            models=self.models,
            constant=self.has_constant,
        )

    def kernels(self, world: Any) -> WorldKernels:
        """Return the kernels of a ``world`` without drift; by default ``KERNELS``."""
        del world
        return self.KERNELS

    def open(self, key: Key, world: Any = None, asks_persons: bool = False) -> OpenWorld:
        """Open the world of the replicate that ``key`` names, for one compiled loop or for parties.

        ``world`` is the result of :meth:`world` for the key; by default it is made here.
        ``asks_persons`` tells whether compiled loops need the persons.
        """
        del asks_persons  # compiled worlds always give persons
        world = self.world(key) if world is None else world
        plain = world.before if isinstance(world, DriftingWorld) else world
        return CompiledWorld(self.facts, world, self.first_rounds, self.kernels(plain), key)

    def stage(self, key: Key) -> ContextualStage:
        return ContextualStage(self.open, key, self.parties)

    def true_parameters(self, world: Any) -> Floats | None:
        """Return the parameters of ``world``, (models, dimension); None if it is not linear."""
        return None


def refuse_late(environment: Environment, rounds: int) -> None:
    """Refuse, by ConfigError, first rounds after the last round."""
    for agent, first in enumerate(environment.first_rounds):
        if first > rounds:
            raise ConfigError(
                f"environment.first_round: agent {agent} begins in round {first}, and the last "
                f"round is {rounds}; lower its first round, or raise rounds"
            )


class Decisions(NamedTuple):
    """Numbers of decisions in a run."""

    acting: int  # parties that act in a round, if no party begins late
    total: int  # decisions of all parties
    differ: bool  # whether parties make different numbers of decisions

    def each(self, turn: str) -> str:
        """Return one party's number of decisions, with the name of a ``turn``: ``1,000 visits``."""
        mean = self.total / self.acting
        counted = f"{mean:,.0f}" if mean == round(mean) else f"{mean:,.1f}"
        return f"{counted} {turn}{'s' if mean != 1 else ''}{' on average' if self.differ else ''}"


def decisions_in(rounds: int, acting: int, first_rounds: tuple[int, ...]) -> Decisions:
    """Count the decisions in ``rounds`` rounds.

    ``acting`` parties act in a round, if no party begins late; see :func:`first_rounds_of`.
    """
    if not first_rounds:
        return Decisions(acting, acting * rounds, False)
    counts = [max(0, rounds - first + 1) for first in first_rounds]
    return Decisions(acting, sum(counts), len({*counts}) > 1)


def decisions_of(environment: Environment, rounds: int) -> Decisions:
    """Count the decisions in ``rounds`` rounds of an ``environment``."""
    return decisions_in(rounds, environment.acting, environment.first_rounds)
