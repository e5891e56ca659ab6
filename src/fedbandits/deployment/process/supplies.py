"""Supplies of parties without a store: from a seed, for a rehearsal, or to look at a state."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedbandits.crypto import paillier
from fedbandits.deployment.hosting.seat import Supply
from fedbandits.deployment.process.examples import own_example
from fedbandits.deployment.process.folder import PartyFolder
from fedbandits.federation.roles import Supplies
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.settings.federation import Federation
from fedbandits.systems.application import SharedSecret


def _from_seed(federation: Federation, costs: Mapping[int, Any], seed: int) -> Supplies:
    """Make simulated supplies. ``costs`` of buyers are by place, where the system has any.

    Settings and facts stand for what a simulated world knows of the parties.
    """
    world = SimpleNamespace()
    if costs:
        world.cost = {place: np.array(row, np.float64) for place, row in costs.items()}
    if hasattr(federation.facts, "capacities"):
        world.capacity = np.array(federation.facts.capacities, np.int64)
    return federation.system.simulated_supplies(federation.plan, world, seed, 0)


def simulated_supply(folder: PartyFolder) -> Supply | None:
    """Make a party's supply from the seed in its settings; None where noise is secure."""
    simulated, federation = folder.settings.simulated, folder.federation
    if simulated is None:
        return None
    role, place = federation.seat_of(folder.member)
    own = folder.settings.own
    supplies = _from_seed(
        federation, {place: own["costs"]} if "costs" in own else {}, simulated.seed
    )
    return lambda means: supplies(role.name, place)


class RehearsalSupplies:
    """Supplies with which nothing is charged and nothing kept. Release nothing of them.

    ``own`` is what members alone know, as far as it is known here; the rest is made up.
    """

    def __init__(self, federation: Federation, own: Mapping[str, Mapping[str, Any]]) -> None:
        self._federation, self._own = federation, own
        shared = federation.system.shared(federation.plan)
        self._shared = {secret.name: (secret, secrets.token_bytes(32)) for secret in shared}

    def __call__(self, role: str, place: int) -> Any:
        federation = self._federation
        own = [
            {**own_example(federation, member), **self._own.get(member, {})}
            for member in federation.members[role]
        ]
        if federation.noise == "simulated":
            costs = {i: each["costs"] for i, each in enumerate(own) if "costs" in each}
            return _from_seed(federation, costs, 0)(role, place)
        resources = _Unstored(own[place], self._shared, federation.roles.parties[role][place])
        return federation.system.supply(federation.plan, role, place, resources)


class _Unstored:
    """Resources of a party that is never asked for anything in earnest; see :class:`.Resources`.

    All have the same ``shared`` secrets, as after they were handed over.
    """

    def __init__(
        self, own: Mapping[str, Any], shared: Mapping[str, tuple[SharedSecret, bytes]], party: str
    ) -> None:
        self._own, self._shared, self._party = own, shared, party

    def noise(self, event: Any, stream: str = "releases") -> SecureNoise:
        del event, stream
        return SecureNoise()

    def secret(self, name: str, in_state: bool = False) -> bytes:
        del in_state
        return self._shared[name][1] if name in self._shared else secrets.token_bytes(32)

    def shared(self, name: str, in_state: bool = False) -> bytes:
        del in_state
        secret, made = self._shared[name]
        return secret.gift(made, self._party)

    def paillier(self, bits: int) -> paillier.PrivateKey:
        return paillier.generate(bits)

    def own(self, name: str) -> Any:
        return self._own.get(name)
