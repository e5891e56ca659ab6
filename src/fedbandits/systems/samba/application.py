"""Requests of applications that pull a data owner's arm, and what each party of SAMBA brings.

The run's name is the Controller's, drawn once and kept with its secret: one federation is one run,
and another run is another federation, with new folders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from fedbandits.crypto.paillier import PrivateKey
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision
from fedbandits.random import Key
from fedbandits.systems.application import Application, Asked, Resources, Told
from fedbandits.systems.samba.keys import CONTROLLER, CUSTOMER, OWNER, secrets_of, shared
from fedbandits.systems.samba.plan import RUN_BYTES, SambaPlan


class PullAsked(Asked, frozen=True):
    """True if the arm is to be pulled: it is, whenever the owner can be asked."""


class PullTold(Told, frozen=True):
    """The reward that a pull has earned."""

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
    """Return how applications ask a data owner; nobody is asked in a plain run."""
    return None if plan.config.execution == "plain" else Pulls(plan)


class Supply(NamedTuple):
    """Secrets that a party brings, by name, and the keys of its role alone."""

    #: Secrets that the party makes or is handed, see :mod:`.keys`.
    secrets: Mapping[str, bytes] = {}
    #: The Controller's name of the run: fresh random bytes for every run.
    run: bytes = b""
    #: Key of an owner's own random draws; those of a run are made of it and of the run's name.
    draws: Key = Key(0, 0)
    #: The customer's Paillier key; None for sums in clear, or in shares.
    private_key: PrivateKey | None = None


def supply(plan: SambaPlan, role: str, place: int, resources: Resources) -> Supply:
    """Make the supply of the party at a place of a role, in a federation between machines."""
    handed, secrets = shared(plan), {}
    for secret in secrets_of(plan):
        if secret.is_made_by(role, place):
            secrets[secret.name] = resources.secret(secret.name)
        elif secret in handed and secret.is_taken_by(role, place):
            secrets[secret.name] = resources.shared(secret.name)
    draws, run, private_key = Key(0, 0), b"", None
    if role == OWNER:
        drawn = resources.secret("draws")
        draws = Key(int.from_bytes(drawn[:4], "big"), int.from_bytes(drawn[4:8], "big"))
    elif role == CONTROLLER:
        run = resources.secret("run")[:RUN_BYTES]
    elif role == CUSTOMER and plan.config.encrypts_sums:
        private_key = resources.paillier(plan.config.paillier_bits)
    return Supply(secrets, run, draws, private_key)
