"""HTTP/1.1 on one connection, with limits on what one client may cost the others.

A request has a largest head, and a time to come in. What comes on one connection is read a piece at
a time, and others have their turn in between. While a request waits for the answers before it, the
rest stays with the client. Who does not read is not waited for.
"""

from __future__ import annotations

import asyncio
import http
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import httptools

from fedbandits.deployment.door.app import At
from fedbandits.deployment.door.connections import Connections, Ending
from fedbandits.deployment.door.problems import (
    HEAD_TOO_LARGE,
    NO_HTTP,
    PROBLEM_JSON,
    SLOW,
    Problem,
    Refused,
    details,
)
from fedbandits.deployment.door.requests import KEY, Answer, Later, Request

#: Bytes that are read at a time.
PIECE = 8_192
#: What a header takes beside its name and its value: a colon, a blank, and the end of its line.
_AROUND = 4
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
#: By their status, how answers begin.
_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\ndate: ".encode()
    for status in http.HTTPStatus
}


class Connection(Ending):
    """A connection on which requests are answered, one after the other."""

    def __init__(self, all_: Connections) -> None:
        super().__init__(all_)
        self._parser = httptools.HttpRequestParser(self)
        #: Requests that were not answered, and where they are; it is the first one's turn.
        self._waiting: deque[tuple[Request, At]] = deque()
        #: The newest request, what it asks for, and bytes of its head.
        self._request, self._url, self._head = Request(""), b"", 0
        #: Bytes since the last part of a request that is whole.
        self._loose = 0
        #: What has come and was not read yet, and what reads the next piece of it.
        self._unread = bytearray()
        self._next: asyncio.Handle | None = None
        #: Whether it ends with its next answer, and the last one, which those that wait precede.
        self._ends, self._last = False, b""

    def connection_lost(self, exc: Exception | None) -> None:
        """End: nobody waits for answers any more."""
        super().connection_lost(exc)
        self._waiting.clear()
        self._unread.clear()
        if self._next is not None:
            self._next.cancel()

    def finish(self) -> None:
        """Close after the answer to what is asked, or at once."""
        self._ends = True
        if not self._waiting:
            self._close()

    # --- reading: a piece at a time ---

    def data_received(self, data: bytes) -> None:
        """Read what has come, or its first piece."""
        if self._ended:
            self._drop(data)
        elif self._may_read and not self._unread and len(data) <= PIECE:  # as nearly all requests
            self._read(data)
        else:
            self._unread += data
        self._read_on()

    @property
    def _may_read(self) -> bool:
        """True unless a request waits for another one's answer, or the client does not read."""
        return len(self._waiting) < 2 and self._stalled is None and not self._last

    def _read_on(self) -> None:
        """Read the next piece in a moment, or from the client; or leave the rest with it."""
        if self._ended:
            return
        may = self._may_read
        if may and self._unread and self._next is None:
            self._next = self._loop.call_soon(self._read_piece)
        if (reads := may and not self._unread) is not self._reads:
            self._reads = reads
            (self._transport.resume_reading if reads else self._transport.pause_reading)()

    def _read_piece(self) -> None:
        self._next = None
        piece = bytes(self._unread[:PIECE])
        del self._unread[:PIECE]
        if piece and self._may_read:
            self._read(piece)
        self._read_on()

    def _read(self, data: bytes) -> None:
        if not self._coming:
            self._until = None  # the time of a request begins with its first byte
        self._loose += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return  # answered as any other request, and the last one
        except httptools.HttpParserCallbackError:
            raise  # our own fault
        except httptools.HttpParserError:
            self._refuse(NO_HTTP, "it could not be read")
        if self._coming and self._loose > self._limits.head:
            self._refuse(HEAD_TOO_LARGE, f"at most {self._limits.head:,} bytes")
        elif self._coming and self._until is None:
            self._expect(self._limits.request_time)
        elif not self._coming and not self._waiting:
            self._expect(self._limits.keep_alive)

    # --- what the parser finds ---

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._coming, self._head, self._url = True, 0, b""
        self._request = Request(self._sender)

    def on_url(self, url: bytes) -> None:
        """Note what is asked for."""
        self._head += len(url)
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header."""
        self._head += len(name) + len(value) + _AROUND
        self._request.note(name, value)

    def on_headers_complete(self) -> None:
        """Find what is asked for, now that the head has come."""
        self._loose = 0
        if self._ended or self._last:
            return
        if self._head > self._limits.head:
            self._refuse(HEAD_TOO_LARGE, f"at most {self._limits.head:,} bytes")
            return
        request, parser = self._request, self._parser
        request.method = parser.get_method().decode("ascii")
        is_last = parser.get_http_version() == "1.0" or parser.should_upgrade()
        request.keeps = not is_last and parser.should_keep_alive()
        try:
            place = self._all.app.at(request.path(self._url), request)
        except ValueError:
            self._refuse(NO_HTTP, "it could not be read")
            return
        self._waiting.append((request, place))
        if len(self._waiting) == 1:
            self._go_on()

    def on_body(self, body: bytes) -> None:
        """Take some of a body, unless the request was answered without."""
        self._loose = 0
        if not self._request.over:
            self._request.take(body)
            if self._waiting and self._waiting[0][0] is self._request:
                self._go_on()

    def on_message_complete(self) -> None:
        """Note that a request has come."""
        self._coming, self._loose, self._request.whole = False, 0, True
        if self._waiting and self._waiting[0][0] is self._request:
            self._go_on()

    # --- answers, one after the other ---

    def _go_on(self) -> None:
        """Answer, or begin to, as many requests as can be answered by now."""
        while self._waiting and not self._ended:
            request, place = self._waiting[0]
            if request.works:
                return
            try:
                if self._is_ready(request, place):
                    self._work(request, place)
            except Exception as error:  # what is no refusal is logged, and named as a fault
                self._answer(request, place, place.refusal(request, error))
                continue
            return
        if self._last and not self._ended:
            self._transport.write(self._last)
            self._close()

    def _is_ready(self, request: Request, place: At) -> bool:
        """Let a request in whose turn has come; return whether as much has come as it needs."""
        if request.route is None:
            request.began = time.perf_counter()
            request.route = place.admit(request)
        if request.route.body is None or request.whole:
            return True
        request.require_size(self._limits.body)
        if request.expects:
            request.expects = False
            self._transport.write(_CONTINUE)
        return False

    def _work(self, request: Request, place: At) -> None:
        """Begin to make an answer."""
        request.works = True
        work = request.route.handler(request)
        result, answer = work if type(work) is Later else (work, None)

        def made(done: asyncio.Future[Any]) -> None:
            self._all.works.discard(done)
            if not done.cancelled():
                self._made(request, place, done, answer)

        future = asyncio.ensure_future(result, loop=self._loop)
        self._all.works.add(future)
        future.add_done_callback(made)

    def _made(
        self, request: Request, place: At, done: asyncio.Future[Any],
        answer: Callable[[Any], Answer] | None,
    ) -> None:  # fmt: skip
        """Answer, and go on with the requests behind."""
        try:
            result = done.result()
            found = result if answer is None else answer(result)
        except Exception as error:
            found = place.refusal(request, error)
        self._answer(request, place, found)
        self._go_on()
        self._read_on()

    def _answer(self, request: Request, place: At, answer: Answer) -> None:
        """Answer the first request, if the client is still there."""
        if not (self._ended or request.over):
            request.over = True
            self._waiting.popleft()
            closes = self._ends or not request.keeps
            named = ((KEY, request.key),) if request.key else ()
            self._transport.write(self._encoded(request.method, answer, named, closes))
            if closes:
                self._close()
            elif not (self._waiting or self._coming):
                self._expect(self._limits.keep_alive)
        place.answered(request, answer.status)

    def _encoded(
        self, method: str, answer: Answer, named: tuple[tuple[bytes, bytes], ...], closes: bool
    ) -> bytes:
        status, body, kind, headers = answer
        parts = [_LINES[status], self._all.date]
        if status != 204:
            parts.append(b"\r\ncontent-type: %b\r\ncontent-length: %d" % (kind, len(body)))
        parts += [b"\r\n%b: %b" % header for header in (*headers, *named)]
        parts.append(b"\r\nconnection: close\r\n\r\n" if closes else b"\r\n\r\n")
        parts.append(b"" if method == "HEAD" else body)
        return b"".join(parts)

    def _refuse(self, problem: Problem, detail: str) -> None:
        """Refuse what is coming, after the answers before it, and read nothing more."""
        if self._ended or self._last:
            return
        if self._waiting and self._waiting[-1][0] is self._request and self._coming:
            self._waiting.pop()
        self._request.over = True
        refused = Answer(problem.status, details(Refused(problem, detail)), PROBLEM_JSON)
        self._last = self._encoded("", refused, (), True)
        self._go_on()

    def _slow(self) -> None:
        if self._coming and not self._request.over:
            self._refuse(SLOW, f"it has {self._limits.request_time:g} s to come")
        else:
            self._close()
