"""Connections of a door: what they share, and how each of them ends.

A client has a time to send, and a time to read what was written. One that is refused while it sends
is heard for a moment more: a connection that is closed at once is reset, and the answer is lost on
the way.
"""

from __future__ import annotations

import asyncio
import logging
import time
from email.utils import formatdate
from typing import Any, NamedTuple

from fedbandits.deployment.door.app import App

_LOG = logging.getLogger("fedbandits.door")
#: Seconds, and bytes, that a client may go on to send after it was refused.
_LINGER, _MOST_DROPPED = 1.0, 1_000_000


class Limits(NamedTuple):
    """Limits on what one connection may cost the others; see :class:`.DoorSettings`."""

    body: int = 1_000_000
    head: int = 32_768
    connections: int = 1_000
    why_not_more: str = "raise door.most_connections"
    request_time: float = 30.0
    keep_alive: float = 60.0


class Connections:
    """All connections of a door, and what they share."""

    def __init__(self, app: App, limits: Limits) -> None:
        self.app, self.limits = app, limits
        self.open: set[Ending] = set()
        #: What makes answers just now.
        self.works: set[asyncio.Future[Any]] = set()
        #: Set while no connection is open.
        self.none = asyncio.Event()
        self.none.set()
        self._date, self._second = b"", 0

    @property
    def date(self) -> bytes:
        """The time, as answers tell it."""
        if (now := int(time.time())) != self._second:
            self._date, self._second = formatdate(now, usegmt=True).encode(), now
        return self._date

    def close(self) -> None:
        """Close those on which nothing is asked, and the others after their answers."""
        for connection in list(self.open):
            connection.finish()

    def abort(self) -> None:
        """End what is still open."""
        for work in list(self.works):
            work.cancel()
        for connection in list(self.open):
            connection.abort()


class Ending(asyncio.Protocol):
    """A connection, and the times after which it ends. A subclass knows what is said on it."""

    def __init__(self, all_: Connections) -> None:
        self._all, self._limits = all_, all_.limits
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        #: The address at its other end.
        self._sender = ""
        #: Whether a request is coming, and whether more is read from the client.
        self._coming, self._reads = False, True
        #: When it ends unless more comes, if it does, and what looks then.
        self._until: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        #: What ends a connection whose client does not read.
        self._stalled: asyncio.TimerHandle | None = None
        #: Whether it has ended, but for what is still coming, and bytes of that.
        self._ended, self._dropped = False, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; whoever says nothing is not waited for."""
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self._sender = str(peer[0]) if peer else ""
        if len(self._all.open) >= self._limits.connections:
            _LOG.warning(
                '{"warning":"%d connections are open, and no more are taken: %s"}',
                self._limits.connections,
                self._limits.why_not_more,
            )
            self.abort()
            return
        self._all.open.add(self)
        self._all.none.clear()
        self._expect(self._limits.request_time)

    def connection_lost(self, exc: Exception | None) -> None:
        """End: nobody waits for answers any more."""
        self._ended = True
        for handle in (self._timer, self._stalled):
            if handle is not None:
                handle.cancel()
        self._all.open.discard(self)
        if not self._all.open:
            self._all.none.set()

    def finish(self) -> None:
        """Close after the answer to what is asked, or at once."""
        raise NotImplementedError

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()

    def pause_writing(self) -> None:
        """Wait until the client reads, and not for long."""
        self._end_soon()
        self._read_on()

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        if self._stalled is not None and not self._ended:
            self._stalled.cancel()
            self._stalled = None
        self._read_on()

    def _read_on(self) -> None:
        """Read more from the client, or leave it there."""
        raise NotImplementedError

    def _slow(self) -> None:
        """Act on a request that has not come in time, or on the lack of one."""
        raise NotImplementedError

    def _drop(self, data: bytes) -> None:
        """Read what nobody looks at any more, up to a limit."""
        self._dropped += len(data)
        if self._dropped > _MOST_DROPPED:
            self._transport.pause_reading()

    def _end_soon(self) -> None:
        """End the connection unless the client reads in time what was written."""
        if self._stalled is None:
            self._stalled = self._loop.call_later(self._limits.request_time, self.abort)

    def _close(self) -> None:
        """Close once the client has read its answer, though it may still be sending."""
        if self._ended:
            return
        self._ended = True
        self._end_soon()
        if self._reads and not self._coming:
            self._transport.close()
            return
        if not self._reads:
            self._transport.resume_reading()
        self._loop.call_later(_LINGER, self._transport.close)

    def _expect(self, seconds: float) -> None:
        """End, unless more comes in so many seconds."""
        self._until = self._loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._until:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(self._until, self._look)

    def _look(self) -> None:
        """Look at the time, which every request puts off: a timer each would cost more."""
        self._timer = None
        if self._until is None or self._ended:
            return
        if (left := self._until - self._loop.time()) > 0:
            self._expect(left)
        else:
            self._slow()
