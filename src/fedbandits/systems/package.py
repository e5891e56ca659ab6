"""A system that is a package laid out as every other: its declaration finds its rooms by name."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fedbandits.environments.base import Environment
from fedbandits.environments.needs import Needs
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Roles
from fedbandits.systems.base import Plan, Simulation, System

if TYPE_CHECKING:  # a configuration is read without what prices and attacks it
    from fedbandits.privacy.auditing import Game
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.privacy.noise_check import NoisyNumbers
    from fedbandits.systems.application import Application, Means
    from fedbandits.systems.exported import Model
    from fedbandits.systems.theory import Bound

AnyPlan = TypeVar("AnyPlan", bound=Plan)


class PackageSystem(System[AnyPlan]):
    """A system whose class stands in the ``__init__.py`` of its package.

    A room is imported when it is first asked for, so that a configuration is read without kernels.
    What each must hold:

    =============== ===============================================================
    ``plan``        ``make_plan(config, facts, rounds)``
    ``claim``       ``claim(plan)``
    ``loop``        ``Replicate(plan, environment, seed, replicate, threads)``
    ``state``       ``needs(plan)``, beside what is allocated
    ``roles``       ``roles(plan)``
    ``application`` ``application(plan)`` and ``supply(plan, role, place, means)``; where
                    parties learn a model, ``export(plan, party)`` to
                    :class:`.exported.Learned`
    ``audit``       ``games(system, plan)``; none where no ε is claimed. Where noise is
                    added, ``noise_checks(system, plan)``
    ``theory``      ``bounds(plan, environment)``; no such room where nothing is proved
    =============== ===============================================================
    """

    def room(self, name: str) -> Any:
        """A module of this system's package."""
        return importlib.import_module(f"{type(self).__module__}.{name}")

    def plan(self, config: Any, facts: Any, rounds: int) -> AnyPlan:
        plan: AnyPlan = self.room("plan").make_plan(config, facts, rounds)
        return plan

    def claim(self, plan: AnyPlan) -> PrivacyClaim:
        claim: PrivacyClaim = self.room("claim").claim(plan)
        return claim

    def simulate(
        self, plan: AnyPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> Simulation:
        simulation: Simulation = self.room("loop").Replicate(
            plan, environment, seed, replicate, threads
        )
        return simulation

    def needs(self, plan: AnyPlan) -> Needs:
        needs: Needs = self.room("state").needs(plan)
        return needs

    def roles(self, plan: AnyPlan) -> Roles | None:
        roles: Roles = self.room("roles").roles(plan)
        return roles

    def application(self, plan: AnyPlan) -> Application[Any] | None:
        application: Application[Any] | None = self.room("application").application(plan)
        return application

    def supply(self, plan: AnyPlan, role: str, place: int, means: Means) -> Any:
        return self.room("application").supply(plan, role, place, means)

    def export(self, plan: AnyPlan, party: Party[Any]) -> Model:
        learned = getattr(self.room("application"), "export", None)
        roles = self.roles(plan)
        if learned is None or roles is None or party.name not in roles.acting.parties:
            return super().export(plan, party)
        from fedbandits.systems.exported import model_of

        return model_of(self, plan, party, learned(plan, party))

    def games(self, plan: AnyPlan, environment: Environment) -> Sequence[Game]:
        games: Sequence[Game] = self.room("audit").games(self, plan)
        return games

    def noise_checks(self, plan: AnyPlan, environment: Environment) -> Sequence[NoisyNumbers]:
        found = getattr(self.room("audit"), "noise_checks", None)
        checks: Sequence[NoisyNumbers] = () if found is None else found(self, plan)
        return checks

    def bounds(self, plan: AnyPlan, environment: Environment) -> Sequence[Bound]:
        if importlib.util.find_spec(f"{type(self).__module__}.theory") is None:
            return ()
        bounds: Sequence[Bound] = self.room("theory").bounds(plan, environment)
        return bounds
