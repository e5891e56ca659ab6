"""The declaration of a system.

Simulations, parties, audits and reports use this declaration, so they are the same code for all
systems.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import msgspec
from numpy.typing import NDArray

from fedbandits._html import table, titled
from fedbandits.environments.base import Environment, Needs
from fedbandits.environments.open_world import arrays_of
from fedbandits.errors import LocalProtocolError
from fedbandits.facts import Facts
from fedbandits.federation.memory import Route
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Roles, Supplies
from fedbandits.federation.run import Embody, PartiesRun, itself
from fedbandits.federation.terms import NoiseOrigin
from fedbandits.federation.watching import Watcher
from fedbandits.random import replicate_key
from fedbandits.systems.terms import Plan as Plan
from fedbandits.systems.terms import terms_of
from fedbandits.systems.variants import Preset as Preset

if TYPE_CHECKING:  # a configuration is read without what prices and attacks it
    from fedbandits.privacy.auditing import Game
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.privacy.error_rates import Examined
    from fedbandits.privacy.noise_check import NoisyNumbers
    from fedbandits.privacy.protocol_check import ProtocolCheck
    from fedbandits.systems.application import Application, Resources, SharedSecret
    from fedbandits.systems.exported import Model
    from fedbandits.systems.guide import Guide
    from fedbandits.systems.theory import Bound


class Simulation(Protocol):
    """One replicate of one system, played in steps; all measurements are cumulative."""

    @property
    def state(self) -> Any:
        """The state of the replicate: a tree of named tuples of arrays, changed in place.

        It is None if a replicate cannot be saved. After an interruption it then starts again.
        """

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """Measurements of the system's own or its world's: (parties,) arrays by name.

        They need not be cumulative. Each becomes a variable of the result, NaN for other systems.
        """

    @property
    def done(self) -> int:
        """Number of rounds that are played."""

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


class System(Generic[AnyPlan]):
    """Base class of systems; simulations, parties, audits and reports are made from it.

    A new system is a subclass. It has the attributes below, :meth:`plan`, :meth:`claim`, and at
    least one of :meth:`simulate` and :meth:`roles`. A system with roles also has :meth:`syncs` and
    :meth:`epsilon_spent`. One instance is registered with :func:`fedbandits.systems.register`.

    Most methods take ``plan``: what :meth:`plan` returned, the same for all parties. Some also take
    ``environment``, the world that is played, or ``run``, the parties that play. ``seed`` and
    ``replicate`` together determine all random draws. Modules that import large libraries are
    imported inside methods, so a configuration can be read without them.
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

    #: Whether it can play where agents join late: its loop then goes by the ``joins`` of a handle.
    AGENTS_MAY_JOIN_LATE: ClassVar[bool] = False

    def plan(self, config: Any, facts: Any, rounds: int) -> AnyPlan:
        """Compute the plan from ``config``, the public ``facts`` and the horizon ``rounds``.

        Raises
        ------
        ConfigError
            If the configuration does not fit the facts or the horizon. The message begins with the
            key.
        """
        raise NotImplementedError

    def claim(self, plan: AnyPlan) -> PrivacyClaim:
        """Return the privacy claim of a run with this ``plan``."""
        raise NotImplementedError

    def cautions(self, plan: AnyPlan) -> tuple[str, ...]:
        """Return warnings of a ``plan`` whose results may mean little; each begins with its key."""
        del plan
        return ()

    def simulate(
        self, plan: AnyPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        """Make the simulation of one replicate; by default its parties play it.

        It uses at most ``threads`` threads. Results do not depend on their number.
        """
        del threads
        return PartiesReplicate(self, plan, environment, seed, replicate)

    def needs(self, plan: AnyPlan) -> Needs:
        """Estimate memory and time of one replicate, without its world; unknown by default."""
        del plan
        return Needs()

    def roles(self, plan: AnyPlan) -> Roles | None:
        """Return the roles of the parties under ``plan``; None if no messages are exchanged."""
        del plan
        return None

    def shared(self, plan: AnyPlan) -> tuple[SharedSecret, ...]:
        """List secrets that parties hand to others before the start; most systems have none."""
        del plan
        return ()

    def simulated_supplies(self, plan: AnyPlan, world: Any, seed: int, replicate: int) -> Supplies:
        """Make what the parties bring to a simulation; by default nothing.

        Noise and keys come from the seed here, so they protect nobody.
        """
        del plan, world, seed, replicate
        return lambda role, place: None

    def application(self, plan: AnyPlan) -> Application[Any] | None:
        """Return how applications ask parties for decisions under ``plan``; None if they cannot."""
        del plan
        return None

    def supply(self, plan: AnyPlan, role: str, place: int, resources: Resources) -> Any:
        """Make what a party brings to a federation between machines; by default nothing.

        The method is called again when a process restarts, and must return the same. The party is
        number ``place`` of its ``role``. ``resources`` are its noise, secrets and own settings.
        """
        del plan, role, place, resources

    def export(self, plan: AnyPlan, party: Party[Any]) -> Model:
        """Return the final model of ``party``, and what others may know about it.

        Raises
        ------
        LocalProtocolError
            If the party has no model.
        """
        del plan
        raise LocalProtocolError(f"{party.name}: a {party.role} of {self.name} has no model")

    def syncs(self, run: PartiesRun) -> int:
        """Count the syncs in ``run`` so far."""
        raise NotImplementedError(f"{self.name} has parties, but does not count their syncs")

    def epsilon_spent(self, plan: AnyPlan, run: PartiesRun) -> float:
        """Return ε spent so far on the contents of one party's messages, at the configured δ."""
        raise NotImplementedError(f"{self.name} has parties, but does not price their messages")

    def guide(self, plan: AnyPlan, off: Collection[str] = ()) -> Guide | None:
        """Return a guide to the parties, in a run without the protections ``off``; None if none."""
        del plan, off
        return None

    def games(self, plan: AnyPlan, environment: Environment) -> Sequence[Game]:
        """Return the games that an audit plays; none if no ε is claimed."""
        del plan, environment
        return ()

    def examine(self, plan: AnyPlan, environment: Environment, scale: float = 1) -> Examined | None:
        """Examine what participants learn; the audit is ``scale`` times as large as usual."""
        del plan, environment, scale
        return None

    def noise_checks(self, plan: AnyPlan, environment: Environment) -> Sequence[NoisyNumbers]:
        """Return released numbers whose noise an audit checks; some where noise is added."""
        del plan, environment
        return ()

    def protocol_checks(self, plan: AnyPlan, environment: Environment) -> Sequence[ProtocolCheck]:
        """Return what an audit holds against the claim, beside noise; nothing by default."""
        del plan, environment
        return ()

    def bounds(self, plan: AnyPlan, environment: Environment) -> Sequence[Bound]:
        """Return bounds from the paper's theorems, shown with a run's results; none by default."""
        del plan, environment
        return ()

    def plays_in(self, environment: type[Environment]) -> bool:
        """Tell whether the class ``environment`` has the facts that this system plans from."""
        return issubclass(environment.FACTS, self.facts_type)

    def __repr__(self) -> str:
        count = len(self.presets)
        return f"<system {self.name!r}: {self.paper}; {count} preset{'s' if count != 1 else ''}>"

    def _repr_html_(self) -> str:
        rows = [(name, preset.description) for name, preset in self.presets.items()]
        return titled(f"{self.name}: {self.paper}", table(rows, ("preset", "what it is")))


class PartiesReplicate(PartiesRun):
    """A :class:`Simulation` that a system's parties play in one process.

    Parameters
    ----------
    system, plan, environment, seed, replicate
        See :meth:`System.simulate`.
    supplies
        What the parties bring: noise and keys, simulated by default.
    noise
        What the terms say of the noise; by default that given ``supplies`` are secure.
    route, lenient, embody, watch
        See :class:`.federation.run.PartiesRun`.
    """

    state = None
    players: list[Any]  # of classes that the system's own code knows
    stage: Any

    def __init__(
        self, system: System[Any], plan: Plan, environment: Environment, seed: int, replicate: int,
        route: Route | None = None, supplies: Supplies | None = None, lenient: bool = False,
        embody: Embody = itself, watch: Watcher | None = None, noise: NoiseOrigin | None = None,
    ) -> None:  # fmt: skip
        roles = system.roles(plan)
        if roles is None:
            raise NotImplementedError(f"{system.name}: this variant has no parties")
        origin = noise or ("simulated" if supplies is None else "secure")
        terms = terms_of(system, plan, origin)
        stage = environment.stage(replicate_key(seed, replicate))
        stage.delay, stage.tells_persons = environment.delay, plan.counts_persons
        brought = supplies or system.simulated_supplies(plan, stage.world, seed, replicate)
        self.system, self.plan, self._environment = system, plan, environment
        super().__init__(roles, brought, terms, stage, plan.rounds, route, lenient, embody, watch)

    @property
    def run(self) -> PartiesRun:
        """The run of the parties: this replicate itself."""
        return self

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """Measurements of the world's own, beside those of all worlds."""
        return self._environment.measures(arrays_of(self.stage.world), self.done)

    @property
    def syncs(self) -> int:
        """Syncs so far."""
        return self.system.syncs(self)

    @property
    def epsilon(self) -> float:
        """ε charged so far for the contents of one party's messages."""
        return self.system.epsilon_spent(self.plan, self)
