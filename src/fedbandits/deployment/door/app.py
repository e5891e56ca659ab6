"""The inside of a door: it lets requests in, finds their route, and counts them."""

from __future__ import annotations

import logging
import pathlib
import re
import time
import traceback
from collections.abc import Sequence
from typing import Any

import msgspec

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
from fedbandits.deployment.door.requests import Answer, Request
from fedbandits.deployment.door.routes import ONLY_SOME, Endpoints, Route, routes_of
from fedbandits.deployment.door.served import Served, offered
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.deployment.door.tokens import Guard

#: One line of JSON a request: method, route, status, milliseconds, the token's name, the address
#: that it came from. Nothing of what was asked, and no token.
LOG = logging.getLogger("fedbandits.door")


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
    """All routes at one path. The ``path`` is shown to others; what was asked for is not.

    ``routes`` are its methods. ``missing`` says what it is when it has none, and what to do.
    """

    def __init__(
        self,
        common: Common,
        path: str,
        routes: Sequence[Route] = (),
        missing: tuple[Problem, str] = (NOT_FOUND, "the paths there are, are in /openapi.json"),
    ) -> None:
        self._common, self._path, self._missing = common, path, missing
        self._routes = {route.method: route for route in routes}
        if "GET" in self._routes:
            self._routes.setdefault("HEAD", self._routes["GET"])
        self._timer = common.metrics.timer(path if routes else "other")
        #: Finds it in what is asked for.
        self.pattern = re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path))

    def admit(self, request: Request) -> Route:
        """Find the route of a request whose head has come; raises Refused unless it may pass."""
        route = self._routes.get(request.method)
        if route is None:
            if not self._routes:
                raise Refused(*self._missing)
            allowed = ", ".join(self._routes)
            raise Refused(METHOD, f"it takes {allowed}", ((b"allow", allowed.encode()),))
        if route.scope is not None:
            request.token = self._common.guard.admit(request.authorization, route.scope)
        if route.body is not None:
            request.require_json(self._common.most)
        return route

    def refusal(self, request: Request, error: Exception) -> Answer:
        """Return the answer to a request that has met an error."""
        refused = self._common.refusal(error)
        if refused.problem is INTERNAL:
            _log_failure(self._path, error)
        self._common.metrics.refused(refused.problem.name)
        # What is still on its way would be read for nothing.
        request.keeps = request.keeps and not request.unread(self._common.most)
        return Answer(refused.problem.status, details(refused), PROBLEM_JSON, refused.headers)

    def answered(self, request: Request, status: int) -> None:
        """Count a request that was answered, and log it."""
        seconds = time.perf_counter() - request.began
        self._timer(seconds)
        if LOG.isEnabledFor(logging.INFO):
            known, ms = request.method if request.method in _METHODS else "other", seconds * 1000
            whose = {"token": request.token, "from": request.sender}
            LOG.info(_line(method=known, route=self._path, status=status, ms=round(ms, 3), **whose))


class App:
    """All that is behind a party's door: what is at which path."""

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
        self._nowhere = At(common, "other")
        places = _places(common, served.member, routes)
        #: Paths without names in them are found at once.
        self._plain = {path: place for path, place in places.items() if "{" not in path}
        self._named = [place for path, place in places.items() if "{" in path]

    def at(self, path: str, request: Request) -> At:
        """Find what is at a path, and note the values in it."""
        if (plain := self._plain.get(path)) is not None:
            return plain
        for place in self._named:
            if (found := place.pattern.fullmatch(path)) is not None:
                request.path_values = found.groupdict()
                return place
        return self._nowhere


def _places(common: Common, member: str, routes: list[Route]) -> dict[str, At]:
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    places = {path: At(common, path, own) for path, own in by_path.items()}
    for path, what in ONLY_SOME.items():
        detail = f"{member} does not {what}; its role in the federation is another"
        places.setdefault(path, At(common, path, missing=(NOT_OFFERED, detail)))
    return places


_METHODS = {"GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"}


def _log_failure(path: str, error: Exception) -> None:
    """Log where an error came from, without its text: that may hold what was asked."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{pathlib.PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    LOG.error(_line(problem="internal", route=path, error=type(error).__name__, place=place))


def _line(**values: Any) -> str:
    return msgspec.json.encode(values).decode()
