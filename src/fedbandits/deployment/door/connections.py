"""Connections of a door: uvicorn's HTTP/1.1, with limits on what one client may cost the others.

A request has a largest head, and a time to come in. Bytes of one connection are read a piece at a
time, and other connections have their turn in between. While a request waits for the answers before
it, the rest stays with the client. A client that does not read its answers is not waited for.

A connection is a *stranger* until a request with a token was let in on it. Strangers have a time,
and those of one address have a part of all places. Where there is no place, the oldest stranger
makes room. So whoever opens connections, and shows no token, keeps no application out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from email.utils import formatdate
from typing import Any, Literal

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from fedbandits.deployment.door.problems import (
    HEAD_TOO_LARGE,
    NO_HTTP,
    PROBLEM_JSON,
    SLOW,
    Problem,
    Refused,
    details,
)
from fedbandits.deployment.door.settings import DoorSettings

LOG = logging.getLogger("fedbandits.door")
#: Bytes that are read at a time.
PIECE = 8_192
#: Seconds, and bytes, that a client may go on to send after its request was refused: a connection
#: that is closed at once is reset, and the answer is lost on the way.
LINGER, MOST_DROPPED = 1.0, 1_000_000
#: Bytes of a header beside its name and its value: a colon, a blank, and the end of its line.
_AROUND = 4
#: Seconds that every stranger has, whoever else comes: so long a token may be on its way.
GRACE = 1.0
#: Seconds between two looks at whether all connections have ended.
_LOOKS_EVERY = 0.005
#: Takes uvicorn's messages, and drops them: the door writes one line a request.
_SILENT = logging.Logger("uvicorn", logging.CRITICAL + 1)


class Connections:
    """All connections of a door to an ASGI application, and what they share."""

    def __init__(self, app: Any, settings: DoorSettings) -> None:
        self.settings = settings
        self.most, self.why_not_more = most_connections(settings.most_connections)
        self.config = uvicorn.Config(
            app, http=HttpToolsProtocol, ws="none", lifespan="off", interface="asgi3",
            log_config=None, server_header=False, date_header=False, proxy_headers=False,
            timeout_keep_alive=settings.keep_alive,  # type: ignore[arg-type] # a timer takes floats
        )  # fmt: skip
        self.config.load()
        #: Open connections, tasks that make answers, and headers that all answers have.
        self.state = ServerState()
        #: Each piece is read into it, and copied out of it before the next one is read.
        self.buffer = memoryview(bytearray(PIECE))
        self._second = 0
        #: Strangers by the address that they come from, the oldest first, and how many there are.
        self._strangers: dict[str, dict[Connection, None]] = {}

    def connect(self) -> asyncio.BufferedProtocol:
        """Make the protocol of a new connection."""
        return _InPieces(Connection(self), self.buffer)

    def take_in(self, connection: Connection) -> bool:
        """Take a new connection in as a stranger, and make room for it; False if there is none.

        Strangers of one address have at most three quarters of all places.
        """
        strangers, now = self._strangers, connection.loop.time()
        own = strangers.get(connection.address, {})
        if 4 * len(own) >= 3 * self.most:
            has_room = _make_room(own, now)
        elif len(self.state.connections) > self.most:
            has_room = _make_room(max(strangers.values(), key=len, default={}), now)
        else:
            has_room = True
        if not has_room:
            return False
        self._strangers.setdefault(connection.address, {})[connection] = None
        return True

    def forget(self, connection: Connection) -> None:
        """Note that a connection is no stranger, or has ended."""
        known = self._strangers.get(connection.address, {})
        known.pop(connection, None)
        if not known:
            self._strangers.pop(connection.address, None)

    def set_date(self) -> None:
        """Put the time into the headers that all answers have."""
        if (now := int(time.time())) != self._second:
            self._second = now
            self.state.default_headers = [(b"date", formatdate(now, usegmt=True).encode())]

    async def close(self) -> None:
        """End idle connections at once, and the others after their answers or after some time."""
        for connection in list(self.state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.settings.drain):
                while self.state.connections:
                    await asyncio.sleep(_LOOKS_EVERY)
        except TimeoutError:
            LOG.warning('{"warning":"the door closes, and some requests are not answered"}')
            for connection in list(self.state.connections):
                connection.transport.abort()
            for task in list(self.state.tasks):
                task.cancel()


def _make_room(strangers: dict[Connection, None], now: float) -> bool:
    """End the connection of the oldest stranger, if it has had its time; return whether it had."""
    oldest = next(iter(strangers), None)
    if oldest is None or now - oldest.began < GRACE:
        return False
    LOG.warning(
        '{"warning":"%s shows no token, and its oldest connection was ended to make room"}',
        oldest.address,
    )
    oldest.end_as_stranger()
    return True


class Connection(HttpToolsProtocol):
    """One connection, on which requests are answered in their order."""

    def __init__(self, all_: Connections) -> None:
        super().__init__(all_.config, all_.state, {"connection": self})
        self.logger, self.access_log = _SILENT, False
        self._all, self._settings = all_, all_.settings
        #: Part of a request that is coming, if any.
        self._part: Literal["", "head", "body"] = ""
        #: Bytes since the last part of a request that is whole, of the piece that is parsed, and of
        #: all pieces since the one in which the newest head began.
        self._loose = self._piece = self._pieces = 0
        #: Ends the wait for a request, and the wait for a client that does not read.
        self._timer: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        #: Refusal of a request whose body is coming, for the application to answer with.
        self.refused: Refused | None = None
        #: The last answer, which those that are still to be made precede; none while it is empty.
        self._last = b""
        #: Bytes that were dropped after a refusal.
        self._dropped = 0
        #: The address that the connection comes from, when it began, and how long a stranger has.
        self.address, self.began = "", 0.0
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; a client that sends nothing is not waited for."""
        super().connection_made(_OneWrite(transport, self.loop))  # type: ignore[arg-type]
        self.flow = _Flow(transport, self.pipeline)
        self.address, self.began = (self.client or ("",))[0], self.loop.time()
        if not self._all.take_in(self):
            LOG.warning(
                '{"warning":"%d connections are open, and no more are taken: %s"}',
                self._all.most,
                self._all.why_not_more,
            )
            transport.abort()
            return
        self._timer = self.loop.call_later(self._settings.request_time, self._slow)
        self._patience = self.loop.call_later(self._settings.request_time, self._time_is_over)

    def trust(self) -> None:
        """Keep the connection's place: a request with a token was let in on it."""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
            self._all.forget(self)

    def end_as_stranger(self) -> None:
        """End a stranger's connection at once, to make room."""
        self._all.forget(self)
        self.transport.abort()

    def _time_is_over(self) -> None:
        """End a stranger's connection, or let it end after the answer that is being made."""
        if self._part or self.cycle is None or self.cycle.response_complete:
            self._slow()
        else:
            self.cycle.keep_alive = False

    def connection_lost(self, exc: Exception | None) -> None:
        """End: nobody waits for answers any more."""
        self._stop_waiting()
        self.trust()
        self.resume_writing()
        super().connection_lost(exc)

    # --- what comes ---

    def data_received(self, data: bytes) -> None:
        """Take a piece of what has come, and parse it."""
        if self._last or self.refused is not None:
            self._dropped += len(data)
            if self._dropped > MOST_DROPPED:
                self.flow.pause_reading()
            return
        if not self._part:
            self._stop_waiting()  # the time of a request begins with its first byte
        self._piece = len(data)
        self._loose += self._piece
        if self._part == "head":
            self._pieces += self._piece
        super().data_received(data)
        if self._part and self._loose > self._settings.most_head:
            self._refuse(HEAD_TOO_LARGE, f"at most {self._settings.most_head:,} bytes")
        elif self._part and self._timer is None:
            self._timer = self.loop.call_later(self._settings.request_time, self._slow)

    def read_on(self) -> None:
        """Read the next piece, unless a request waits for the answers before it."""
        if not (self.flow.read_paused or self.transport.is_closing()):
            self.transport.resume_reading()

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._part, self._pieces = "head", self._piece
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Have the application answer, now that the head has come."""
        self._all.set_date()
        if self._pieces > self._settings.most_head:  # a head is no longer than its pieces
            size = sum(len(name) + len(value) + _AROUND for name, value in self.headers)
            self.scope["state"]["head"] = len(self.url) + size
        super().on_headers_complete()
        self._part, self._loose = "body", 0
        if self.parser.should_upgrade():  # answered as any other request, and the last one
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Take some of a body."""
        self._loose = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request has come."""
        self._part, self._loose = "", 0
        self._stop_waiting()
        super().on_message_complete()

    # --- what is refused before the application sees it ---

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed."""
        self._refuse(NO_HTTP, "it could not be read")

    def _slow(self) -> None:
        """Refuse a request that has not come in time, or end a connection that has none."""
        if self._part:
            self._refuse(SLOW, f"it has {self._settings.request_time:g} s to come")
        else:
            self.transport.close()

    def _refuse(self, problem: Problem, detail: str) -> None:
        """Refuse the request that is coming, after the answers before it, and read no more."""
        if self._part != "body":
            self._last = self._encoded(problem, detail)
            self._end_if_answered()
        elif self.cycle.response_complete:  # its answer did not need all of it
            self.transport.close()
        else:
            self.refused, self.cycle.keep_alive = Refused(problem, detail), False
            self.cycle.message_event.set()

    def _encoded(self, problem: Problem, detail: str) -> bytes:
        self._all.set_date()
        body = details(problem, detail)
        headers = [
            *self.server_state.default_headers, (b"content-type", PROBLEM_JSON),
            (b"content-length", b"%d" % len(body)), (b"connection", b"close"),
        ]  # fmt: skip
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        return b"%b%b\r\n%b" % (STATUS_LINE[problem.status], lines, body)

    def on_response_complete(self) -> None:
        """Go on with the requests behind, or with the last refusal."""
        super().on_response_complete()
        if self._last:
            self._end_if_answered()

    def _end_if_answered(self) -> None:
        """Write the last answer if it is its turn; the client may go on to send for a moment."""
        answered = self.cycle is None or self.cycle.response_complete
        if answered and not self.transport.is_closing():
            self.transport.write(self._last)
            self.loop.call_later(LINGER, self.transport.close)

    # --- clients that wait, or are waited for ---

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection; a request that is coming has a time of its own."""
        if not self._part:
            super().timeout_keep_alive_handler()

    def pause_writing(self) -> None:
        """Wait until the client reads, and not for long."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self._settings.request_time, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Flow(FlowControl):
    """Reads nothing more from a client while requests wait in its pipeline."""

    def __init__(self, transport: asyncio.Transport, pipeline: deque[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        if not self._pipeline:
            super().resume_reading()


class _OneWrite:
    """A transport that writes the head of an answer and its body at once, a moment later."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._soon = transport, loop.call_soon
        self._held: list[bytes] = []
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if data:
            if not self._held:
                self._soon(self._flush)
            self._held.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held and not self.is_closing():
            self._transport.write(b"".join(self._held))
        self._held.clear()


class _InPieces(asyncio.BufferedProtocol):
    """Reads bytes of a connection a piece at a time; other connections have their turn between."""

    def __init__(self, connection: Connection, buffer: memoryview) -> None:
        self._connection, self._buffer = connection, buffer
        self.connection_lost = connection.connection_lost  # type: ignore[method-assign]
        self.pause_writing = connection.pause_writing  # type: ignore[method-assign]
        self.resume_writing = connection.resume_writing  # type: ignore[method-assign]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connection.connection_made(transport)  # type: ignore[arg-type]

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        connection = self._connection
        connection.data_received(bytes(self._buffer[:nbytes]))
        if nbytes == PIECE and not connection.transport.is_closing():
            connection.transport.pause_reading()
            connection.loop.call_soon(connection.read_on)


def most_connections(most: int) -> tuple[int, str]:
    """Return how many connections may be open, and what to do if more are wanted.

    Half of all files that may be open are left to the store, the broker and compiled code.
    """
    try:
        import resource
    except ModuleNotFoundError:  # no POSIX
        return most, "raise door.most_connections"
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY or most <= files // 2:
        return most, "raise door.most_connections"
    return max(1, files // 2), f"this process may open {files} files: raise ulimit -n"
