"""Resources of a hosted party: noise with a ledger, secrets, and facts that it alone knows."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.engine import Connection

from fedbandits.crypto import paillier
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import ConfigError, NotReadyError
from fedbandits.privacy.accounting import Event
from fedbandits.privacy.ledger import LedgeredNoise
from fedbandits.privacy.secure_noise import SecureNoise

_SECRET_BYTES = 32


class StoredResources:
    """A party's resources, from its store and its settings; see :class:`.application.Resources`.

    The ``member`` pays in the ledger. ``connection`` tells in whose transaction to work.
    """

    def __init__(
        self,
        store: Store,
        member: str,
        own: Mapping[str, Any],
        connection: Callable[[], Connection],
    ) -> None:
        self._store, self._member, self._own = store, member, own
        self._connection = connection
        #: Sources of a party whose journal is not replayed yet.
        self._replaying: list[LedgeredNoise] = []
        #: Names of secrets that the party's state goes on from.
        self._in_state: set[str] = set()

    def noise(self, event: Callable[[int], Event], stream: str = "releases") -> LedgeredNoise:
        """Make a source of secure noise; each step is charged and kept with its event."""
        source = LedgeredNoise(
            self._store.ledger, self._member, stream, event, SecureNoise(), self._connection,
            replays=True,
        )  # fmt: skip
        self._replaying.append(source)
        return source

    def end_replay(self) -> None:
        """Let no source repeat a step any more: the journal was replayed."""
        while self._replaying:
            self._replaying.pop().end_replay()

    def erase_secrets(self) -> None:
        """Delete the secrets that the party's state goes on from; save it in this transaction."""
        for name in self._in_state:
            self._store.erase_secret(self._connection(), name)
        self._in_state.clear()

    def secret(self, name: str, in_state: bool = False) -> bytes:
        """Return 32 random bytes of the party's own, drawn once and kept; empty once erased."""
        found = self._kept(f"own {name}", lambda: secrets.token_bytes(_SECRET_BYTES))
        if in_state and found:
            self._in_state.add(f"own {name}")
        return found

    def shared(self, name: str, in_state: bool = False) -> bytes:
        """Return 32 random bytes from another party, empty once they were erased.

        Raises NotReadyError before they come.
        """
        found = self._store.secret(self._connection(), f"shared {name}")
        if found is None:
            raise NotReadyError(f"{self._member}: the secret {name!r} has not been handed over yet")
        if in_state and found:
            self._in_state.add(f"shared {name}")
        return found

    def paillier(self, bits: int) -> paillier.PrivateKey:
        """Return a private Paillier key, made once and kept."""

        def make() -> bytes:
            key = paillier.generate(bits)
            return b"%x %x" % (key.p, key.q)

        p, q = self._kept(f"paillier {bits}", make).split()
        return paillier.PrivateKey(int(p, 16), int(q, 16))

    def own(self, name: str) -> Any:
        """Return an entry of ``[own]`` in the party's settings; raises ConfigError without one."""
        if name not in self._own:
            raise ConfigError(f"{self._member}: own.{name}: not given; it is in party.toml")
        return self._own[name]

    def _kept(self, name: str, make: Callable[[], bytes]) -> bytes:
        connection = self._connection()
        found = self._store.secret(connection, name)
        if found is None:
            found = make()
            self._store.keep_secret(connection, name, found)
        return found
