"""The door's routes: one table, for answering requests and for the OpenAPI document."""

from __future__ import annotations

from typing import Any, NamedTuple

from fedbandits.deployment.door import problems as no
from fedbandits.deployment.door.endpoints import Endpoints, Handler
from fedbandits.deployment.door.problems import Problem
from fedbandits.deployment.door.requests import JSON
from fedbandits.deployment.door.shapes import PullAnswer, PullTold
from fedbandits.deployment.door.tokens import Scope

#: Refusals of every body, of every party, and of every route that needs a token.
_BODY = (no.MALFORMED, no.SLOW, no.TOO_LARGE, no.NOT_JSON, no.INVALID, no.OUT_OF_BOUNDS)
_PARTY = (no.REFUSED, no.NOT_READY, no.UNAVAILABLE, no.STORE_FULL)
_TOKEN = (no.UNAUTHORISED, no.OTHER_PARTY, no.FORBIDDEN)
_TOLD = (no.UNKNOWN_DECISION, no.DUPLICATE, no.LATE)


class Route(NamedTuple):
    """One method of one path.

    Parameters
    ----------
    method, path
        What it answers; ``{}`` in a path holds the name of a value.
    handler
        Answers it.
    summary
        What it does, in a sentence.
    status
        Of an answer, if nothing is refused.
    scope
        What a token must allow, None where no token is needed.
    refusals
        What it refuses, beside what all routes do.
    body, answer
        Types of what is sent and answered; None for nothing, ``dict`` for an object.
    kind
        The media type of the answer.
    empty
        What an answer 204 means, where that is another answer than the one above.
    query
        Schemas of the query's values.
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
    """The routes of a party.

    Parameters
    ----------
    endpoints
        What answers.
    offered
        What the party does: see :func:`~fedbandits.deployment.door.served.offered`.
    """
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
            "Ask for a decision. It is durable when it is answered.", 200, "decide",
            _PARTY, body=shapes.asked, answer=shapes.decided,
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
            "Where the party stands: rounds, releases, messages, what is wrong.", 200, "read",
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
            "Whether the party is connected and its store works. No token is needed.", 200, None,
            (no.NOT_READY,), answer=dict,
        ),
    ]  # fmt: skip
