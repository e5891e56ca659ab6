"""uvicorn's protocol, with a limit on what comes before a body: httptools itself has none."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fedbandits.deployment.door.problems import (
    HEAD_TOO_LARGE,
    NO_HTTP,
    PROBLEM_JSON,
    Problem,
    Refused,
    details,
)


class BoundedProtocol(HttpToolsProtocol):
    """A connection, which is closed if a request's head is too long or too slow."""

    #: Bytes of the largest head, and seconds that one may take.
    MOST_HEAD = 32_768
    PATIENCE = 30.0
    _unfinished = 0
    _due: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        self._unfinished += len(data)
        super().data_received(data)
        if self._due is not None and self._unfinished == 0:
            self._unset_due()
        elif self._unfinished and self.parser is not None and not self.transport.is_closing():
            if self._unfinished > self.MOST_HEAD:
                self._refuse(HEAD_TOO_LARGE, f"at most {self.MOST_HEAD:,} bytes")
            elif self._due is None:  # seldom: most heads come in one piece
                self._due = self.loop.call_later(self.PATIENCE, self.transport.close)

    def on_headers_complete(self) -> None:
        """A head has come."""
        self._unfinished = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Some of a body has come."""
        self._unfinished = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request has come."""
        self._unfinished = 0
        super().on_message_complete()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; whoever says nothing is not waited for."""
        super().connection_made(transport)
        self._due = self.loop.call_later(self.PATIENCE, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._unset_due()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        del msg
        self._refuse(NO_HTTP, "it could not be read")

    def _refuse(self, problem: Problem, detail: str) -> None:
        body = details(Refused(problem, detail))
        head = b"%bcontent-type: %b\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % (
            STATUS_LINE[problem.status],
            PROBLEM_JSON,
            len(body),
        )
        self.transport.write(head + body)
        self.transport.close()

    def _unset_due(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
