"""Requests of applications that pull a data owner's arm, and the supply of secrets of each party.

The Controller draws the run's name once, and keeps the name with its secret: one federation is one
run, and another run is another federation, with new folders.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from fedbandits.crypto import paillier
from fedbandits.crypto.paillier import PrivateKey
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision
from fedbandits.federation.roles import Supplies
from fedbandits.learners.kernels.index_rules import fill_arm_keys
from fedbandits.random import Key, replicate_key
from fedbandits.systems.application import Application, Asked, Resources, Told
from fedbandits.systems.samba.keys import (
    CONTROLLER,
    CUSTOMER,
    OWNER,
    SimulatedSecrets,
    secrets_of,
    shared,
)
from fedbandits.systems.samba.plan import RUN_BYTES, SambaPlan


class PullAsked(Asked, frozen=True):
    """True: an owner that can be asked is to pull its arm."""


class PullTold(Told, frozen=True):
    """The reward that a pull has earned."""

    reward: Literal[0, 1]


class Pulls(Application[SambaPlan]):
    """Requests of an owner, whose every answer is to pull."""

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
    """Secrets of a party by name, and the keys that only its role has."""

    #: Secrets that the party makes or is handed, see :mod:`.keys`.
    secrets: Mapping[str, bytes] = {}
    #: The Controller's name of the run: fresh random bytes for every run.
    run: bytes = b""
    #: Key of an owner's random draws. The key of a run's draws follows from it and the run's name.
    draws: Key = Key(0, 0)
    #: The customer's Paillier key; None for sums in clear, or in shares.
    private_key: PrivateKey | None = None


def supply(plan: SambaPlan, role: str, place: int, resources: Resources) -> Supply:
    """Make the supply of the party at a place of a role, from the party's resources."""
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


class _Simulated:
    """Resources of one party in a simulation."""

    def __init__(
        self, plan: SambaPlan, secrets: SimulatedSecrets, draws: bytes, party: str, key: Any
    ) -> None:
        self._made = {**secrets._asdict(), "draws": draws}
        self._handed = {
            secret.name: secret.gift(self._made[secret.name], party) for secret in shared(plan)
        }
        self.secret, self.shared = self._made.__getitem__, self._handed.__getitem__
        self.paillier = key


def simulated_supplies(plan: SambaPlan, seed: int, replicate: int) -> Supplies:
    """Make secrets from the seed, which protect no party, and a fresh key of the customer's.

    A second call for a party, as of a process that restarts, returns the same supply.
    """
    secrets, draws = SimulatedSecrets.derive(seed, replicate), np.zeros((plan.arms, 2), np.uint64)
    fill_arm_keys(replicate_key(seed, replicate), draws)
    key = functools.cache(paillier.generate)

    def of_party(role: str, place: int) -> Supply:
        drawn = draws[place].astype(">u4").tobytes() if role == OWNER else b""
        own: Any = _Simulated(plan, secrets, drawn, f"{role}-{place}", key)
        return supply(plan, role, place, own)

    return of_party
