"""Resources of parties in memory: noise, keys and own settings, without a folder."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Mapping
from typing import Any

from fedbandits.crypto import paillier
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.privacy.ledger import Ledger, LedgeredNoise, whole_budget
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.systems import System

#: One key for all tests of a process: a key of 3072 bits takes seconds.
_paillier_key = functools.cache(paillier.generate)


class FederationResources:
    """The resources of the parties of one federation, with a ledger that keeps their noise.

    The ledger has an account for each party that asks for noise, and charges for the noise. ``own``
    is the table ``[own]`` of a party's settings, by role and place.
    """

    def __init__(
        self, system: System[Any], plan: Any, ledger: Ledger,
        own: Mapping[tuple[str, int], Mapping[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        roles = system.roles(plan)
        assert roles is not None, f"{system.name}: this variant has no parties"
        self.system, self.plan, self.ledger, self.roles = system, plan, ledger, roles
        self._own, self._resources = own or {}, dict[tuple[str, int], MemoryResources]()

    def of(self, role: str, place: int) -> MemoryResources:
        """Return the resources of a party, the same at every call, as a folder would have them."""
        own = self._own.get((role, place), {})
        return self._resources.setdefault((role, place), MemoryResources(self, role, place, own))

    def supply(self, role: str, place: int) -> Any:
        """Make the noise and keys of a party, as a process that starts does."""
        return self.system.supply(self.plan, role, place, self.of(role, place))


class MemoryResources:
    """The :class:`.application.Resources` of one party, number ``place`` of its ``role``."""

    def __init__(
        self, workplace: FederationResources, role: str, place: int, own: Mapping[str, Any]
    ) -> None:
        self._workplace, self._role, self._place, self._own = workplace, role, place, own
        self.party = workplace.roles.parties[role][place]
        self.secrets: dict[str, bytes] = {}

    def noise(self, event: Any, stream: str = "releases") -> LedgeredNoise:
        """Make secure noise that the ledger charges for."""
        ledger = self._workplace.ledger
        claim = self._workplace.system.claim(self._workplace.plan)
        with ledger.begin() as connection:
            ledger.open_account(
                connection, self.party, claim, whole_budget(claim, self._place), claim.delta
            )
        return LedgeredNoise(ledger, self.party, stream, event, SecureNoise(), replays=True)

    def secret(self, name: str, in_state: bool = False) -> bytes:
        """Return a secret, drawn at the first call."""
        del in_state
        return self.secrets.setdefault(name, secrets.token_bytes(32))

    def shared(self, name: str, in_state: bool = False) -> bytes:
        """Return the maker's secret, if the system hands the secret to this party."""
        del in_state
        for shared in self._workplace.system.shared(self._workplace.plan):
            if shared.name == name and shared.is_taken_by(self._role, self._place):
                maker = self._workplace.of(shared.maker, shared.place)
                return shared.gift(maker.secret(name), self.party)
        raise LocalProtocolError(f"{self.party}: is given no secret called {name!r}")

    def paillier(self, bits: int) -> Any:
        """Return the same key for all tests of a process."""
        return _paillier_key(bits)

    def own(self, name: str) -> Any:
        """Return an own setting by name."""
        if name not in self._own:
            raise ConfigError(f"own.{name}: missing")
        return self._own[name]
