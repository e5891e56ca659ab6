"""Requests to a door, its answers and its refusals, shared by both clients."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import quote

import httpx
import msgspec
import numpy as np

from fedbandits.errors import ConfigError, FedbanditsError

#: Seconds that an answer may take.
TIMEOUT = 30.0
#: Further tries of a connection. Nothing was sent before: they are safe for every request.
RETRIES = 2
#: The header that names a request. The door's answer has it, too, and no other answer does.
KEY = "idempotency-key"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
Numbers: TypeAlias = Sequence[float] | np.ndarray[Any, Any]
Rows: TypeAlias = Sequence[Numbers] | np.ndarray[Any, Any]


class DoorError(FedbanditsError):
    """A request failed; unless a subclass says otherwise, nothing has changed at the party.

    Parameters
    ----------
    status
        The HTTP status; 0 if nobody answered.
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

    def __reduce__(self) -> tuple[Any, ...]:
        """Tell how it is made again in another process: without a call of ``__init__``."""
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
    """The door has not answered, but the request may have been carried out.

    The ``status`` is 0, or that of whoever answered in the door's place, such as a proxy. Ask
    again with the ``key``: a decision that was made is then not made twice.

    Parameters
    ----------
    status, detail
        See :class:`DoorError`.
    key
        What the request was called.
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
    """A request, and the type of its answer. The ``key`` is drawn unless it is given."""

    method: str
    path: str
    body: Any = None
    answer: Any = None
    wait: float = 0.0
    key: str | None = None


#: Calls that need nothing said.
ORDER = Call("POST", "/v1/orders", None, dict[str, Any])
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


def request(http: httpx.Client | httpx.AsyncClient, call: Call, timeout: float) -> httpx.Request:
    """Write the request of a call, with a key that no other request has unless one is given."""
    named = {KEY: call.key or secrets.token_hex(16)}
    content = None
    if call.body is not None:
        content = msgspec.json.encode(call.body, enc_hook=_plain)
        named["content-type"] = "application/json"
    return http.build_request(
        call.method, call.path, content=content, headers=named, timeout=timeout + call.wait
    )


def read(call: Call, response: httpx.Response) -> Any:
    """Read an answer; raise a DoorError if it is a refusal, or not the door's to this request."""
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
        return msgspec.json.decode(response.content, type=call.answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UnreachableError(status, "the answer cannot be read", key) from None


def _problem(response: httpx.Response) -> _Problem | None:
    """Read a door's refusal; None if it is none. It has no key where the head was not read."""
    try:
        problem = msgspec.json.decode(response.content, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return problem if problem.type.startswith("urn:fedbandits:problem:") else None


def unreachable(error: httpx.RequestError) -> UnreachableError:
    """Make the error for a request without an answer."""
    reason = str(error) or type(error).__name__
    return UnreachableError(0, reason, error.request.headers[KEY])


class Place:
    """A door's address, what is shown to it, and how long it is waited for.

    Raises ConfigError if it cannot be so. The error shows neither url nor token.
    """

    def __init__(self, url: str, token: str, timeout: float, verify: Any) -> None:
        if not isinstance(url, str) or not _is_address(url):
            raise ConfigError(
                "url: http:// or https:// and a host, such as http://127.0.0.1:8420, without "
                "blanks, line breaks, a user's name, a query or a fragment"
            )
        if not isinstance(token, str) or _TOKEN.fullmatch(token) is None:
            raise ConfigError(
                "token: letters, digits and - . _ ~ + / = alone, as fedbandits party token prints "
                "it: strip line breaks and blanks; leave out quotes and the word Bearer"
            )
        if not 0.0 < timeout < math.inf:
            raise ConfigError("timeout: a number of seconds above 0")
        self._url, self._token, self._verify = url.rstrip("/"), token, verify
        self.timeout = timeout

    def arguments(self, transport: Any) -> dict[str, Any]:
        """Return the arguments for httpx; ``transport`` is a class of it.

        Authorities are not loaded where there are no certificates.
        """
        verify = self._verify if self._url.lower().startswith("https:") else False
        return {
            "base_url": self._url,
            "headers": {"authorization": f"Bearer {self._token}", "user-agent": "fedbandits"},
            "transport": transport(verify=verify, retries=RETRIES),
        }


def _is_address(url: str) -> bool:
    try:
        parts = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        return False
    more = parts.userinfo or parts.query or parts.fragment or url != url.strip()
    port = parts.port is None or 0 < parts.port < 65_536
    return parts.scheme in ("http", "https") and bool(parts.host) and port and not more
