"""Requests to a door and its answers, shared by both clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import httpx
import msgspec
import numpy as np

from fedbandits.client.problems import ERRORS, DoorError, UnreachableError

#: Seconds that an answer may take.
TIMEOUT = 30.0
#: How often a connection is tried again. Nothing was sent then: that is safe for every request.
RETRIES = 2
Numbers: TypeAlias = Sequence[float] | np.ndarray[Any, Any]
Rows: TypeAlias = Sequence[Numbers] | np.ndarray[Any, Any]


class Decision(msgspec.Struct, frozen=True, rename={"id": "decision_id"}):
    """A decision of the party.

    Parameters
    ----------
    id
        Identifies the decision when its outcome is reported.
    action
        What to do: the number of an action (the first is 0), or what else the system decides.
    """

    id: str
    action: Any


class _Problem(msgspec.Struct, frozen=True):
    """Problem details, as far as they are there."""

    type: str = "about:blank"
    title: str = ""
    detail: str = ""


class Call(NamedTuple):
    """A request, and what its answer is."""

    method: str
    path: str
    body: Any = None
    answer: Any = None
    wait: float = 0.0


class Calls:
    """Makes requests, and reads answers; who sends them is another matter."""

    @staticmethod
    def decide(**asked: Any) -> Call:
        body = {name: value for name, value in asked.items() if value is not None}
        return Call("POST", "/v1/decisions", body, Decision)

    @staticmethod
    def reward(decision: Decision | str, reward: Any, more: Mapping[str, Any]) -> Call:
        told = more if reward is None else {"reward": reward, **more}
        return Call("POST", "/v1/rewards", {"decision_id": _id(decision), **told})

    @staticmethod
    def next_pull(wait: float) -> Call:
        return Call("GET", f"/v1/pulls/next?wait={wait:g}", None, dict[str, str], wait)

    @staticmethod
    def pull(pull: str, reward: int) -> Call:
        return Call("POST", f"/v1/pulls/{quote(pull, safe='')}", {"reward": reward})

    @staticmethod
    def order() -> Call:
        return Call("POST", "/v1/orders", None, dict[str, Any])

    @staticmethod
    def privacy() -> Call:
        return Call("GET", "/v1/privacy", None, dict[str, Any])

    @staticmethod
    def status() -> Call:
        return Call("GET", "/v1/status", None, dict[str, Any])


def _id(decision: Decision | str) -> str:
    return decision if isinstance(decision, str) else decision.id


def _plain(value: Any) -> Any:
    """Numpy's numbers and arrays as JSON has them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent; send numbers, lists or arrays")


def sent(call: Call, timeout: float) -> dict[str, Any]:
    """A call as httpx takes it."""
    sent: dict[str, Any] = {"timeout": timeout + call.wait}
    if call.body is not None:
        sent["content"] = msgspec.json.encode(call.body, enc_hook=_plain)
        sent["headers"] = {"content-type": "application/json"}
    return sent


def read(call: Call, response: httpx.Response) -> Any:
    """What was answered.

    Raises
    ------
    DoorError
        If it is a refusal, or no answer of a door.
    """
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
    """The error for a request without an answer."""
    reason = str(error) or type(error).__name__
    return UnreachableError(0, "about:blank", "The door cannot be reached", reason)


def checks(url: str, verify: Any) -> Any:
    """Whether certificates are checked; authorities are not loaded where there are none."""
    return verify if url.lower().startswith("https:") else False


def headers(token: str) -> dict[str, str]:
    """Headers that every request has."""
    return {"authorization": f"Bearer {token}", "user-agent": "fedbandits"}
