"""The door's routes: what each does, and one table for requests and for the OpenAPI document."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl

import msgspec

from fedbandits._schema import prepared
from fedbandits.deployment.door import problems as no
from fedbandits.deployment.door.metrics import KIND, Metrics
from fedbandits.deployment.door.problems import Problem, Refused
from fedbandits.deployment.door.served import Ids, Orders, PullAnswer, PullTold, Served, Shapes
from fedbandits.deployment.door.tokens import Scope
from fedbandits.errors import FedbanditsError, LocalProtocolError

JSON = b"application/json"
#: The header that names a request: sent again with the same name, it is the same request.
KEY = b"idempotency-key"
#: How msgspec says that a number is beyond its bounds.
_BEYOND = re.compile(r"Expected `(int|float)` [<>]|Number out of range")
#: Seconds that a pull may be waited for in one request.
LONGEST_WAIT = 60.0
#: Characters of the key of a request.
MOST_KEY = 100


class Answer(NamedTuple):
    """An answer: its HTTP status, its body (none for 204), the body's media type, more headers."""

    status: int
    body: bytes = b""
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


_NOTHING = Answer(204)
_ALIVE = Answer(200, b'{"alive":true}')
_READY, _CONNECTED = Answer(200, b'{"ready":true}'), Answer(200, b'{"connected":true}')
#: Tells whoever asks to ask again.
_SOON = ((b"retry-after", b"1"),)


