"""The newest list of members, for a party that was away: it asks, and any peer answers.

The broker stores nothing, so a list that the authority has published reached only those who were
there. Who connects says which version it knows; who knows a newer one publishes it, after a random
pause and unless another did so first. Whom a list comes from does not matter: the authority has
signed it, and an older one is refused.
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
        self._answer: asyncio.Task[None] | None = None
        self._heard = False

    @property
    def takes(self) -> dict[str, Take]:
        """Subjects to subscribe to, and what takes what comes there."""
        return {self._list: self._take, self._ask: self._hear}

    async def begin(self, connection: Connection) -> None:
        """Ask whether there is a newer list, and answer others from now on."""
        self._connection = connection
        version = self._identity.members.current.version
        await connection.publish(self._ask, str(version).encode())

    def end(self) -> None:
        """Answer nobody any more."""
        if self._answer is not None:
            self._answer.cancel()
        self._answer = self._connection = None

    def _take(self, subject: str, data: bytes) -> None:
        """Offer a list that somebody has published."""
        try:
            self._offer(data)
        except IdentityError as error:
            _LOG.warning("%s: %s", self._identity.name, error)
        else:
            self._heard = True

    def _hear(self, subject: str, data: bytes) -> None:
        """Answer somebody who has said that it knows an older version."""
        known = data.isdigit() and len(data) < 20 and int(data)
        waiting = self._answer is not None and not self._answer.done()
        if known is not False and known < self._identity.members.current.version and not waiting:
            self._heard = False
            self._answer = asyncio.create_task(self._publish())

    async def _publish(self) -> None:
        """Publish the list, unless another one came meanwhile."""
        await asyncio.sleep(self._pause * secrets.randbelow(1000) / 1000)
        if not self._heard and self._connection is not None:
            with suppress(nats.errors.Error):  # the connection has just ended
                await self._connection.publish(self._list, self._identity.members.current.encode())
