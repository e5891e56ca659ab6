"""Frames over NATS, for as long as a party runs.

Core subjects alone: the broker stores nothing, and what is lost is sent again by whoever uses
this. A connection that has ended is not taken up again: a new one is made, so that nothing waits
in it and comes late.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import ssl
import time
from collections.abc import Callable
from contextlib import suppress

import nats.errors

from fedbandits.deployment.delivery.broker import (
    ends_soon,
    frames_subject,
    members_subject,
    sender_of,
    versions_subject,
)
from fedbandits.deployment.delivery.nats_connection import Connection, Take, Times, explained
from fedbandits.deployment.delivery.transport import Receive
from fedbandits.deployment.identity.authority import authority_context, load_authority
from fedbandits.deployment.identity.identity import Identity
from fedbandits.deployment.identity.members import OlderListError
from fedbandits.deployment.identity.private_files import Path
from fedbandits.errors import IdentityError, TransportError
from fedbandits.settings.federation_file import ServerAddress

_LOG = logging.getLogger("fedbandits.deployment")
#: How many days before its end a member's certificate is spoken of.
_SOON = 60
_DAY = 86_400.0


class NatsTransport:
    """Carries frames of one member through the broker.

    The ``servers`` are addresses ``tls://host:port``; another one raises TransportError. Every list
    of members that is published is given to ``on_members``, on the event loop, unchecked; an
    IdentityError of it is logged. By default it is offered to the identity's ``members``.
    """

    def __init__(
        self,
        identity: Identity,
        servers: tuple[str, ...],
        on_members: Callable[[bytes], object] | None = None,
        times: Times | None = None,
    ) -> None:
        self._identity, self._servers = identity, tuple(map(_checked, servers))
        self._times = times or Times()
        self._lists = MemberLists(
            identity, on_members or identity.members.offer, self._times.answer
        )
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._problem, self._ending = "not connected yet", False
        #: Whether messages have waited to be sent since the connection ended.
        self._hurries = asyncio.Event()
        self._broker_ends: float | None = None

    @property
    def connected(self) -> bool:
        """True if frames can be sent now."""
        return self._connection is not None and self._connection.alive

    @property
    def problem(self) -> str:
        """Reason why there is no connection, as it was found last; empty while there is one."""
        return "" if self.connected else self._problem

    @property
    def broker_days(self) -> int | None:
        """Whole days that the broker's certificate is valid, as it was shown last."""
        return None if self._broker_ends is None else int((self._broker_ends - time.time()) // _DAY)

    async def open(self, receive: Receive, on_connected: Callable[[], None]) -> None:
        """Begin; see :class:`~fedbandits.deployment.delivery.transport.Transport`.

        It connects again for ever. What cannot be mended from here, such as a certificate that has
        expired, is logged and is in :attr:`problem`; it may be mended elsewhere. Raises
        IdentityError if a key is damaged or can be read by others, and TransportError if it is open
        already.
        """
        if self._task is not None:
            raise TransportError("this transport is open already; make another one")
        context = self._identity.tls_context()
        takes = self._subscriptions(receive)
        self._task = asyncio.create_task(self._keep(context, takes, on_connected))
        self._task.add_done_callback(self._say_ended)

    async def send(self, receiver: str, frame: bytes) -> bool:
        """Send a frame; return whether it was handed over, which needs a connection."""
        connection = self._connection
        if connection is None or not connection.alive:
            return False
        identity = self._identity
        try:
            await connection.publish(
                frames_subject(identity.federation, identity.name, receiver), frame
            )
        except nats.errors.MaxPayloadError:
            _LOG.error(
                "a frame of %d bytes for %s is longer than the broker takes; raise its max_payload",
                len(frame),
                receiver,
            )
            return False
        except nats.errors.Error:  # the connection has just ended
            return False
        return connection.alive

    def hurry(self) -> None:
        """Connect again soon, if there is no connection: messages wait to be sent."""
        if not self.connected:
            self._hurries.set()

    async def close(self) -> None:
        """End, after what was handed over has reached the broker."""
        task = self._task
        if task is None:
            return
        self._ending = True  # the client may swallow a cancellation
        if self._connection is not None:
            with suppress(OSError, nats.errors.Error):  # it is gone, and what was sent with it
                await self._connection.flushed()
        if self._connection is not None:
            self._connection.leave()
        task.cancel()
        await asyncio.wait([task])
        self._task = None
        if not task.cancelled():
            task.result()  # it never ends by itself, but by a failure of its own

    async def _keep(
        self, context: ssl.SSLContext, takes: dict[str, Take], on_connected: Callable[[], None]
    ) -> None:
        """Connect, again and again, with pauses that grow while it fails."""
        pause = self._times.first_pause
        while not self._ending:
            for server in self._servers:
                if await self._once(Connection(server, self._times), context, takes, on_connected):
                    pause = self._times.first_pause
            await self._rest(pause)
            pause = min(2 * pause, self._times.longest_pause)

    async def _rest(self, longest: float) -> None:
        """Wait for the next try, and not for long while messages are to be sent."""
        share = 0.5 + secrets.randbelow(1000) / 2000
        hurried = min(longest, self._times.hurried_pause)
        await asyncio.sleep(share * hurried)
        with suppress(TimeoutError):
            async with asyncio.timeout(share * (longest - hurried)):
                await self._hurries.wait()

    async def _once(
        self,
        connection: Connection,
        context: ssl.SSLContext,
        takes: dict[str, Take],
        on_connected: Callable[[], None],
    ) -> bool:
        """Connect, and stay until that ends; return whether there was a connection."""
        try:
            self._identity.check()
            await connection.open(context, takes)
            if not self._ending:
                self._connection = connection
                self._hurries.clear()
                self._broker_ends = connection.certificate_ends
                self._say_connected(connection.server)
                await self._lists.begin(connection)
                on_connected()
                await connection.until_lost()
        except (IdentityError, TransportError) as error:
            self._note(str(error))
        except (OSError, nats.errors.Error) as error:
            self._note(explained(connection.failure or error, connection.server))
        finally:
            began, self._connection = self._connection is connection, None
            self._lists.end()
            await connection.end()
        return began

    def _subscriptions(self, receive: Receive) -> dict[str, Take]:
        """Map each subject to what takes what comes there."""
        here = frames_subject(self._identity.federation, "*", self._identity.name)
        frames: dict[str, Take] = {here: lambda subject, data: receive(sender_of(subject), data)}
        return frames | self._lists.takes

    def _note(self, problem: str) -> None:
        """Keep what is wrong, and log it if that is new."""
        if problem != self._problem:
            _LOG.warning(
                "%s: %s; trying again, at least every %.0f s",
                self._identity.name,
                problem,
                self._times.longest_pause,
            )
        self._problem = problem

    def _say_ended(self, task: asyncio.Task[None]) -> None:
        """Say that nothing connects any more, if that is not because of :meth:`close`."""
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self._problem = f"it has ended by a failure of its own ({type(failure).__name__})"
            _LOG.critical("%s: the transport has failed", self._identity.name, exc_info=failure)

    def _say_connected(self, server: str) -> None:
        self._problem = "the connection has ended"
        _LOG.info("%s: connected to the broker %s", self._identity.name, server)
        left = self._identity.days_left()
        if left < _SOON:
            _LOG.warning(
                "the certificate of %s ends in %d days; rotate its keys", self._identity.name, left
            )
        days = self.broker_days
        if days is not None and (caution := ends_soon(days)):
            _LOG.warning("%s: %s", self._identity.name, caution)


def _checked(server: str) -> str:
    """Return an address with its port; raises TransportError if it is none."""
    try:
        return ServerAddress.of(server).url
    except ValueError:
        raise TransportError(
            f"transport.servers: given {server!r}, allowed: tls://HOST:PORT"
        ) from None


async def publish_members(
    authority: Path, servers: tuple[str, ...] = (), times: Times | None = None
) -> None:
    """Tell all parties that are connected the authority's newest list of members.

    The ``servers`` are by default those in the federation's file. Raises IdentityError if the
    authority's folder is damaged, and TransportError if no broker takes the list.
    """
    office, context = load_authority(authority), authority_context(authority)
    problems: list[str] = []
    for server in servers or office.federation.transport.servers:
        connection = Connection(_checked(server), times or Times())
        try:
            await connection.open(context, {})
            await connection.publish(
                members_subject(office.federation.name), office.members.encode()
            )
            await connection.flushed()
        except (OSError, nats.errors.Error, TransportError) as error:
            problems.append(explained(connection.failure or error, server))
        else:
            return
        finally:
            await connection.end()
    raise TransportError(f"the list of members was not published: {'; '.join(problems)}")


class MemberLists:
    """Asks for newer lists of members and answers others, over one connection.

    The broker stores nothing, so a list that the authority has published reached only the members
    who were connected. A member that connects says which version it knows. A member that knows a
    newer one publishes it, and one that knows an older one asks in its turn: so all come to know
    the newest list, in whatever order they connect. Both come after a random pause, and not if a
    list has come meanwhile. Any member may send a list: the authority has signed it, and an older
    one is refused.

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
