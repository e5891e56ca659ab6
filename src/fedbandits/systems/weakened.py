"""Systems without some of their protections, to show in a simulation what each protection hides."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any, NoReturn

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.masks import Masks
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.roles import Roles, Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.federation.totals.plan import HelperSecrets
from fedbandits.systems.base import Plan, System


class Weakened(System[Any]):
    """A system without some of its protections.

    It is made for one run. It is not registered, so no configuration can name it, and it brings
    nothing to a deployment. Its name is part of the terms: parties of the system itself refuse its
    messages.

    Parameters
    ----------
    system
        The system.
    off
        Names of the protections.
    plan, roles, supplies
        Functions from what the system makes to the same without the protections: of its plan, of a
        plan and its roles, and of what parties bring. By default they change nothing.
    """

    def __init__(
        self, system: System[Any], off: Collection[str],
        plan: Callable[[Any], Any] = lambda plan: plan,
        roles: Callable[[Any, Roles], Roles] = lambda plan, roles: roles,
        supplies: Callable[[Supplies], Supplies] = lambda supplies: supplies,
    ) -> None:  # fmt: skip
        self.name = f"{system.name} without {', '.join(sorted(off))}"  # type: ignore[misc]
        self.presets, self.facts_type = {}, system.facts_type  # type: ignore[misc]
        self.paper, self.config_type = system.paper, system.config_type  # type: ignore[misc]
        self._system, self._plan, self._roles, self._supplies = system, plan, roles, supplies

    def plan(self, config: Any, facts: Any, rounds: int) -> Plan:
        plan: Plan = self._plan(self._system.plan(config, facts, rounds))
        return plan

    def roles(self, plan: Any) -> Roles | None:
        roles = self._system.roles(plan)
        return None if roles is None else self._roles(plan, roles)

    def simulated_supplies(self, plan: Any, world: Any, seed: int, replicate: int) -> Supplies:
        return self._supplies(self._system.simulated_supplies(plan, world, seed, replicate))

    def syncs(self, run: PartiesRun) -> int:
        return self._system.syncs(run)

    def epsilon_spent(self, plan: Any, run: PartiesRun) -> float:
        """Return infinity: nothing is claimed of such a run."""
        del plan, run
        return math.inf

    def supply(self, plan: Any, role: str, place: int, resources: Any) -> NoReturn:
        """Refuse to bring anything to a deployment.

        Raises
        ------
        LocalProtocolError
            Always.
        """
        raise LocalProtocolError(f"{self.name}: such parties exist to be shown, not to be deployed")


def without_supplies(system: System[Any], off: Collection[str]) -> Weakened:
    """Return a system whose parties bring no ``noise``, or no ``masks`` for secure sums."""

    def weaker(supplies: Supplies) -> Supplies:
        return lambda role, place: _weaker(supplies(role, place), off)

    return Weakened(system, off, supplies=weaker)


def _weaker(own: Any, off: Collection[str]) -> Any:
    """Return a party's supplies with the disabled protections removed."""
    if "masks" in off and isinstance(own, HelperSecrets):
        return own._replace(masks=_NoMasks)
    if "masks" in off and getattr(own, "masks", None) is not None:
        own = own._replace(masks=own.masks._replace(masks=_NoMasks))
    if "noise" in off and hasattr(own, "noise"):
        own = own._replace(noise=_zero(own.noise))
    return own


def _zero(noise: Callable[..., Any]) -> Callable[..., Any]:
    """Return a source that is asked as another one, and draws zeros."""
    return lambda *names: np.zeros_like(noise(*names))


class _NoMasks(Masks):
    def fill(self, number: int, salt: int, out: Words64) -> None:
        out[:] = 0
