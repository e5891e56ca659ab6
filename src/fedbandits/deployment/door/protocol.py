"""uvicorn's HTTP protocol with limits on what one client may cost the others.

A request has a largest head, and a time to come in. What comes on one connection is read a piece at
a time, and others have their turn in between. Only a few requests wait on a connection for the
answers before them: the rest stays with the client. Who does not read is not waited for.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fedbandits.deployment.door.problems import (
    HEAD_TOO_LARGE,
    NO_HTTP,
    PROBLEM_JSON,
    SLOW,
    Problem,
    Refused,
    details,
)

_LOG = logging.getLogger("fedbandits.door")
#: Bytes that are read at a time, and requests that may wait for the answers before them.
PIECE, MOST_WAITING = 8_192, 16
#: What a header takes beside its name and its value: a colon, a blank, and the end of its line.
_AROUND = 4
#: Seconds, and bytes, that a client may go on to send after it was refused.
_LINGER, _MOST_DROPPED = 1.0, 1_000_000


class BoundedProtocol(HttpToolsProtocol):
    """A connection, on which a request has a largest head and a time to come in."""

    #: Bytes of the largest head, and seconds that a request may take to come.
    MOST_HEAD = 32_768
    PATIENCE = 30.0
    #: Connections that may be open, and what says why there are not more.
    MOST_CONNECTIONS = 1_000
    WHY_NOT_MORE = "raise door.most_connections"
    #: Whether a request is coming, and bytes since its last part that is whole.
    _coming, _loose = False, 0
    #: Whether it is closed but for what is still coming, and bytes of that.
    _lingers, _dropped = False, 0
    #: Bytes of the present head.
    _head = 0
    _due: asyncio.TimerHandle | None = None
    #: What ends a connection that is not read from, and what reads the next piece.
    _stalled: asyncio.TimerHandle | None = None
    _next: asyncio.Handle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; whoever says nothing is not waited for."""
        super().connection_made(_Lingering(transport, self))  # type: ignore[arg-type]
        #: What has come and was not read yet.
        self._unread = bytearray()
        if len(self.connections) > self.MOST_CONNECTIONS:
            _LOG.warning(
                '{"warning":"%d connections are open, and no more are taken: %s"}',
                self.MOST_CONNECTIONS,
                self.WHY_NOT_MORE,
            )
            transport.abort()
            return
        self._due = self.loop.call_later(self.PATIENCE, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._unset_due()
        self.resume_writing()
        if self._next is not None:
            self._next.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what has come, or its first piece."""
        if self._lingers:
            self._drop(len(data))
        elif not self._unread and len(data) <= PIECE:  # as nearly all requests are
            self._read(data)
        else:
            self._unread += data
            self.transport.pause_reading()
            self.read_on()

    def read_on(self) -> bool:
        """Read the next piece in a moment; return whether any is left, or nothing is to be read."""
        waits = self.flow.read_paused or len(self.pipeline) >= MOST_WAITING
        if self._unread and self._next is None and not waits:
            self._next = self.loop.call_soon(self._read_piece)
        return bool(self._unread)

    def _read_piece(self) -> None:
        self._next = None
        if self._lingers or self.transport.is_closing():
            self._unread.clear()
            return
        piece = bytes(self._unread[:PIECE])
        del self._unread[:PIECE]
        self._read(piece)
        if not self.read_on() and not self.flow.read_paused:
            self.transport.resume_reading()

    def _read(self, data: bytes) -> None:
        self._loose += len(data)
        super().data_received(data)
        if not self._coming:  # most requests come in one piece
            if self._due is not None:
                self._unset_due()
        elif self.transport.is_closing():
            return
        elif self._loose > self.MOST_HEAD:
            self._refuse(HEAD_TOO_LARGE, f"at most {self.MOST_HEAD:,} bytes")
        elif self._due is None:
            self._due = self.loop.call_later(self.PATIENCE, self._too_slow)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._coming, self._head = True, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Note what is asked for."""
        self._head += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header."""
        self._head += len(name) + len(value) + _AROUND
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that a head has come, and refuse one that is too large though it came at once."""
        self._loose = 0
        if self._head > self.MOST_HEAD:
            self._refuse(HEAD_TOO_LARGE, f"at most {self.MOST_HEAD:,} bytes")
        if not self._lingers:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that some of a body has come."""
        self._loose = 0
        if not self._lingers:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request has come."""
        self._coming, self._loose = False, 0
        if not self._lingers:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with what waited for this answer."""
        super().on_response_complete()
        self.read_on()

    def pause_writing(self) -> None:
        """Wait until the client reads, and not for long."""
        super().pause_writing()
        self.end_soon()

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def end_soon(self) -> None:
        """End the connection unless the client reads in time what was written."""
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.PATIENCE, self.transport.abort)

    def linger(self) -> bool:
        """Close once the client has read its answer; return whether it is still sending.

        A connection that is closed while it sends is reset, and the answer is lost on the way.
        """
        if not self._coming or self._lingers:
            return False
        self._lingers = True
        self._unread.clear()
        self._unset_due()
        self._due = self.loop.call_later(_LINGER, self.transport.close)
        self.transport.resume_reading()
        return True

    @property
    def lingers(self) -> bool:
        """True if it is closed but for what is still coming."""
        return self._lingers

    def _drop(self, size: int) -> None:
        self._dropped += size
        if self._dropped > _MOST_DROPPED:
            self.transport.pause_reading()

    def _too_slow(self) -> None:
        answered = self.cycle is not None and self.cycle.response_started
        if self._coming and not answered:
            self._refuse(SLOW, f"it has {self.PATIENCE:g} s to come")
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        del msg
        self._refuse(NO_HTTP, "it could not be read")

    def _refuse(self, problem: Problem, detail: str) -> None:
        body = details(Refused(problem, detail))
        kind, length = PROBLEM_JSON.decode(), len(body)
        head = f"content-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[problem.status] + head.encode() + body)
        self.transport.close()

    def _unset_due(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None


class _Lingering:
    """A transport whose end waits for its protocol."""

    def __init__(self, transport: asyncio.Transport, protocol: BoundedProtocol) -> None:
        self._transport, self._protocol = transport, protocol
        self.write = transport.write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._protocol.lingers or self._transport.is_closing()

    def resume_reading(self) -> None:
        if not self._protocol.read_on():
            self._transport.resume_reading()

    def close(self) -> None:
        if not self._protocol.linger():
            self._transport.close()
            self._protocol.end_soon()
