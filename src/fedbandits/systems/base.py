"""What a system declares. Everything else is written once against this declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import msgspec
from numpy.typing import NDArray

from fedbandits.environments.base import Environment
from fedbandits.environments.facts import Facts
from fedbandits.environments.needs import Needs
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.memory import Route
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Roles, Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.federation.terms import Schedule
from fedbandits.random import replicate_key
from fedbandits.systems.showing import ShownSystem
from fedbandits.systems.terms import terms_of

if TYPE_CHECKING:  # a configuration is read without what prices and attacks it
    from fedbandits.privacy.auditing import Game
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.privacy.examined import Examined
    from fedbandits.privacy.noise_check import NoisyNumbers
    from fedbandits.systems.application import Application, Means, SharedSecret
    from fedbandits.systems.exported import Model
    from fedbandits.systems.theory import Bound


class Preset(NamedTuple):
    """A named variant: what it is, and the settings that differ from the system's defaults."""

    description: str
    settings: Mapping[str, Any]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What all parties of a run go by; public, and the same for all.

    Systems add what they work out: in ``constants`` what compiled code takes.

    Parameters
    ----------
    config
        Configuration of the variant that is played.
    facts
        Public facts of the world.
    rounds
        The horizon T, in rounds.
    """

    config: Any
    facts: Any
    rounds: int

    @property
    def schedule(self) -> Schedule:
        """When parties release, and how much at once."""
        return Schedule(rounds=self.rounds)

    @property
    def public(self) -> dict[str, Any]:
        """What else all must agree on: what each party reads from a file of its own."""
        return {}


class Simulation(Protocol):
    """One replicate of one system, advanced in steps; everything is cumulative."""

    @property
    def state(self) -> Any:
        """A tree of named tuples of arrays: all that changes, written in place.

        None where a replicate cannot be saved, and is played anew after an interruption.
        """

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """What a system reports beside what all report: (parties,) arrays by name.

        They need not be cumulative. Each becomes a variable of the result, NaN for systems that
        have none of that name.
        """

    @property
    def done(self) -> int:
        """Rounds played."""

    @property
    def regret(self) -> NDArray[Any]:
        """(parties,) cumulative regret."""

    @property
    def reward(self) -> NDArray[Any]:
        """(parties,) cumulative reward."""

    @property
    def syncs(self) -> int:
        """Syncs so far."""

    @property
    def messages(self) -> int:
        """Messages so far."""

    @property
    def bytes(self) -> int:
        """Bytes of payload so far."""

    @property
    def epsilon(self) -> float:
        """ε charged so far for the contents of one party's messages."""

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done."""


AnyPlan = TypeVar("AnyPlan", bound=Plan)


class System(ShownSystem, Generic[AnyPlan]):
    """A system: a declaration that simulations, parties, audits and reports are made from.

    A new one is a subclass with the attributes below, :meth:`plan`, :meth:`claim` and at least one
    of :meth:`simulate` and :meth:`roles`. Whoever has roles says too what their runs have come to
    (:meth:`syncs`, :meth:`epsilon_spent`). One instance is registered
    (:func:`fedbandits.systems.register`). Rooms of a system that need much are imported in the
    methods that use them, so that a configuration is read without them.
    """

    #: Names it; built-in ones are called as their folder.
    name: ClassVar[str]
    #: Where it was published.
    paper: ClassVar[str]
    #: Its configuration, a frozen struct.
    config_type: ClassVar[type[msgspec.Struct]]
    #: Its named variants.
    presets: ClassVar[Mapping[str, Preset]]
    #: The facts that it plans from: it plays in environments that have such.
    facts_type: ClassVar[type[Facts]]

    #: Whether a round's number means the same to all parties. If it does, a party that begins late
    #: ends the rounds that are over, one after the other, before it takes part.
    ROUNDS_ARE_SHARED: ClassVar[bool] = True
    #: Secrets that one role hands to another before anything begins; most systems have none.
    SHARED: ClassVar[tuple[SharedSecret, ...]] = ()

    def plan(self, config: Any, facts: Any, rounds: int) -> AnyPlan:
        """Work out what all parties go by.

        Raises
        ------
        ConfigError
            If the configuration does not fit the facts or the horizon; begins with the key.
        """
        raise NotImplementedError

    def claim(self, plan: AnyPlan) -> PrivacyClaim:
        """What is promised."""
        raise NotImplementedError

    def cautions(self, plan: AnyPlan) -> tuple[str, ...]:
        """What can be run, but hardly makes sense; each begins with the key that it is about."""
        del plan
        return ()

    def simulate(
        self, plan: AnyPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        """One replicate; by default played by the parties.

        Parameters
        ----------
        plan
            Plan that was made from the environment's facts.
        environment
            The environment that it is played in.
        seed, replicate
            They name the random draws.
        threads
            How many may work side by side. Results do not depend on it.
        """
        del threads
        return PartiesReplicate(self, plan, environment, seed, replicate)

    def needs(self, plan: AnyPlan) -> Needs:
        """What one replicate takes beside its world; by default nothing is known of it."""
        del plan
        return Needs()

    def roles(self, plan: AnyPlan) -> Roles | None:
        """Who takes part, and how each party is made; None where nobody exchanges anything."""
        del plan
        return None

    def simulated_supplies(self, plan: AnyPlan, world: Any, seed: int, replicate: int) -> Supplies:
        """What parties bring in a simulation: from the seed, so it protects nobody.

        By default they bring nothing.
        """
        del plan, world, seed, replicate
        return lambda role, place: None

    def application(self, plan: AnyPlan) -> Application[Any] | None:
        """How applications ask the acting parties for decisions; None if nobody can."""
        del plan
        return None

    def supply(self, plan: AnyPlan, role: str, place: int, means: Means) -> Any:
        """What a party brings to a federation between machines; by default nothing.

        It is asked for anew when a process restarts, and must be the same.

        Parameters
        ----------
        plan
            What all parties go by.
        role, place
            Which party it is.
        means
            What that party can bring.
        """
        del plan, role, place, means

    def export(self, plan: AnyPlan, party: Party[Any]) -> Model:
        """A party's final model: what it acts on, and what may be known of that.

        Raises
        ------
        LocalProtocolError
            If the party has no model.
        """
        del plan
        raise LocalProtocolError(f"{party.name}: a {party.role} of {self.name} has no model")

    def syncs(self, run: PartiesRun) -> int:
        """Syncs that parties have made so far."""
        raise NotImplementedError(f"{self.name} has parties, but does not count their syncs")

    def epsilon_spent(self, plan: AnyPlan, run: PartiesRun) -> float:
        """ε that the contents of a party's messages have cost so far, at the configured δ."""
        raise NotImplementedError(f"{self.name} has parties, but does not price their messages")

    def games(self, plan: AnyPlan, environment: Environment) -> Sequence[Game]:
        """What an audit plays; nothing where no ε is claimed."""
        del plan, environment
        return ()

    def examine(self, plan: AnyPlan, environment: Environment, scale: float = 1) -> Examined | None:
        """What participants find out, for an audit of encryption ``scale`` times the usual size."""
        del plan, environment, scale
        return None

    def noise_checks(self, plan: AnyPlan, environment: Environment) -> Sequence[NoisyNumbers]:
        """All numbers that parties release, whose noise an audit holds against what is planned.

        Whoever claims an ε that rests on noise offers some.
        """
        del plan, environment
        return ()

    def bounds(self, plan: AnyPlan, environment: Environment) -> Sequence[Bound]:
        """What the paper's theorems promise of a run, to be held beside it; by default nothing."""
        del plan, environment
        return ()

    def plays_in(self, environment: type[Environment]) -> bool:
        """Whether a kind of environment has the facts that this system plans from."""
        return issubclass(environment.FACTS, self.facts_type)


