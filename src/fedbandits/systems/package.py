"""A system that is a package laid out as every other: its declaration finds its rooms by name."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from fedbandits.environments.base import Environment, Needs
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Roles
from fedbandits.systems.base import Plan, Simulation, System
from fedbandits.systems.terms import claim_under

if TYPE_CHECKING:  # a configuration is read without what prices and attacks it
    from fedbandits.privacy.auditing import Game
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.privacy.noise_check import NoisyNumbers
    from fedbandits.privacy.protocol_check import ProtocolCheck
    from fedbandits.systems.application import Application, Resources
    from fedbandits.systems.exported import Model
    from fedbandits.systems.guide import Guide
    from fedbandits.systems.theory import Bound

AnyPlan = TypeVar("AnyPlan", bound=Plan)

#: Modules that have the functions of missing rooms, in order; no kernel is loaded to find a guide.
_INSTEAD, _OF_STATE = ("declare", "plan"), ("loop",)


class PackageSystem(System[AnyPlan]):
    """A system whose class stands in the ``__init__.py`` of its package.

    A room is a module of the package. It is imported when it is first asked for, so that a
    configuration is read without kernels. ``plan`` and ``claim`` must be there, and one of ``loop``
    and ``roles``. All others may be missing, and the default of :class:`.System` holds.

    =============== =============================================== ==============================
    room            holds                                           without it
    =============== =============================================== ==============================
    ``plan``        ``make_plan(config, facts, rounds)``
    ``claim``       ``claim(plan)``
    ``loop``        ``Replicate(plan, environment, seed, replicate, the parties play
                    threads)``
    ``roles``       ``roles(plan)``                                 there are no parties
    ``state``       ``needs(plan)``, beside what is allocated       nothing is known of memory
    ``application`` ``application(plan)``,                          nobody can ask a party
                    ``supply(plan, role, place, resources)``
    ``guide``       ``guide(plan, off)``                            steps are shown without words
    ``audit``       ``games(system, plan)``                         nothing is attacked
    ``theory``      ``bounds(plan, environment)``                   nothing is proved
    =============== =============================================== ==============================

    A function of a room that is missing may stand in ``declare``, beside the configuration and the
    presets, or in ``plan``; those of ``state`` in ``loop``. A room that a system has in common with
    others may lie elsewhere, as ``SHARED_ROOMS`` says. Where parties learn a model, ``application``
    has ``export(plan, party)`` too, to :class:`.exported.Learned`. Where noise is added, ``audit``
    has ``noise_checks(system, plan)``,
    and ``protocol_checks(system, plan)`` for what a claim rests on beside noise.
    """

    #: Modules outside the package that serve as rooms, each under the last part of its name.
    SHARED_ROOMS: ClassVar[tuple[str, ...]] = ()

    def room(self, name: str) -> Any:
        """Import a room of this system.

        Raises
        ------
        ModuleNotFoundError
            If there is none of that name.
        """
        return importlib.import_module(self._module_of(name))

    def has_room(self, name: str) -> bool:
        """Tell whether this system has a room of that name."""
        return importlib.util.find_spec(self._module_of(name)) is not None

    def _module_of(self, room: str) -> str:
        """Return the name of the module that a room is, whether it is there or not."""
        shared = {module.rpartition(".")[2]: module for module in self.SHARED_ROOMS}
        return shared.get(room, f"{type(self).__module__}.{room}")

    def function(self, room: str, function: str) -> Any:
        """Return a function of a room; None if neither the room nor a module that stands for it.

        A room that is there is the only place to look.
        """
        instead = _OF_STATE if room == "state" else _INSTEAD
        modules = (room,) if self.has_room(room) else filter(self.has_room, instead)
        functions = (getattr(self.room(module), function, None) for module in modules)
        return next((found for found in functions if found is not None), None)

    def plan(self, config: Any, facts: Any, rounds: int) -> AnyPlan:
        plan: AnyPlan = self.room("plan").make_plan(config, facts, rounds)
        return plan

    def claim(self, plan: AnyPlan) -> PrivacyClaim:
        claim: PrivacyClaim = self.function("claim", "claim")(plan)
        return claim

    def simulate(
        self, plan: AnyPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        make = self.function("loop", "Replicate") or super().simulate
        simulation: Simulation = make(plan, environment, seed, replicate, threads)
        return simulation

    def needs(self, plan: AnyPlan) -> Needs:
        needs: Needs = (self.function("state", "needs") or super().needs)(plan)
        return needs

    def roles(self, plan: AnyPlan) -> Roles | None:
        roles: Roles | None = (self.function("roles", "roles") or super().roles)(plan)
        return roles

    def application(self, plan: AnyPlan) -> Application[Any] | None:
        make = self.function("application", "application") or super().application
        application: Application[Any] | None = make(plan)
        return application

    def supply(self, plan: AnyPlan, role: str, place: int, resources: Resources) -> Any:
        supply = self.function("application", "supply") or super().supply
        return supply(plan, role, place, resources)

    def export(self, plan: AnyPlan, party: Party[Any]) -> Model:
        learned, roles = self.function("application", "export"), self.roles(plan)
        if learned is None or roles is None or party.name not in roles.acting.parties:
            return super().export(plan, party)
        from fedbandits.systems.exported import Model

        claim = claim_under(self, plan, party.terms)
        return Model(
            system=self.name,
            party=party.name,
            terms=party.terms.digest,
            claim=msgspec.to_builtins(msgspec.structs.replace(claim, events=())),
            learned=learned(plan, party),
        )

    def guide(self, plan: AnyPlan, off: Collection[str] = ()) -> Guide | None:
        guide: Guide | None = (self.function("guide", "guide") or super().guide)(plan, off)
        return guide

    def games(self, plan: AnyPlan, environment: Environment) -> Sequence[Game]:
        found = self.function("audit", "games")
        games: Sequence[Game] = () if found is None else found(self, plan)
        return games

    def noise_checks(self, plan: AnyPlan, environment: Environment) -> Sequence[NoisyNumbers]:
        found = self.function("audit", "noise_checks")
        checks: Sequence[NoisyNumbers] = () if found is None else found(self, plan)
        return checks

    def protocol_checks(self, plan: AnyPlan, environment: Environment) -> Sequence[ProtocolCheck]:
        found = self.function("audit", "protocol_checks")
        checks: Sequence[ProtocolCheck] = () if found is None else found(self, plan)
        return checks

    def bounds(self, plan: AnyPlan, environment: Environment) -> Sequence[Bound]:
        bounds = self.function("theory", "bounds") or super().bounds
        found: Sequence[Bound] = bounds(plan, environment)
        return found
