"""One connection to a broker, from its beginning to its end.

The client's own ways to reconnect and to ping are not used: it gives up for good when a broker
disconnects a user, keeps what is published meanwhile, and waits without end for a broker that has
stopped to answer.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from fedbandits.errors import TransportError

_LOG = logging.getLogger("fedbandits.deployment")
#: What waits to be handled here: messages, and their bytes. More is dropped, and told.
_MOST_WAITING, _MOST_WAITING_BYTES = 1 << 16, 1 << 28
_NEVER, _TICK = 10**9, 0.005
#: How long good-byes may take, seconds.
_END = 1.0

#: Takes what has come: its subject, and its bytes.
Take = Callable[[str, bytes], None]


class Times(NamedTuple):
    """Durations, in seconds.

    Parameters
    ----------
    connect
        The most that one step of connecting may take.
    first_pause, longest_pause
        The pause after the first failure, and the longest one; each is twice the one before. A
        pause is shorter by up to a half, by chance: members do not all come back at once.
    hurried_pause
        The longest pause while messages wait to be sent.
    ping
        After how long the broker is asked whether it is there, and how long it may take to answer.
    answer
        After how long at most a member that knows an older list of members is sent the newer one.
    """

    connect: float = 5.0
    first_pause: float = 0.2
    longest_pause: float = 30.0
    hurried_pause: float = 5.0
    ping: float = 10.0
    answer: float = 1.0


def worth_telling(record: logging.LogRecord) -> bool:
    """Leave out a log record of asyncio that every end of a TLS connection brings."""
    return not str(record.msg).startswith("returning true from eof_received")


class Connection:
    """One connection to the ``server`` at ``tls://host:port``; opened once, and ended once."""

    def __init__(self, server: str, times: Times) -> None:
        self.server, self._times = server, times
        #: What went wrong last.
        self.failure: Exception | None = None
        self._client, self._lost, self._begun = Client(), asyncio.Event(), False
        self._subscriptions: list[Subscription] = []

    @property
    def alive(self) -> bool:
        """True if something can be sent."""
        return self._client.is_connected and not self._lost.is_set()

    @property
    def certificate_ends(self) -> float | None:
        """Time at which the broker's certificate ends, in seconds since 1970, once it was shown."""
        writer: Any = getattr(self._client._transport, "_io_writer", None)
        secured = writer and writer.get_extra_info("ssl_object")
        shown = secured and secured.getpeercert()
        return ssl.cert_time_to_seconds(shown["notAfter"]) if shown else None

    async def open(self, context: ssl.SSLContext, takes: Mapping[str, Take]) -> None:
        """Connect and subscribe; the broker has done so when this returns.

        TLS begins with the first byte: nobody in between can talk this side out of it. For each
        subject ``takes`` has what takes what comes there, on this event loop. Raises OSError,
        nats.errors.Error or TransportError, see :func:`explained`; :attr:`failure` may know more.
        """
        self._begun = True
        logging.getLogger("asyncio").addFilter(worth_telling)
        await self._client.connect(
            self.server,
            error_cb=self._note,
            closed_cb=self._note_end,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=self._times.connect,  # type: ignore[arg-type]  # fractions are fine
            ping_interval=_NEVER,
            flush_timeout=self._times.ping,
            tls=context,
            tls_handshake_first=True,
        )
        if not self._client.is_connected:  # the client takes an end for a beginning here
            raise nats.errors.UnexpectedEOF
        for subject, take in takes.items():
            subscription = await self._client.subscribe(
                subject,
                cb=_taking(take),
                pending_msgs_limit=_MOST_WAITING,
                pending_bytes_limit=_MOST_WAITING_BYTES,
            )
            self._subscriptions.append(subscription)
        await self.flushed()

    async def publish(self, subject: str, data: bytes) -> None:
        """Hand something over to be sent.

        Raises nats.errors.MaxPayloadError if it is longer than the broker takes, and another
        nats.errors.Error if there is no connection.
        """
        await self._client.publish(subject, data)

    async def answer(self) -> None:
        """Wait until the broker answers.

        Raises OSError or nats.errors.Error if it does not, or there is no connection.
        """
        async with asyncio.timeout(self._times.ping):
            await self._client.rtt(int(self._times.ping) + 1)

    async def flushed(self) -> None:
        """Wait until the broker has what was handed over; raises as :meth:`answer`."""
        async with asyncio.timeout(self._times.ping):
            await (
                self._client.rtt()
            )  # a ping overtakes what was not written yet, and has it written
            while self._client.pending_data_size > 0 and self.alive:
                await asyncio.sleep(_TICK)
            await self._client.rtt()

    async def until_lost(self) -> None:
        """Wait until the connection has ended; then always raises what has ended it."""
        while not self._lost.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._times.ping):
                    await self._lost.wait()
            if not self._lost.is_set():
                await self.answer()
        raise self._client.last_error or self.failure or nats.errors.UnexpectedEOF

    def leave(self) -> None:
        """Let :meth:`until_lost` return."""
        self._lost.set()

    async def end(self) -> None:
        """End it, with no socket left behind. What was not sent yet is lost."""
        if not self._begun:
            return
        try:
            with suppress(OSError, nats.errors.Error):
                async with asyncio.timeout(_END):
                    await self._client.close()
        finally:  # also if whoever waits for it is cancelled
            writer = self._abandon()
        if writer is not None:
            with suppress(OSError):
                async with asyncio.timeout(_END):
                    await writer.wait_closed()

    def _abandon(self) -> asyncio.StreamWriter | None:
        """End what the client has not ended; for this it has no public way.

        It waits for what cannot be sent, and for one who does not say good-bye.
        """
        for subscription in self._subscriptions:
            subscription._stop_processing()
        transport = getattr(self._client, "_transport", None)
        writer: asyncio.StreamWriter | None = getattr(transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()
        return writer

    async def _note(self, error: Exception) -> None:
        """Note an error of the client, which it cannot raise."""
        if isinstance(error, nats.errors.SlowConsumerError):
            _LOG.warning("frames come faster than they are handled; some were dropped")
        elif "permissions violation" in str(error).lower():
            _LOG.error("the broker %s denies: %s", self.server, error)
        elif isinstance(error, OSError | nats.errors.Error):
            self.failure = error
        else:  # of a callback: a failure here, not of the connection
            _LOG.error("a frame was dropped", exc_info=error)

    async def _note_end(self) -> None:
        self._lost.set()


def _taking(take: Take) -> Callable[[Msg], Awaitable[None]]:
    """Make what the client calls."""

    async def taken(message: Msg) -> None:
        take(message.subject, bytes(message.data))

    return taken


def explained(error: Exception, server: str) -> str:
    """Explain why there is no connection, and what mends it."""
    text = str(error).lower()
    if isinstance(error, TransportError):
        return str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the broker {server} shows a certificate that is not by this federation's authority, "
            f"has expired, or is not for that name ({error.verify_message})"
        )
    if isinstance(error, ssl.SSLError) and "alert" in text:
        return (
            f"the broker {server} refuses this party's certificate ({error.reason}); it trusts "
            "another authority, or finds it expired"
        )
    if isinstance(error, ssl.SSLError):
        return f"the broker {server} speaks no TLS 1.3, or not from the first byte ({error.reason})"
    if "authorization" in text:
        return (
            f"the broker {server} knows no such member as this party's certificate says "
            "(authorization violation); it was revoked or replaced, or the broker was not told yet"
        )
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return f"the broker {server} has ended the connection"
    if isinstance(error, TimeoutError):
        return f"the broker {server} does not answer"
    if isinstance(error, OSError):
        return f"the broker {server} cannot be reached ({error.strerror or type(error).__name__})"
    return f"the broker {server} has ended the connection ({error or type(error).__name__})"
