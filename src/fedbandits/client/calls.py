"""Requests to a door, its answers and its refusals, shared by both clients."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import quote

import httpx
import msgspec
import numpy as np

from fedbandits._schema import prepared
from fedbandits.errors import ConfigError, FedbanditsError

#: The header that names a request. Only the door's answer to this request repeats the name.
KEY = "idempotency-key"
Numbers: TypeAlias = Sequence[float] | np.ndarray[Any, Any]
Rows: TypeAlias = Sequence[Numbers] | np.ndarray[Any, Any]


class DoorError(FedbanditsError):
    """A request failed; unless a subclass says otherwise, nothing has changed at the party.

    Parameters
    ----------
    status
        The HTTP status; 0 without an answer.
    type
        The name of the problem, a URN; ``about:blank`` if it has no name.
    title, detail
        Summary of the problem, and its remedy.
    """

    #: Names of the problems of this class: the last words of their types.
    PROBLEMS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, status: int, type: str, title: str, detail: str) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status, self.type, self.title, self.detail = status, type, title, detail

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the way to restore the error in another process, without ``__init__``."""
        kind = self.__class__
        return kind.__new__, (kind, *self.args), self.__dict__


class InvalidRequestError(DoorError):
    """The request does not match the door's OpenAPI description."""

    PROBLEMS = (
        "malformed", "invalid", "unsupported-media-type", "too-large", "head-too-large", "slow",
        "no-http", "not-found", "method-not-allowed",
    )  # fmt: skip


class TokenError(DoorError):
    """The token is missing, unknown, of another party, or does not allow this request."""

    PROBLEMS = ("unauthorised", "other-party", "forbidden")


class NotOfferedError(DoorError):
    """The party's role does not offer this request."""

    PROBLEMS = ("not-offered",)


class DecisionUnknownError(DoorError):
    """The party never made this decision."""

    PROBLEMS = ("unknown-decision",)


class DuplicateError(DoorError):
    """The outcome was reported before; the first report counts."""

    PROBLEMS = ("duplicate",)


class LateError(DoorError):
    """The outcome was reported too late to be counted."""

    PROBLEMS = ("late",)


class OutOfBoundsError(DoorError):
    """A context or a reward is outside the bounds on which the privacy guarantee depends."""

    PROBLEMS = ("out-of-bounds",)


class RefusedError(DoorError):
    """The party cannot accept this request, or cannot accept it now."""

    PROBLEMS = ("refused", "not-now")


class UnavailableError(DoorError):
    """The party cannot answer now; ask again later, with the same key.

    The request has been carried out if the detail says that a step after its commit failed.
    """

    PROBLEMS = ("not-ready", "unavailable", "store-full", "internal")


class UnreachableError(DoorError):
    """The door has not answered, but the request may have been carried out.

    The ``status`` is 0, or the status of an answer in the door's place, such as a proxy's. Ask
    again with the ``key``: then the decision is not made twice.

    Parameters
    ----------
    status, detail
        See :class:`DoorError`.
    key
        The name of the request.
    """

    def __init__(self, status: int, detail: str, key: str = "") -> None:
        super().__init__(status, "about:blank", "No answer of the door", detail)
        self.key = key


#: The error of each problem, by the last word of its type.
ERRORS: Mapping[str, type[DoorError]] = {
    name: kind for kind in DoorError.__subclasses__() for name in kind.PROBLEMS
}


class Decision(msgspec.Struct, frozen=True, rename={"id": "decision_id"}):
    """A decision of the party.

    Parameters
    ----------
    id
        Identifies the decision when its outcome is reported.
    action
        Number of the chosen action, from 0, or another decision of the system.
    """

    id: str
    action: Any


class _Problem(msgspec.Struct, frozen=True):
    """Details of a problem; empty where the answer has none."""

    type: str = "about:blank"
    title: str = ""
    detail: str = ""


