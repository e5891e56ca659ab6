"""Requests to a door, its answers and its refusals, shared by both clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import quote

import httpx
import msgspec
import numpy as np

from fedbandits.errors import FedbanditsError

#: Seconds that an answer may take.
TIMEOUT = 30.0
#: Further tries of a connection. Nothing was sent before: they are safe for every request.
RETRIES = 2
Numbers: TypeAlias = Sequence[float] | np.ndarray[Any, Any]
Rows: TypeAlias = Sequence[Numbers] | np.ndarray[Any, Any]


class DoorError(FedbanditsError):
    """A request failed; unless a subclass says otherwise, nothing has changed at the party.

    Parameters
    ----------
    status
        The HTTP status. 0 means that no answer came, so the request may or may not have been
        carried out.
    type
        The name of the problem, a URN; ``about:blank`` if it has no name.
    title, detail
        Summary of the problem, and what to do about it.
    """

    #: Names of the problems that it stands for: the last words of their types.
    PROBLEMS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, status: int, type: str, title: str, detail: str) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status, self.type, self.title, self.detail = status, type, title, detail


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
    """The party does not offer this, because its role is another one."""

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
    """The party cannot answer now; ask again later."""

    PROBLEMS = ("not-ready", "unavailable", "store-full", "internal")


class UnreachableError(DoorError):
    """The request had no answer, but it may have been carried out."""


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
        Number of the chosen action (the first is 0), or what else the system decides.
    """

    id: str
    action: Any


class _Problem(msgspec.Struct, frozen=True):
    """Problem details, as far as they are there."""

    type: str = "about:blank"
    title: str = ""
    detail: str = ""


class Call(NamedTuple):
    """A request, and the type of its answer."""

    method: str
    path: str
    body: Any = None
    answer: Any = None
    wait: float = 0.0


#: Calls that need nothing said.
ORDER = Call("POST", "/v1/orders", None, dict[str, Any])
PRIVACY = Call("GET", "/v1/privacy", None, dict[str, Any])
STATUS = Call("GET", "/v1/status", None, dict[str, Any])


def decide(**asked: Any) -> Call:
    """Make the call that asks for a decision."""
    body = {name: value for name, value in asked.items() if value is not None}
    return Call("POST", "/v1/decisions", body, Decision)


def reward(decision: Decision | str, reward: Any, more: Mapping[str, Any]) -> Call:
    """Make the call that reports the outcome of a decision."""
    told = more if reward is None else {"reward": reward, **more}
    decision_id = decision if isinstance(decision, str) else decision.id
    return Call("POST", "/v1/rewards", {"decision_id": decision_id, **told})


def next_pull(wait: float) -> Call:
    """Make the call that waits for a pull."""
    return Call("GET", f"/v1/pulls/next?wait={wait:g}", None, dict[str, str], wait)


def pull(pull: str, reward: int) -> Call:
    """Make the call that reports the reward of a pull."""
    return Call("POST", f"/v1/pulls/{quote(pull, safe='')}", {"reward": reward})


def _plain(value: Any) -> Any:
    """Make numpy's numbers and arrays those of JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent; send numbers, lists or arrays")


def sent(call: Call, timeout: float) -> dict[str, Any]:
    """Return the arguments of a call for httpx."""
    sent: dict[str, Any] = {"timeout": timeout + call.wait}
    if call.body is not None:
        sent["content"] = msgspec.json.encode(call.body, enc_hook=_plain)
        sent["headers"] = {"content-type": "application/json"}
    return sent


def read(call: Call, response: httpx.Response) -> Any:
    """Read an answer; raise a DoorError if it is a refusal, or no answer of a door."""
    if response.status_code == 204:
        return None
    if response.is_success:
        try:
            return msgspec.json.decode(response.content, type=call.answer)
        except msgspec.DecodeError:
            raise DoorError(
                response.status_code, "about:blank", "This is no door of a party", "check the url"
            ) from None
    try:
        problem = msgspec.json.decode(response.content, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        problem = _Problem(title=f"HTTP status {response.status_code}, from no door of a party")
    kind = ERRORS.get(problem.type.rpartition(":")[2], DoorError)
    raise kind(response.status_code, problem.type, problem.title, problem.detail)


def unreachable(error: httpx.TransportError) -> UnreachableError:
    """Make the error for a request without an answer."""
    reason = str(error) or type(error).__name__
    return UnreachableError(0, "about:blank", "The door cannot be reached", reason)


def checks(url: str, verify: Any) -> Any:
    """Return how certificates are checked; authorities are not loaded where there are none."""
    return verify if url.lower().startswith("https:") else False


def headers(token: str) -> dict[str, str]:
    """Return the headers of every request."""
    return {"authorization": f"Bearer {token}", "user-agent": "fedbandits"}
