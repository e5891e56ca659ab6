"""What parties bring where nothing is stored: in a rehearsal, or to look at a saved state."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedbandits.crypto import paillier
from fedbandits.deployment.process.examples import own_example
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.settings.federation import Federation


class UnkeptSupplies:
    """What parties would bring, but that nothing is charged and nothing kept. Release nothing.

    Parameters
    ----------
    federation
        Whose parties.
    own
        What members alone know, as far as it is known here; made up where it is not.
    """

    def __init__(self, federation: Federation, own: Mapping[str, Mapping[str, Any]]) -> None:
        self._federation, self._own = federation, own

    def __call__(self, role: str, place: int) -> Any:
        federation = self._federation
        if federation.noise == "simulated":
            return self._simulated(role, place)
        means = _Means(self._own_of(federation.members[role][place]))
        return federation.system.supply(federation.plan, role, place, means)

    def _simulated(self, role: str, place: int) -> Any:
        federation = self._federation
        own = [self._own_of(member) for member in federation.members[role]]
        world = SimpleNamespace(
            cost=np.array([each.get("costs", ()) for each in own], np.float64),
            capacity=np.array(getattr(federation.facts, "capacities", ()), np.int64),
        )
        return federation.system.simulated_supplies(federation.plan, world, 0, 0)(role, place)

    def _own_of(self, member: str) -> Mapping[str, Any]:
        return {**own_example(self._federation, member), **self._own.get(member, {})}


class _Means:
    """Means of a party that is never asked for anything in earnest; see :class:`.Means`."""

    def __init__(self, own: Mapping[str, Any]) -> None:
        self._own = own

    def noise(self, event: Any, stream: str = "releases") -> SecureNoise:
        del event, stream
        return SecureNoise()

    def secret(self, name: str) -> bytes:
        del name
        return secrets.token_bytes(32)

    def shared(self, name: str) -> bytes:
        del name
        return bytes(32)

    def paillier(self, bits: int) -> paillier.PrivateKey:
        return paillier.generate(bits)

    def own(self, name: str) -> Any:
        return self._own.get(name)
