"""The newest list of members, for a party that was away: it asks, and any peer answers.

The broker stores nothing, so a list that the authority has published reached only those who were
there. Who connects says which version it knows. Who knows a newer one publishes it, and who knows
an older one asks in its turn: so all come to know the newest list, in whatever order they connect.
Both come after a random pause, and not if a list has come meanwhile. Whom a list comes from does
not matter: the authority has signed it, and an older one is refused.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import suppress

import nats.errors

from fedbandits.deployment.delivery.broker import members_subject, versions_subject
from fedbandits.deployment.delivery.nats_connection import Connection, Take
from fedbandits.deployment.identity.identity import Identity
from fedbandits.deployment.identity.members import OlderListError
from fedbandits.errors import IdentityError

_LOG = logging.getLogger("fedbandits.deployment")


class MemberLists:
    """Asks for newer lists and answers others, over one connection.

    Every list that comes is given to ``offer``. An answer comes after at most ``pause`` seconds.
    """

    def __init__(self, identity: Identity, offer: Callable[[bytes], object], pause: float) -> None:
        self._identity, self._offer, self._pause = identity, offer, pause
        self._list, self._ask = (
            members_subject(identity.federation),
            versions_subject(identity.federation),
        )
        self._connection: Connection | None = None
        #: What is to be said, after a pause: the newest list, or which version is known.
        self._speaking: asyncio.Task[None] | None = None
        #: Whether a list has come meanwhile, and the newest version that somebody said meanwhile.
        self._heard, self._newest = False, 0

    @property
    def takes(self) -> dict[str, Take]:
        """Subjects to subscribe to, and what takes what comes there."""
        return {self._list: self._take, self._ask: self._hear}

    @property
    def is_speaking(self) -> bool:
        """True if something is to be said after a pause."""
        return self._speaking is not None and not self._speaking.done()

    async def begin(self, connection: Connection) -> None:
        """Ask whether there is a newer list, and answer others from now on."""
        self._connection = connection
        await connection.publish(self._ask, self._version)

    def end(self) -> None:
        """Answer nobody any more."""
        if self._speaking is not None:
            self._speaking.cancel()
        self._speaking = self._connection = None

    @property
    def _version(self) -> bytes:
        """The version that is known, as it is said."""
        return str(self._identity.members.current.version).encode()

    def _take(self, subject: str, data: bytes) -> None:
        """Offer a list that somebody has published."""
        try:
            self._offer(data)
        except OlderListError as error:  # while members are admitted, one after the other
            _LOG.info("%s: %s", self._identity.name, error)
        except IdentityError as error:
            _LOG.warning("%s: %s", self._identity.name, error)
        else:
            self._heard = True

    def _hear(self, subject: str, data: bytes) -> None:
        """Answer somebody who knows an older version, and ask somebody who knows a newer one."""
        if not data.isdigit() or len(data) >= 20:
            return
        known = int(data)
        if known == self._identity.members.current.version:
            return
        if not self.is_speaking:
            self._heard, self._newest = False, 0
            self._speaking = asyncio.create_task(self._speak())
        self._newest = max(self._newest, known)

    async def _speak(self) -> None:
        """Ask for a newer list that somebody knows, or publish ours, unless one came meanwhile."""
        await asyncio.sleep(self._pause * secrets.randbelow(1000) / 1000)
        current = self._identity.members.current
        asks = self._newest > current.version
        if self._connection is not None and (asks or not self._heard):
            said = (self._ask, self._version) if asks else (self._list, current.encode())
            with suppress(nats.errors.Error):  # the connection has just ended
                await self._connection.publish(*said)
