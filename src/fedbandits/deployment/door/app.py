"""An ASGI application, the inside of a door: routes, admission, answers, and one line a request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pathlib
import re
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from fedbandits.deployment.door import openapi
from fedbandits.deployment.door import problems as no
from fedbandits.deployment.door.connections import LINGER, LOG, MOST_DROPPED, Connection
from fedbandits.deployment.door.metrics import Metrics
from fedbandits.deployment.door.problems import PROBLEM_JSON, Problem, Refused, details, meant
from fedbandits.deployment.door.routes import (
    JSON,
    KEY,
    ONLY_SOME,
    Answer,
    Endpoints,
    Request,
    Route,
    routes_of,
)
from fedbandits.deployment.door.served import Served, offered
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.deployment.door.tokens import Guard

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_METHODS = {"GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"}


class _Gone(Exception):  # noqa: N818
    """The client has gone before its request was whole."""


class Place(NamedTuple):
    """All routes at one path, by method.

    The ``path`` is shown in logs and numbers; the path that was asked for is not. ``missing`` says
    why a place has no routes.
    """

    path: str
    routes: dict[str, Route]
    timer: Callable[[float], None]
    missing: tuple[Problem, str]


class App:
    """All that is behind a party's door, for connections of :mod:`.connections`.

    One line of JSON a request is logged: method, route, status, milliseconds, the token's name, the
    address that it came from. Nothing of what was asked, and no token.
    """

    def __init__(self, served: Served, folder: pathlib.Path, settings: DoorSettings) -> None:
        self._settings, self._metrics = settings, Metrics(served)
        self._guard = Guard(folder, served.member)
        #: Names of the party in its system, and of its organisation.
        self._names = served.federation.party_of[served.member], served.member
        #: Handlers; their ``closing`` ends what is waited for.
        self.endpoints = Endpoints(served, self._metrics)
        routes = routes_of(self.endpoints, offered(served))
        document = openapi.document(served.member, served.federation.name, routes)
        routes.append(_description(msgspec.json.encode(document)))
        self._nowhere = self._place("other")
        places = {path: self._place(path) for path in ONLY_SOME}
        by_path: dict[str, list[Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, []).append(route)
        places |= {path: self._place(path, there) for path, there in by_path.items()}
        #: Paths without names of values in them are looked up.
        self._plain = {path: place for path, place in places.items() if "{" not in path}
        self._named = [
            (re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)), place)
            for path, place in places.items()
            if "{" in path
        ]

    def _place(self, path: str, routes: Sequence[Route] = ()) -> Place:
        methods = {route.method: route for route in routes}
        if "GET" in methods:
            methods.setdefault("HEAD", methods["GET"])
        missing = no.NOT_FOUND, "the paths there are, are in /openapi.json"
        if path in ONLY_SOME:
            does_not = f"{self._names[1]} does not {ONLY_SOME[path]}"
            missing = no.NOT_OFFERED, f"{does_not}; its role in the federation is another"
        return Place(path, methods, self._metrics.timer(path if methods else "other"), missing)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        began, request = time.perf_counter(), Request(scope)
        connection: Connection = scope["state"]["connection"]
        place, closes = self._found(scope["path"], request), False
        try:
            route = self._admitted(place, request, scope["state"].get("head", 0))
            if request.token:
                connection.trust()
            if route.body is not None:
                request.body = await self._body(request, connection, receive)
            answer = await route.handler(request)
        except _Gone:
            return
        except Exception as error:  # what is no refusal is logged, and named as a fault
            answer = self._refusal(place, error)
            closes = connection.refused is not None or request.is_unread(self._settings.most_body)
        await send(_start(request, answer, closes))
        await send({"type": "http.response.body", "body": answer.body, "more_body": closes})
        self._answered(place, request, answer.status, time.perf_counter() - began)
        if closes:
            await _linger(receive)
            await send({"type": "http.response.body"})

    def _found(self, path: str, request: Request) -> Place:
        """Find what is at a path, and note the values in it."""
        if (plain := self._plain.get(path)) is not None:
            return plain
        for pattern, place in self._named:
            if (match := pattern.fullmatch(path)) is not None:
                request.path_values = match.groupdict()
                return place
        return self._nowhere

    def _admitted(self, place: Place, request: Request, head: int) -> Route:
        """Find the route of a request whose head has come; raises Refused unless it may pass.

        ``head`` is how long the head is, in bytes, if it may be too long.
        """
        if head > self._settings.most_head:
            most = f"at most {self._settings.most_head:,} bytes"
            raise Refused(no.HEAD_TOO_LARGE, most, ((b"connection", b"close"),))
        route = place.routes.get(request.method)
        if route is None:
            if not place.routes:
                raise Refused(*place.missing)
            allowed = ", ".join(place.routes)
            raise Refused(no.METHOD, f"it takes {allowed}", ((b"allow", allowed.encode()),))
        if route.scope is not None:
            request.token = self._guard.admit(request.authorization, route.scope)
        return route

    async def _body(self, request: Request, connection: Connection, receive: Receive) -> bytes:
        """Wait for a body; raises Refused if it is not declared as JSON, too large, or slow."""
        if request.kind != JSON and request.kind.partition(b";")[0].strip().lower() != JSON:
            raise Refused(no.NOT_JSON, "send the header Content-Type: application/json")
        most, pieces, size = self._settings.most_body, list[bytes](), 0
        while not request.whole:
            if max(size, request.length) > most:
                raise Refused(no.TOO_LARGE, f"a body has at most {most:,} bytes here")
            event = await receive()
            if event["type"] == "http.disconnect":
                raise _Gone
            if connection.refused is not None:
                raise connection.refused
            pieces.append(event["body"])
            size, request.whole = size + len(event["body"]), not event["more_body"]
        if size > most:
            raise Refused(no.TOO_LARGE, f"a body has at most {most:,} bytes here")
        return b"".join(pieces)

    def _refusal(self, place: Place, error: Exception) -> Answer:
        """Return the answer to a request that has met an error."""
        refused, (party, member) = meant(error), self._names
        problem, detail = refused.problem, refused.detail
        if detail.startswith((f"{party}:", f"{party},")):
            detail = member + detail.removeprefix(party)
        if problem is no.INTERNAL:
            _log_failure(place.path, error)
        self._metrics.refused(problem.name)
        return Answer(problem.status, details(problem, detail), PROBLEM_JSON, refused.headers)

    def _answered(self, place: Place, request: Request, status: int, seconds: float) -> None:
        """Count a request that was answered, and log it."""
        place.timer(seconds)
        if LOG.isEnabledFor(logging.INFO):
            method = request.method if request.method in _METHODS else "other"
            LOG.info(
                _line(
                    method=method, route=place.path, status=status, ms=round(1000 * seconds, 3),
                    token=request.token, **{"from": request.sender},
                )
            )  # fmt: skip


def _description(document: bytes) -> Route:
    """Make the route to the description of all others."""

    async def describe(request: Request) -> Answer:
        del request
        return Answer(200, document)

    return Route("GET", openapi.PATH, describe, "This description.", 200, None, answer=dict)


def _start(request: Request, answer: Answer, closes: bool) -> dict[str, Any]:
    """Make the event that begins an answer."""
    headers = list(answer.headers)
    if answer.status != 204:
        size = b"%d" % len(answer.body)
        headers += [(b"content-type", answer.kind), (b"content-length", size)]
    if request.key:
        headers.append((KEY, request.key))
    if closes:
        headers.append((b"connection", b"close"))
    return {"type": "http.response.start", "status": answer.status, "headers": headers}


async def _linger(receive: Receive) -> None:
    """Let a client that was refused go on to send for a moment, and drop that."""
    dropped = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            while dropped < MOST_DROPPED:
                event = await receive()
                if not event.get("more_body", False):
                    return
                dropped += len(event["body"])
            await asyncio.sleep(LINGER)


def _log_failure(path: str, error: Exception) -> None:
    """Log where an error came from, without its text: that may hold what was asked."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{pathlib.PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    LOG.error(_line(problem="internal", route=path, error=type(error).__name__, place=place))


def _line(**values: Any) -> str:
    return msgspec.json.encode(values).decode()
