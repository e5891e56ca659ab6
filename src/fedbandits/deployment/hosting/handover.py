"""Secrets that one party makes and hands to others before the first round."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from fedbandits.deployment.hosting.host import Host
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.errors import FedbanditsError

_LOG = logging.getLogger("fedbandits.deployment")
_SECRET_BYTES = 32


class Handover:
    """Secrets that a party hands over, and those that it waits for; the host keeps them.

    ``on_complete`` is awaited when the last secret that was waited for is kept.
    """

    def __init__(
        self, seat: HostedSeat, host: Host, on_complete: Callable[[], Awaitable[None]]
    ) -> None:
        self._seat, self._host, self._on_complete = seat, host, on_complete
        self._made: dict[str, bytes] = {}
        #: Who has asked for secrets that are not handed over any more.
        self._refused: set[str] = set()
        #: Those that are being written down, and what writes them.
        self._coming: set[str] = set()
        self._writing: set[asyncio.Task[None]] = set()
        #: Names of secrets that have not been handed over yet.
        self.wants: list[str] = []

    async def open(self) -> None:
        """Make what is to be handed over, and find out what is missing."""
        resources, takes, makes = self._host.resources, self._seat.takes, self._seat.makes
        self.wants = await self._host.call(
            lambda batch: [
                secret.name
                for secret in takes
                if batch.store.secret(batch.connection, f"shared {secret.name}") is None
            ]
        )
        self._made = await self._host.call(
            lambda _: {
                secret.name: resources.secret(secret.name)
                for secret in makes
                if not secret.in_state
            }
        )

    async def close(self) -> None:
        """Write nothing more down."""
        for task in list(self._writing):
            task.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)

    def gift(self, peer: str, name: str) -> bytes | None:
        """Return a secret for a peer; None if it is not for that one, or not any more."""
        taker = self._seat.federation.seat_of(peer)
        if not self._host.view.hands_over_to(taker.party):
            if peer not in self._refused:  # it asks again and again
                _LOG.warning("%s: %s is not handed its secret again", self._seat.member, peer)
            self._refused.add(peer)
            return None
        for secret in self._seat.makes:
            if secret.name == name and secret.is_taken_by(taker.role.name, taker.place):
                if secret.in_state:
                    return self._host.view.gift(taker.party)
                made = self._made.get(name)
                return None if made is None else secret.gift(made, taker.party)
        return None

    def given(self, peer: str, name: str, value: bytes) -> None:
        """Keep a secret that has come, if it is expected."""
        if self.is_expected(peer, name, value):
            self._coming.add(name)  # until it is kept no other is taken in its place
            task = asyncio.get_running_loop().create_task(self._keep(name, value))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    def is_expected(self, peer: str, name: str, value: bytes) -> bool:
        """Tell whether a secret is one that is waited for, and its maker's."""
        maker = self._seat.federation.seat_of(peer)
        made = any(
            s.name == name and s.is_made_by(maker.role.name, maker.place) for s in self._seat.takes
        )
        waited_for = name in self.wants and name not in self._coming
        return made and waited_for and len(value) == _SECRET_BYTES

    async def _keep(self, name: str, value: bytes) -> None:
        try:
            await self._host.call(
                lambda batch: batch.store.keep_secret(batch.connection, f"shared {name}", value)
            )
        except FedbanditsError as failed:  # it is asked for again
            _LOG.warning("%s: a secret could not be kept: %s", self._seat.member, failed)
            return
        finally:
            self._coming.discard(name)
        self.wants = [other for other in self.wants if other != name]
        if not self.wants:
            await self._on_complete()
