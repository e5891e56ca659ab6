"""Roles and secrets of systems that release to secure sums.

Every helper makes a secret of its own, and hands each agent one that is derived of it. So a pair
of agent and helper shares a secret that no third party knows. The states of both go on from the
secret, and their stores forget it, as keys are erased once they were used: see :mod:`.totals.keys`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from fedbandits.crypto.chains import draw
from fedbandits.crypto.keystream import derive_key
from fedbandits.federation.exchange.outlet import ClearOutlet, Mechanism, Outlet, SecureOutlet
from fedbandits.federation.party import Party
from fedbandits.federation.roles import MessageTable, Role, Roles
from fedbandits.federation.seats import AGENT, CONTROLLER, HELPER, Seat
from fedbandits.federation.totals.controller import TotalsController
from fedbandits.federation.totals.helper import Helper
from fedbandits.federation.totals.messages import TABLE
from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets, TotalsPlan
from fedbandits.federation.totals.sender import Sending, first_sending
from fedbandits.systems.aggregation import SecureTotals
from fedbandits.systems.application import Resources, SharedSecret

#: Name of the secret by which an agent makes its salts.
_OWN = "salts"


class SumsConstants(Protocol):
    """Constants of a plan on which secure sums depend."""

    @property
    def agents(self) -> int:
        """Number of agents."""

    @property
    def releases(self) -> int:
        """Number of releases of an agent."""

    @property
    def release_size(self) -> int:
        """Number of values in a release."""


class SumsPlan(Protocol):
    """A plan of agents that may release to secure sums."""

    @property
    def constants(self) -> SumsConstants:
        """Constants of the plan."""

    @property
    def secure(self) -> SecureTotals | None:
        """The numbers of secure sums; None where releases are seen."""

    @property
    def agent_names(self) -> tuple[str, ...]:
        """The names of all agents, in order."""


class SummedPlan(SumsPlan, Protocol):
    """A plan of agents with releases in clear to a controller, or to secure sums."""

    @property
    def most_sums(self) -> int:
        """Largest number of sums in a run."""


def summed_roles(
    plan: SummedPlan, make_agent: Callable[[Seat, Any], Party[Any]],
    make_controller: Callable[[Seat], Party[Any]], table: MessageTable,
) -> Roles:  # fmt: skip
    """Return agents, and the parties that add up releases: a controller, with helpers or alone.

    ``make_controller`` and ``table`` are of releases that are seen.
    """
    names = plan.agent_names
    if plan.secure is not None:
        # A share for a sum that is over is made for the shares after it, and is in no sum.
        roles: tuple[Role, ...] = (Role(AGENT, names, make_agent, True), *totals_roles(plan))
        table = TABLE
    else:
        # An agent that gave up first would ask anew for a sum that is about to come.
        controller = Role(CONTROLLER, (CONTROLLER,), lambda seat, _: make_controller(seat))
        roles = Role(AGENT, names, make_agent, True, 2.0), controller
    # Each agent numbers its own releases; a sum says which are in it.
    return Roles(roles, table, outcomes_may_be_late=True, rounds_are_shared=False)


def outlet_of(
    seat: Seat, plan: SummedPlan, mechanism: Mechanism, secrets: AgentSecrets | None,
    upload: type[Any], takes_out: bool = True,
) -> tuple[Outlet, Sending | None]:  # fmt: skip
    """Return the outlet of an agent, and the first state of its messages with secure sums.

    See :class:`.outlet.ClearOutlet` and :class:`.outlet.SecureOutlet`.
    """
    if plan.secure is None:
        return ClearOutlet(seat, mechanism, upload, plan.most_sums), None
    totals = totals_plan(plan)
    outlet = SecureOutlet(seat, mechanism, totals, secrets, takes_out)
    return outlet, first_sending(seat, totals, secrets)


def totals_plan(plan: SumsPlan, role: str = AGENT) -> TotalsPlan:
    """Return the plan of the parties to secure sums; ``role`` is that of agents."""
    constants, secure = plan.constants, _secure(plan)
    return TotalsPlan(
        agents=constants.agents, helpers=secure.helpers, size=constants.release_size,
        releases=constants.releases, least_parties=secure.least_parties,
        colluding=secure.colluding, role=role,
    )  # fmt: skip


def totals_roles(plan: SumsPlan, role: str = AGENT) -> tuple[Role, Role]:
    """Return the roles of the controller and of the helpers; ``role`` is that of agents."""
    totals = totals_plan(plan, role)
    names = tuple(f"{HELPER}-{place}" for place in range(totals.helpers))
    return (
        Role(
            CONTROLLER,
            (CONTROLLER,),
            lambda seat, _: TotalsController(seat, totals),
            is_compiled=False,
        ),
        Role(
            HELPER,
            names,
            lambda seat, own: Helper(seat, totals, own),
            may_be_restored=False,
            is_compiled=False,
        ),
    )


def shared_masks(plan: SumsPlan, role: str = AGENT) -> tuple[SharedSecret, ...]:
    """List the secrets that helpers hand agents, by their role; none where releases are seen."""
    if plan.secure is None:
        return ()
    return tuple(
        SharedSecret(f"masks-{place}", HELPER, role, each=True, place=place, in_state=True)
        for place in range(plan.secure.helpers)
    )


def agent_secrets(plan: SumsPlan, resources: Resources) -> AgentSecrets | None:
    """Make the secrets that mask an agent's releases; None where releases are seen."""
    if plan.secure is None:
        return None
    given = tuple(resources.shared(secret.name, in_state=True) for secret in shared_masks(plan))
    return AgentSecrets(given, resources.secret(_OWN, in_state=True), draw)


def helper_secrets(plan: SumsPlan, place: int, resources: Resources) -> HelperSecrets:
    """Make the secrets that a helper shares with agents, of its one secret."""
    secret = shared_masks(plan)[place]
    made = resources.secret(secret.name, in_state=True)
    gifts = _gifts(plan, secret, made) if made else HelperSecrets((b"",) * len(plan.agent_names))
    return gifts._replace(draw=draw)


def simulated_agent_secrets(
    plan: SumsPlan, place: int, seed: int, replicate: int
) -> AgentSecrets | None:
    """Make an agent's secrets from a seed: they protect nobody. None where releases are seen."""
    if plan.secure is None:
        return None
    name = plan.agent_names[place]
    given = tuple(
        secret.gift(_simulated(secret.name, seed, replicate), name) for secret in shared_masks(plan)
    )
    return AgentSecrets(given, _simulated(f"{_OWN} {name}", seed, replicate))


def simulated_helper_secrets(
    plan: SumsPlan, place: int, seed: int, replicate: int
) -> HelperSecrets:
    """Make a helper's secrets from a seed: they protect nobody."""
    secret = shared_masks(plan)[place]
    return _gifts(plan, secret, _simulated(secret.name, seed, replicate))


def _gifts(plan: SumsPlan, secret: SharedSecret, made: bytes) -> HelperSecrets:
    return HelperSecrets(tuple(secret.gift(made, name) for name in plan.agent_names))


def _simulated(name: str, seed: int, replicate: int) -> bytes:
    root = b"fedbandits simulated secrets" + seed.to_bytes(8, "big") + replicate.to_bytes(4, "big")
    return derive_key(root, f"secure sums {name}")


def _secure(plan: SumsPlan) -> SecureTotals:
    if plan.secure is None:
        raise ValueError("in this plan releases are seen, so there are no secure sums")
    return plan.secure