class Request:
    """A client's request, from the ASGI scope that its head makes.

    The ``sender`` is the address that it came from: the application's, or a proxy's before the
    door. The ``key`` is the client's name for the request, which answers have, too; ``token`` the
    name of the token that it was let in with.
    """

    __slots__ = (
        "authorization", "body", "key", "kind", "length", "method", "path_values", "query_string",
        "sender", "streamed", "token", "whole",
    )  # fmt: skip

    def __init__(self, scope: dict[str, Any]) -> None:
        self.method: str = scope["method"]
        self.query_string: bytes = scope["query_string"]
        self.sender = str(scope["client"][0]) if scope["client"] else ""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self.authorization = headers.get(b"authorization", b"")
        self.kind, self.key = headers.get(b"content-type", b""), headers.get(KEY, b"")
        #: Bytes of the body, as declared, or whether it comes in chunks.
        self.length = int(headers.get(b"content-length", 0))  # the parser refuses what is no number
        self.streamed = b"transfer-encoding" in headers
        #: Values at the places of the path that have names.
        self.path_values: dict[str, str] = {}
        self.token, self.body, self.whole = "", b"", False

    @property
    def query(self) -> dict[str, str]:
        """Values of the query; of several of one name the last."""
        return dict(parse_qsl(self.query_string.decode("latin-1"), keep_blank_values=True))

    def is_unread(self, most: int) -> bool:
        """Tell whether more is on its way than is worth waiting for."""
        return not self.whole and (self.streamed or self.length > most)

    def decoded(self, decoder: msgspec.json.Decoder[Any]) -> Any:
        """Decode the body; raises Refused if it is no JSON, or of another shape."""
        try:
            return decoder.decode(self.body)
        except msgspec.ValidationError as error:
            fields = ", ".join(decoder.type.__struct_fields__) or "none"
            problem = no.OUT_OF_BOUNDS if _BEYOND.match(str(error)) else no.INVALID
            raise Refused(problem, f"{error}; fields: {fields}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            detail = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise Refused(no.MALFORMED, detail) from None


Handler = Callable[[Request], Awaitable[Answer]]


class Endpoints:
    """Handlers, each with all that it needs."""

    def __init__(self, served: Served, metrics: Metrics) -> None:
        self._served, self._metrics = served, metrics
        self._ids = Ids(served)
        application = served.application
        self.shapes = None if application is None else Shapes(application, self._ids)
        self._read_pull = msgspec.json.Decoder(prepared(PullTold))
        #: Set when the door closes: nobody is kept waiting then.
        self.closing = asyncio.Event()

    def decisions(self) -> Handler:
        """Make the handler that asks for a decision."""
        shapes, decide = self._shapes_there(), self._served.decide
        counted = self._metrics.done["decisions"]

        async def handle(request: Request) -> Answer:
            asked = shapes.as_asked(request.decoded(shapes.read_asked))
            decided = await decide(asked, _key(request))
            counted()
            return Answer(200, shapes.answer(decided))

        return handle

    def rewards(self) -> Handler:
        """Make the handler that takes the reward of a decision."""
        shapes, reward = self._shapes_there(), self._served.reward
        counted = self._metrics.done["rewards"]

        async def handle(request: Request) -> Answer:
            await reward(*shapes.as_told(request.decoded(shapes.read_told)))
            counted()
            return _NOTHING

        return handle

    async def next_pull(self, request: Request) -> Answer:
        """Wait for a pull that is due."""
        seconds = _wait(request.query)
        number = await self._unless_closing(self._served.next_pull(seconds))
        if number is None:
            return _NOTHING
        return Answer(200, msgspec.json.encode(PullAnswer(self._ids.name(number))))

    async def pull(self, request: Request) -> Answer:
        """Take the reward of a pull."""
        told = request.decoded(self._read_pull)
        await self._served.pull(self._ids.number(request.path_values["pull_id"]), told.reward)
        self._metrics.done["pulls"]()
        return _NOTHING

    async def order(self, request: Request) -> Answer:
        """Order a run."""
        del request
        try:
            await cast(Orders, self._served).order()
        except LocalProtocolError as error:
            raise Refused(no.NOT_NOW, str(error)) from None
        self._metrics.done["orders"]()
        return Answer(202, msgspec.json.encode(self._served.status()))

    async def privacy(self, request: Request) -> Answer:
        """Report the claim, and what is spent and left."""
        del request
        return Answer(200, msgspec.json.encode(await self._served.privacy()))

    async def status(self, request: Request) -> Answer:
        """Report where the party stands."""
        del request
        return Answer(200, msgspec.json.encode(self._served.status()))

    async def metrics(self, request: Request) -> Answer:
        """Report numbers for Prometheus."""
        del request
        try:
            privacy = await self._served.privacy()
        except FedbanditsError:  # a store that fails is when the other numbers are needed most
            privacy = {}
        return Answer(200, self._metrics.page(self._served.status(), privacy), KIND)

    async def alive(self, request: Request) -> Answer:
        """Answer, so that the process is known to."""
        del request
        return _ALIVE

    async def ready(self, request: Request) -> Answer:
        """Tell whether the party can do its work."""
        del request
        if not self._served.ready:
            waits = "it waits for secrets of peers, has stopped, or its store does not work"
            raise Refused(no.NOT_READY, waits, _SOON)
        return _READY

    async def connected(self, request: Request) -> Answer:
        """Tell whether the party reaches the broker."""
        del request
        if not self._served.connected:
            raise Refused(no.NOT_READY, "it does not reach the broker, and decides alone", _SOON)
        return _CONNECTED

    def _shapes_there(self) -> Shapes:
        if self.shapes is None:
            raise ValueError("a party without an application makes no decisions")
        return self.shapes

    async def _unless_closing(self, work: Coroutine[Any, Any, int | None]) -> int | None:
        """Wait for some work; None once the door closes."""
        waited, closing = asyncio.ensure_future(work), asyncio.ensure_future(self.closing.wait())
        try:
            await asyncio.wait({waited, closing}, return_when=asyncio.FIRST_COMPLETED)
            return waited.result() if waited.done() else None
        finally:
            for task in (waited, closing):
                task.cancel()
            await asyncio.gather(waited, closing, return_exceptions=True)


def _key(request: Request) -> str:
    if len(request.key) > MOST_KEY or not request.key.isascii():
        raise Refused(no.INVALID, f"Idempotency-Key: at most {MOST_KEY} characters of ASCII")
    return request.key.decode()


def _wait(query: dict[str, str]) -> float:
    try:
        seconds = float(query.get("wait", "0"))
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST_WAIT or query.keys() - {"wait"}:
        raise Refused(no.INVALID, f"wait alone: a number of seconds from 0 to {LONGEST_WAIT:g}")
    return seconds


#: Refusals of every body, of every party, and of every route that needs a token.
_BODY = (no.MALFORMED, no.SLOW, no.TOO_LARGE, no.NOT_JSON, no.INVALID, no.OUT_OF_BOUNDS)
_PARTY = (no.REFUSED, no.NOT_READY, no.UNAVAILABLE, no.STORE_FULL)
_TOKEN = (no.UNAUTHORISED, no.OTHER_PARTY, no.FORBIDDEN)
_TOLD = (no.UNKNOWN_DECISION, no.DUPLICATE, no.LATE)


class Route(NamedTuple):
    """One method of one path, in which ``{}`` holds the name of a value.

    The ``status`` is that of an answer, if nothing is refused. The ``scope`` is what a token must
    allow, None where no token is needed. ``refusals`` are what it refuses beside what all routes
    do. ``body`` and ``answer`` are types of what is sent and answered; None for nothing, ``dict``
    for an object. ``kind`` is the media type of the answer. ``empty`` says what an answer 204
    means, where that is another answer than the one above. ``query`` has schemas of the query's
    values. It ``takes_key`` where the header Idempotency-Key makes a request that is sent again the
    same one.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    status: int
    scope: Scope | None
    refusals: tuple[Problem, ...] = ()
    body: Any = None
    answer: Any = None
    kind: bytes = JSON
    empty: str = ""
    query: dict[str, dict[str, Any]] = {}  # noqa: RUF012
    takes_key: bool = False

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that it refuses."""
        return (
            *self.refusals,
            *(_TOKEN if self.scope is not None else ()),
            *(_BODY if self.body is not None else ()),
            no.INTERNAL,
        )


def routes_of(endpoints: Endpoints, offered: frozenset[str]) -> list[Route]:
    """List the routes of a party that has so much to offer; see :func:`.served.offered`."""
    made = {"decisions": _decisions, "pulls": _pulls, "orders": _orders}
    own = [route for name, make in made.items() if name in offered for route in make(endpoints)]
    return own + _always(endpoints)


#: Paths of what not every party does, by what it is.
ONLY_SOME = {
    "/v1/decisions": "make decisions",
    "/v1/rewards": "make decisions",
    "/v1/pulls/next": "pull an arm",
    "/v1/pulls/{pull_id}": "pull an arm",
    "/v1/orders": "order runs",
}


def _decisions(endpoints: Endpoints) -> list[Route]:
    shapes = endpoints.shapes
    if shapes is None:
        return []
    return [
        Route(
            "POST", "/v1/decisions", endpoints.decisions(),
            "Ask for a decision. It is durable when it is answered. Asked again with the same "
            "header Idempotency-Key, it is the same decision while it is open.", 200, "decide",
            _PARTY, body=shapes.asked, answer=shapes.decided, takes_key=True,
        ),
        Route(
            "POST", "/v1/rewards", endpoints.rewards(),
            "Tell what a decision has earned, once, when it is known.", 204, "decide",
            (*_TOLD, *_PARTY), body=shapes.told,
        ),
    ]  # fmt: skip


def _pulls(endpoints: Endpoints) -> list[Route]:
    wait = {"wait": {"type": "number", "minimum": 0, "maximum": 60, "default": 0}}
    return [
        Route(
            "GET", "/v1/pulls/next", endpoints.next_pull,
            "Wait, some seconds, for a pull that is due. It may be asked for again.", 200,
            "decide", (no.INVALID, *_PARTY), answer=PullAnswer, empty="None is due.", query=wait,
        ),
        Route(
            "POST", "/v1/pulls/{pull_id}", endpoints.pull,
            "Tell what a pull gave.", 204, "decide", (*_TOLD, *_PARTY), body=PullTold,
        ),
    ]  # fmt: skip


def _orders(endpoints: Endpoints) -> list[Route]:
    return [
        Route(
            "POST", "/v1/orders", endpoints.order,
            "Order the run that the terms describe; the status shows its progress and total.",
            202, "decide", (no.NOT_NOW, *_PARTY[1:]), answer=dict,
        ),
    ]  # fmt: skip


def _always(endpoints: Endpoints) -> list[Route]:
    return [
        Route(
            "GET", "/v1/privacy", endpoints.privacy,
            "What is claimed, what is spent, what is left.", 200, "read",
            (no.UNAVAILABLE,), answer=dict,
        ),
        Route(
            "GET", "/v1/status", endpoints.status,
            "Where the party stands: rounds, releases, messages, what is wrong, how far the "
            "records of others count for it.", 200, "read",
            (no.UNAVAILABLE,), answer=dict,
        ),
        Route(
            "GET", "/metrics", endpoints.metrics,
            "Numbers for Prometheus; none is about anybody in particular.", 200, "read",
            (no.UNAVAILABLE,), answer=str, kind=b"text/plain",
        ),
        Route(
            "GET", "/healthz", endpoints.alive,
            "Whether the process answers. No token is needed.", 200, None, answer=dict,
        ),
        Route(
            "GET", "/readyz", endpoints.ready,
            "Whether the party can do its work, with or without a broker. No token is needed.",
            200, None, (no.NOT_READY,), answer=dict,
        ),
        Route(
            "GET", "/connectedz", endpoints.connected,
            "Whether the party reaches the broker. No token is needed.", 200, None,
            (no.NOT_READY,), answer=dict,
        ),
    ]  # fmt: skip
