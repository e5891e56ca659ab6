"""The refusals of a door as problem details (RFC 9457), each with a name that does not change."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from fedbandits import errors

#: Before the name of a problem, in its ``type``.
PREFIX = "urn:fedbandits:problem:"
#: Characters of a detail that are shown: some name what a request held.
_SHOWN = 500


class Problem(NamedTuple):
    """A kind of refusal: its name, its HTTP status, and a title in a few words."""

    name: str
    status: int
    title: str

    @property
    def type(self) -> str:
        """The URN that names it to programs."""
        return PREFIX + self.name


class ProblemDetails(msgspec.Struct, frozen=True):
    """Details of a refused request. Programs go by ``type``, people by ``detail``."""

    type: str
    title: str
    status: int
    detail: str = ""


NO_HTTP = Problem("no-http", 400, "This is no HTTP")
MALFORMED = Problem("malformed", 400, "The body is no JSON")
UNAUTHORISED = Problem("unauthorised", 401, "No token, or an unknown one")
OTHER_PARTY = Problem("other-party", 403, "The token is another party's")
FORBIDDEN = Problem("forbidden", 403, "The token does not allow this")
NOT_FOUND = Problem("not-found", 404, "There is nothing at this path")
NOT_OFFERED = Problem("not-offered", 404, "This party does not do this")
UNKNOWN_DECISION = Problem("unknown-decision", 404, "No such decision was made here")
METHOD = Problem("method-not-allowed", 405, "This path takes another method")
SLOW = Problem("slow", 408, "The request took too long to come")
DUPLICATE = Problem("duplicate", 409, "It was told before")
NOT_NOW = Problem("not-now", 409, "The party's state does not allow this")
LATE = Problem("late", 410, "It is too late for this")
TOO_LARGE = Problem("too-large", 413, "The body is too large")
NOT_JSON = Problem("unsupported-media-type", 415, "The body is not declared as JSON")
INVALID = Problem("invalid", 422, "The request is not of this shape")
OUT_OF_BOUNDS = Problem("out-of-bounds", 422, "Beyond the bounds of the terms")
REFUSED = Problem("refused", 422, "The party cannot take this")
HEAD_TOO_LARGE = Problem("head-too-large", 431, "The headers are too large")
INTERNAL = Problem("internal", 500, "The door has failed")
UNAVAILABLE = Problem("unavailable", 503, "The party's store or keys cannot be used")
NOT_READY = Problem("not-ready", 503, "The party is not ready")
STORE_FULL = Problem("store-full", 507, "The party's disk is full")

#: Every problem that an application may meet.
PROBLEMS = tuple(value for value in list(vars().values()) if isinstance(value, Problem))
#: What their bodies are called.
PROBLEM_JSON = b"application/problem+json"

#: What a party raises. The nearest base of an error counts.
_MEANT: dict[type[BaseException], Problem] = {
    errors.UnknownDecisionError: UNKNOWN_DECISION,
    errors.DuplicateRewardError: DUPLICATE,
    errors.LateRewardError: LATE,
    errors.BoundExceededError: OUT_OF_BOUNDS,
    errors.LocalProtocolError: REFUSED,
    errors.NoiseError: INTERNAL,
    errors.NotReadyError: NOT_READY,
    errors.StoreFullError: STORE_FULL,
    errors.DeploymentError: UNAVAILABLE,
    errors.LedgerError: UNAVAILABLE,
}


class Refused(Exception):  # noqa: N818
    """A request that is not answered as it wished.

    ``detail`` says what to do about it. ``headers`` are in the answer beside those that all have.
    """

    def __init__(
        self, problem: Problem, detail: str, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(detail)
        self.problem, self.detail, self.headers = problem, detail, headers


def meant(error: Exception) -> Refused:
    """Return the refusal that an error stands for. Unforeseen errors show nothing of themselves."""
    if isinstance(error, Refused):
        return error
    problem = next((_MEANT[kind] for kind in type(error).__mro__ if kind in _MEANT), INTERNAL)
    if problem is INTERNAL:
        return Refused(INTERNAL, "nothing is known to have changed; the door's log names the place")
    headers = ((b"retry-after", b"1"),) if problem.status == 503 else ()
    return Refused(problem, str(error), headers)


def details(problem: Problem, detail: str) -> bytes:
    """Encode the body of a refusal."""
    cut = detail if len(detail) <= _SHOWN else f"{detail[:_SHOWN]}…"
    shown: Any = ProblemDetails(problem.type, problem.title, problem.status, cut)
    return msgspec.json.encode(shown)
