"""How applications pull a data owner's arm, and what each party of SAMBA brings.

Comp makes the secret that the key of scores and bits comes of, and hands it to the owners; the
Controller never has it. (Secrets of a silent run are in :mod:`.silent.secrets`.) The run's name is
the Controller's, drawn once and kept with its secret: one federation is one run, and another run is
another federation, with new folders.
"""

from __future__ import annotations

from typing import Any, Literal

from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision
from fedbandits.systems.application import Application, Asked, Resources, SharedSecret, Told
from fedbandits.systems.samba.agreement import RUN_BYTES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles import COMP, CONTROLLER, CUSTOMER, OWNER
from fedbandits.systems.samba.roles.supplies import (
    CompSupply,
    ControllerSupply,
    CustomerSupply,
    OwnerSupply,
    own_draws,
)
from fedbandits.systems.samba.silent import secrets as silent_secrets

#: Of it Comp and the owners make the key of scores and bits.
_CHANNEL = "channel"


class PullAsked(Asked, frozen=True):
    """Whether the arm is to be pulled: it is, whenever the owner can be asked."""


class PullTold(Told, frozen=True):
    """What a pull has earned."""

    reward: Literal[0, 1]


class Pulls(Application[SambaPlan]):
    """An owner pulls its arm when it is told to; the answer is that it pulls."""

    ASKED = PullAsked
    TOLD = PullTold
    ACTION = bool

    def situation(self, party: ActingParty[Any], asked: Any) -> None:
        del party, asked

    def action(self, decision: Decision, asked: Any) -> bool:
        del asked
        return bool(decision.action)

    def observation(
        self, party: ActingParty[Any], number: int, told: PullTold
    ) -> tuple[Decision, int]:
        state = party.state
        if state.stage != "pulling" or number != state.pulls + 1:
            raise LocalProtocolError(f"{party.name}: decision {number} is not open")
        return Decision(number, True), told.reward

    def stand_in(self, value: float) -> PullTold:
        if value not in (0.0, 1.0):
            raise ConfigError(f"rewards.default: given {value:g}, allowed: 0 or 1")
        return PullTold(1 if value else 0)


def application(plan: SambaPlan) -> Pulls | None:
    """How applications ask a data owner; nobody is asked in a plain run."""
    return None if plan.config.execution == "plain" else Pulls(plan)


def shared(plan: SambaPlan) -> tuple[SharedSecret, ...]:
    """What Comp makes for the owners; the Controller never has it."""
    if plan.config.is_silent:
        return silent_secrets.shared(plan)
    return (SharedSecret(_CHANNEL, COMP, OWNER),)


def supply(plan: SambaPlan, role: str, place: int, resources: Resources) -> Any:
    """What a party brings: keys, and nothing that another has but what is shared."""
    if plan.config.is_silent and not (role == CUSTOMER and plan.config.total == "paillier"):
        return silent_secrets.supply(role, place, resources)
    if role == CONTROLLER:
        return ControllerSupply(resources.secret("controller"), resources.secret("run")[:RUN_BYTES])
    if role == COMP:
        return CompSupply(resources.secret(_CHANNEL), resources.secret("comp"))
    if role == CUSTOMER:
        secure = plan.config.execution == "secure"
        return CustomerSupply(resources.paillier(plan.config.paillier_bits) if secure else None)
    return OwnerSupply(resources.shared(_CHANNEL), own_draws(resources))
