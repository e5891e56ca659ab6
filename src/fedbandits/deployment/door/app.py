"""The door as an ASGI application: it checks tokens, routes requests, and counts them."""

from __future__ import annotations

import logging
import pathlib
import time
import traceback
from typing import Any

import msgspec
from starlette.routing import Route as Path
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from fedbandits.deployment.door import openapi
from fedbandits.deployment.door.metrics import Metrics
from fedbandits.deployment.door.problems import (
    INTERNAL,
    METHOD,
    NOT_FOUND,
    NOT_OFFERED,
    PROBLEM_JSON,
    Problem,
    Refused,
    details,
    meant,
)
from fedbandits.deployment.door.requests import KEY, Answer, Gone, Request
from fedbandits.deployment.door.routes import ONLY_SOME, Endpoints, Route, routes_of
from fedbandits.deployment.door.served import Served, offered
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.deployment.door.tokens import Guard

#: One line of JSON a request: method, route, status, milliseconds, the token's name, the address
#: that it came from. Nothing of what was asked, and no token.
LOG = logging.getLogger("fedbandits.door")
_CLOSE = (b"connection", b"close")


class Common:
    """Settings and tools that all paths of a door share.

    ``names`` are the party's in its system, and its organisation's.
    """

    def __init__(
        self, guard: Guard, metrics: Metrics, settings: DoorSettings, names: tuple[str, str]
    ) -> None:
        self.guard, self.metrics = guard, metrics
        self.most = settings.most_body
        self._names = names

    def refusal(self, error: Exception) -> Refused:
        """Return what an error means here; it names the organisation in place of the party."""
        refused = meant(error)
        party, member = self._names
        if not refused.detail.startswith((f"{party}:", f"{party},")):
            return refused
        said = member + refused.detail.removeprefix(party)
        return Refused(refused.problem, said, refused.headers)


class At:
    """The ASGI application at one path. The ``path`` is shown to others; what was asked for is not.

    ``routes`` are its methods. ``missing`` says what it is when it has none, and what to do.
    """

    def __init__(
        self,
        common: Common,
        path: str,
        routes: list[Route],
        missing: tuple[Problem, str] = (NOT_FOUND, "the paths there are, are in /openapi.json"),
    ) -> None:
        self._common, self._path, self._missing = common, path, missing
        self._routes = {route.method: route for route in routes}
        if "GET" in self._routes:
            self._routes.setdefault("HEAD", self._routes["GET"])
        self._timer = common.metrics.timer(path if routes else "other")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began = time.perf_counter()
        request = Request(scope, receive, self._common.most)
        try:
            answer = await self._answer(scope["method"], request)
            await _send(send, answer, _named(request))
        except Gone:
            return
        except Exception as error:
            answer = await self._refuse(send, request, error)
        seconds = time.perf_counter() - began
        self._timer(seconds)
        if LOG.isEnabledFor(logging.INFO):
            _log(request, scope["method"], self._path, answer.status, seconds)

    async def _answer(self, method: str, request: Request) -> Answer:
        route = self._routes.get(method)
        if route is None:
            if not self._routes:
                raise Refused(*self._missing)
            allowed = ", ".join(self._routes)
            raise Refused(METHOD, f"it takes {allowed}", ((b"allow", allowed.encode()),))
        if route.scope is not None:
            request.token = self._common.guard.admit(request.authorization, route.scope)
        return await route.handler(request)

    async def _refuse(self, send: Send, request: Request, error: Exception) -> Answer:
        refused = self._common.refusal(error)
        if refused.problem is INTERNAL:
            _log_failure(self._path, error)
        self._common.metrics.refused(refused.problem.name)
        answer = Answer(refused.problem.status, details(refused), PROBLEM_JSON)
        # What is still on its way would be read for nothing.
        closes = (_CLOSE,) if request.unread else ()
        await _send(send, answer, (*refused.headers, *closes, *_named(request)))
        return answer


class App:
    """A party's door as an ASGI application."""

    def __init__(self, served: Served, folder: pathlib.Path, settings: DoorSettings) -> None:
        metrics = Metrics(served)
        names = served.federation.party_of[served.member], served.member
        common = Common(Guard(folder, served.member), metrics, settings, names)
        #: What answers; its ``closing`` ends what is waited for.
        self.endpoints = Endpoints(served, metrics)
        routes = routes_of(self.endpoints, offered(served))
        described = Answer(
            200,
            msgspec.json.encode(openapi.document(served.member, served.federation.name, routes)),
        )

        async def describe(request: Request) -> Answer:
            del request
            return described

        summary = "This description."
        routes.append(Route("GET", openapi.PATH, describe, summary, 200, None, answer=dict))
        places = _places(common, served.member, routes)
        #: Paths without names in them are found at once.
        self._plain = {path: place for path, place in places.items() if "{" not in path}
        self._router = Router(
            [Path(path, place) for path, place in places.items()],
            redirect_slashes=False,
            default=At(common, "other", []),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        plain = scope["type"] == "http" and not scope["root_path"]
        place = self._plain.get(scope["path"]) if plain else None
        await (place or self._router)(scope, receive, send)


def _places(common: Common, member: str, routes: list[Route]) -> dict[str, ASGIApp]:
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    places: dict[str, ASGIApp] = {path: At(common, path, own) for path, own in by_path.items()}
    for path, what in ONLY_SOME.items():
        detail = f"{member} does not {what}; its role in the federation is another"
        places.setdefault(path, At(common, path, [], (NOT_OFFERED, detail)))
    return places


def _named(request: Request) -> tuple[tuple[bytes, bytes], ...]:
    """Return the header by which a client knows that an answer is its own."""
    return ((KEY, request.key),) if request.key else ()


async def _send(send: Send, answer: Answer, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    status, body, kind = answer
    if status != 204:
        headers = ((b"content-type", kind), (b"content-length", b"%d" % len(body)), *headers)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _log(request: Request, method: str, path: str, status: int, seconds: float) -> None:
    known, ms = method if method in _METHODS else "other", round(seconds * 1000, 3)
    whose = {"token": request.token, "from": request.sender}
    LOG.info(_line(method=known, route=path, status=status, ms=ms, **whose))


_METHODS = {"GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"}


def _log_failure(path: str, error: Exception) -> None:
    """Log where an error came from, without its text: that may hold what was asked."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{pathlib.PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    LOG.error(_line(problem="internal", route=path, error=type(error).__name__, place=place))


def _line(**values: Any) -> str:
    return msgspec.json.encode(values).decode()