class Call(NamedTuple):
    """A request, and the type of its answer. Without a ``key``, a key is drawn."""

    method: str
    path: str
    body: Any = None
    answer: Any = None
    wait: float = 0.0
    key: str | None = None
    again: bool = True  # whether the request may be sent twice
    done: tuple[type[DoorError], ...] = ()  # refusals of a request that has arrived before


#: Calls without content. A second order is refused, whether or not the first had an answer.
ORDER = Call("POST", "/v1/orders", None, dict[str, Any], again=False)
PRIVACY = Call("GET", "/v1/privacy", None, dict[str, Any])
STATUS = Call("GET", "/v1/status", None, dict[str, Any])


def decide(key: str | None, **asked: Any) -> Call:
    """Make the call that asks for a decision; raises ConfigError if the key cannot be sent."""
    if key is not None and re.fullmatch(r"[!-~]{1,100}", key) is None:
        raise ConfigError("key: 1 to 100 characters of ASCII, without blanks")
    body = {name: value for name, value in asked.items() if value is not None}
    return Call("POST", "/v1/decisions", body, Decision, key=key)


def reward(decision: Decision | str, reward: Any, more: Mapping[str, Any]) -> Call:
    """Make the call that reports the outcome of a decision."""
    outcome = more if reward is None else {"reward": reward, **more}
    decision_id = decision if isinstance(decision, str) else decision.id
    body = {"decision_id": decision_id, **outcome}
    return Call("POST", "/v1/rewards", body, done=(DuplicateError,))


def next_pull(wait: float) -> Call:
    """Make the call that waits for a pull."""
    return Call("GET", f"/v1/pulls/next?wait={wait:g}", None, dict[str, str], wait)


def pull(pull: str, reward: int) -> Call:
    """Make the call that reports the reward of a pull."""
    path = f"/v1/pulls/{quote(pull, safe='')}"
    return Call("POST", path, {"reward": reward}, done=(DuplicateError, LateError))


def _plain(value: Any) -> Any:
    """Turn numbers and arrays of numpy into numbers and lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent; send numbers, lists or arrays")


def request(http: httpx.Client | httpx.AsyncClient, call: Call, timeout: float) -> httpx.Request:
    """Write the request of a call that has a key."""
    headers = {KEY: str(call.key)}
    content = None
    if call.body is not None:
        content = msgspec.json.encode(call.body, enc_hook=_plain)
        headers["content-type"] = "application/json"
    return http.build_request(
        call.method, call.path, content=content, headers=headers, timeout=timeout + call.wait
    )


def read(call: Call, response: httpx.Response) -> Any:
    """Read an answer; raise a DoorError for a refusal, and for answers to other requests."""
    status, key = response.status_code, response.request.headers[KEY]
    problem = None if response.is_success else _problem(response)
    if response.headers.get(KEY) != key and (problem is None or KEY in response.headers):
        where = "it is another request's" if KEY in response.headers else "check the url, or wait"
        raise UnreachableError(
            status, f"HTTP status {status}, from no door of a party; {where}", key
        )
    if problem is not None:
        kind = ERRORS.get(problem.type.rpartition(":")[2], DoorError)
        raise kind(status, problem.type, problem.title, problem.detail)
    if status == 204:
        return None
    try:
        return msgspec.json.decode(response.content, type=prepared(call.answer))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UnreachableError(status, "the answer cannot be read", key) from None


def _problem(response: httpx.Response) -> _Problem | None:
    """Read a door's refusal; None for other answers.

    The refusal has no key if the door has not read the head of the request.
    """
    try:
        problem = msgspec.json.decode(response.content, type=prepared(_Problem))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return problem if problem.type.startswith("urn:fedbandits:problem:") else None


def unreachable(error: httpx.RequestError) -> UnreachableError:
    """Make the error for a request without an answer."""
    reason = str(error) or type(error).__name__
    return UnreachableError(0, reason, error.request.headers[KEY])