class PartiesReplicate:
    """A :class:`Simulation` played by a system's parties in one process.

    Parameters
    ----------
    system
        The system whose parties play.
    plan, environment, seed, replicate
        What is played, where, and the two numbers that name simulated draws.
    route
        Delays and drops of the network; immediate and reliable by default.
    supplies
        What the parties bring; simulated by default. What is given counts as secure.
    lenient, embody
        See :class:`.federation.run.PartiesRun`.
    """

    state = None

    def __init__(
        self,
        system: System[Any],
        plan: Plan,
        environment: Environment,
        seed: int,
        replicate: int,
        route: Route | None = None,
        supplies: Supplies | None = None,
        lenient: bool = False,
        embody: Callable[[Callable[[], Party[Any]]], Any] = lambda make: make(),
    ) -> None:
        roles = system.roles(plan)
        if roles is None:
            raise NotImplementedError(f"{system.name}: this variant has no parties")
        terms = terms_of(system, plan, "simulated" if supplies is None else "secure")
        stage = environment.stage(replicate_key(seed, replicate))
        brought = supplies or system.simulated_supplies(plan, stage.world, seed, replicate)
        self.run = PartiesRun(roles, brought, terms, stage, plan.rounds, route, lenient, embody)
        self.system, self.plan = system, plan
        self.metrics: Mapping[str, NDArray[Any]] = {}

    @property
    def syncs(self) -> int:
        """Syncs so far."""
        return self.system.syncs(self.run)

    @property
    def epsilon(self) -> float:
        """ε charged so far for the contents of one party's messages."""
        return self.system.epsilon_spent(self.plan, self.run)

    def __getattr__(self, name: str) -> Any:
        if name == "run" or name.startswith("__"):  # it is being copied: there is nothing yet
            raise AttributeError(name)
        return getattr(self.run, name)
