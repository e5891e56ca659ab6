"""uvicorn's HTTP protocol with a limit on the size of a request's head, which httptools lacks."""

from __future__ import annotations

import asyncio
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

#: Seconds, and bytes, that a client may go on to send after it was refused.
_LINGER, _MOST_DROPPED = 1.0, 1_000_000


class BoundedProtocol(HttpToolsProtocol):
    """A connection, on which a request has a largest head and a time to come in."""

    #: Bytes of the largest head, and seconds that a request may take to come.
    MOST_HEAD = 32_768
    PATIENCE = 30.0
    #: Whether a request is coming, and bytes since its last part that is whole.
    _coming, _loose = False, 0
    #: Whether it is closed but for what is still coming, and bytes of that.
    _lingers, _dropped = False, 0
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; whoever says nothing is not waited for."""
        super().connection_made(_Lingering(transport, self))  # type: ignore[arg-type]
        self._due = self.loop.call_later(self.PATIENCE, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._unset_due()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        if self._lingers:
            self._drop(len(data))
            return
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
        self._coming = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that a head has come."""
        self._loose = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that some of a body has come."""
        self._loose = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request has come."""
        self._coming, self._loose = False, 0
        super().on_message_complete()

    def linger(self) -> bool:
        """Close once the client has read its answer; return whether it is still sending.

        A connection that is closed while it sends is reset, and the answer is lost on the way.
        """
        if not self._coming or self._lingers:
            return False
        self._lingers = True
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

    def close(self) -> None:
        if not self._protocol.linger():
            self._transport.close()
