"""Clients of a party's door: a client that waits for answers, and a client for asyncio."""

from __future__ import annotations

import asyncio
import math
import os
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import httpx

from fedbandits.client import calls
from fedbandits.client.calls import Call, Decision, DoorError, Numbers, Rows, UnreachableError
from fedbandits.errors import ConfigError

#: Further tries of a request.
RETRIES, MOST_RETRIES = 3, 20
#: Seconds before the second try; each further wait is twice as long, up to the longest.
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
#: Statuses that may pass: no answer, a proxy's answer, or a door that is not ready.
_PASSING = frozenset({0, 502, 503, 504})


#: Seconds that an answer may take.
TIMEOUT = 30.0
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class Place:
    """A door's address, with the token, the time to wait for answers, and the number of retries.

    Raises ConfigError for impossible values. The error shows neither url nor token.
    """

    def __init__(self, url: str, token: str, timeout: float, verify: Any, retries: int) -> None:
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
        if not isinstance(retries, int) or not 0 <= retries <= MOST_RETRIES:
            raise ConfigError(f"retries: a whole number from 0 to {MOST_RETRIES}")
        self._url, self._token, self._verify = url.rstrip("/"), token, verify
        self.timeout, self.retries = timeout, retries

    def arguments(self, transport: Any) -> dict[str, Any]:
        """Return the arguments for httpx, with a ``transport`` of that class.

        Without https there are no certificates, and no authorities are loaded.
        """
        verify = self._verify if self._url.lower().startswith("https:") else False
        return {
            "base_url": self._url,
            "headers": {"authorization": f"Bearer {self._token}", "user-agent": "fedbandits"},
            "transport": transport(verify=verify),
        }


def _is_address(url: str) -> bool:
    try:
        parts = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        return False
    more = parts.userinfo or parts.query or parts.fragment or url != url.strip()
    port = parts.port is None or 0 < parts.port < 65_536
    return parts.scheme in ("http", "https") and bool(parts.host) and port and not more


class Tries:
    """Tries of one call, all with the same key, and the knowledge of earlier tries.

    Parameters
    ----------
    call
        The call. Without a key, a unique key is drawn.
    retries
        Number of further tries.
    """

    def __init__(self, call: Call, retries: int) -> None:
        self.call = call._replace(key=call.key or secrets.token_hex(16))
        self._left = retries if call.again else 0
        self._wait = _FIRST_WAIT
        self._unanswered = False

    def wait_after(self, error: DoorError) -> float | None:
        """Return the seconds before the next try; None if an earlier try has arrived.

        Raises the ``error`` if the error will not pass, or no try is left.
        """
        if self._unanswered and isinstance(error, self.call.done):
            return None
        if error.status not in _PASSING or not self._left:
            raise error
        self._unanswered |= isinstance(error, UnreachableError)
        self._left -= 1
        wait, self._wait = self._wait, min(2.0 * self._wait, _LONGEST_WAIT)
        return wait


class Client:
    """A client of a party's door, which asks for decisions and reports rewards.

    Many threads may use one client.

    Parameters
    ----------
    url
        Address of the door, such as ``http://127.0.0.1:8420``.
    token
        A token that this party has issued.
    timeout
        Longest time to wait for an answer, in seconds.
    verify
        Whether to check the door's certificate. Or an SSL context with the certificates to trust.
    retries
        Number of times that a request without an answer is sent again, with the same key. So a
        decision is made once, and a reward counts once. An order is never sent again.
    sleep
        A function that waits between two tries, for 0.5 seconds, then 1, 2, and so on; by default
        ``time.sleep``.

    Raises
    ------
    ConfigError
        For an impossible url, token, timeout or number of retries. The error does not show them.
    DoorError
        By every method, if the door refuses the request or cannot be reached. The subclass names
        the reason.
    """

    def __init__(
        self, url: str, token: str, timeout: float = TIMEOUT, verify: Any = True,
        retries: int = RETRIES, sleep: Callable[[float], Any] | None = None,
    ) -> None:  # fmt: skip
        self._place = Place(url, token, timeout, verify, retries)
        self._sleep = sleep or time.sleep
        self._process, self._http = os.getpid(), self._opened()

    def _opened(self) -> httpx.Client:
        return httpx.Client(**self._place.arguments(httpx.HTTPTransport))

    def _connections(self) -> httpx.Client:
        """Return the connections of this process; a forked process opens new connections."""
        if self._process != os.getpid():
            self._http, self._process = self._opened(), os.getpid()
        return self._http

    def decide(
        self, *, actions: Rows | None = None, context: Numbers | None = None,
        available: Sequence[int] | None = None, user: int | None = None,
        items: Rows | None = None, person: str | None = None, key: str | None = None, **more: Any,
    ) -> Decision:  # fmt: skip
        """Ask for a decision.

        The system determines which of the parameters are needed.

        Parameters
        ----------
        actions : (K, d) numbers
            One context for each action, if all actions share one model.
        context : (d,) numbers
            The context of this decision, if each action has its own model.
        available : numbers of actions, optional
            The actions that can be chosen now, if each action has its own model; by default all.
        user : int
            Number of the arriving user.
        items : (K, d) numbers
            One context for each item that this user can be shown.
        person : str
            Name of the person for whom the decision is made, if the terms protect persons. The name
            is the same in all visits.
        key : str, optional
            Name of this request; by default a drawn name. After an UnreachableError, when no try
            had an answer, ask again with its ``key``: a decision that was made is returned, and not
            made twice.
        **more
            Further arguments of a system of your own, by name.
        """
        call = calls.decide(
            key, actions=actions, context=context, available=available, user=user, items=items,
            person=person, **more,
        )  # fmt: skip
        decided: Decision = self._call(call)
        return decided

    def reward(self, decision: Decision | str, reward: Any = None, **more: Any) -> None:
        """Report the reward of a decision, or the other outcome that the system needs.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its ``id``.
        reward : float, optional
            Its reward.
        **more
            Other outcomes, by name. Which names exist depends on the system.
        """
        self._call(calls.reward(decision, reward, more))

    def next_pull(self, wait: float = 30.0) -> str | None:
        """Return the due pull; None if none becomes due within ``wait`` seconds, at most 60."""
        pull = self._call(calls.next_pull(wait))
        return None if pull is None else pull["pull_id"]

    def pull(self, pull: str, reward: int) -> None:
        """Report the reward of ``pull``: 0 or 1."""
        self._call(calls.pull(pull, reward))

    def order(self) -> dict[str, Any]:
        """Order the run that the terms describe; return the party's status."""
        status: dict[str, Any] = self._call(calls.ORDER)
        return status

    def privacy(self) -> dict[str, Any]:
        """Return the privacy claim, and the spent and the remaining privacy budget."""
        privacy: dict[str, Any] = self._call(calls.PRIVACY)
        return privacy

    def status(self) -> dict[str, Any]:
        """Return the party's status: its progress, and the messages that it waits for."""
        status: dict[str, Any] = self._call(calls.STATUS)
        return status

    def close(self) -> None:
        """Close the connections."""
        self._connections().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _call(self, call: Call) -> Any:
        tries = Tries(call, self._place.retries)
        while True:
            try:
                return self._once(tries.call)
            except DoorError as error:
                wait = tries.wait_after(error)
            if wait is None:
                return None
            self._sleep(wait)

    def _once(self, call: Call) -> Any:
        http = self._connections()
        try:
            response = http.send(calls.request(http, call, self._place.timeout))
        except httpx.RequestError as error:
            raise calls.unreachable(error) from None
        return calls.read(call, response)


class AsyncClient:
    """A client of a party's door for asyncio: :class:`Client` with methods that are awaited.

    Parameters
    ----------
    url, token, timeout, verify, retries
        See :class:`Client`.
    sleep
        An awaitable function that waits between two tries; by default ``asyncio.sleep``.
    """

    def __init__(
        self, url: str, token: str, timeout: float = TIMEOUT, verify: Any = True,
        retries: int = RETRIES, sleep: Callable[[float], Any] | None = None,
    ) -> None:  # fmt: skip
        self._place = Place(url, token, timeout, verify, retries)
        self._sleep = sleep or asyncio.sleep
        self._http: httpx.AsyncClient | None = None
        self._of: tuple[int, asyncio.AbstractEventLoop] | None = None

    def _connections(self) -> httpx.AsyncClient:
        """Return the connections of this process and this event loop."""
        here = os.getpid(), asyncio.get_running_loop()
        if self._http is None or self._of != here:
            self._http = httpx.AsyncClient(**self._place.arguments(httpx.AsyncHTTPTransport))
            self._of = here
        return self._http

    async def decide(
        self, *, actions: Rows | None = None, context: Numbers | None = None,
        available: Sequence[int] | None = None, user: int | None = None,
        items: Rows | None = None, person: str | None = None, key: str | None = None, **more: Any,
    ) -> Decision:  # fmt: skip
        """Ask for a decision.

        Parameters
        ----------
        actions, context, available, user, items, person, key, **more
            See :meth:`Client.decide`.
        """
        call = calls.decide(
            key, actions=actions, context=context, available=available, user=user, items=items,
            person=person, **more,
        )  # fmt: skip
        decided: Decision = await self._call(call)
        return decided

    async def reward(self, decision: Decision | str, reward: Any = None, **more: Any) -> None:
        """Report the reward of a decision, or the other outcome that the system needs.

        Parameters
        ----------
        decision : Decision or str
            The decision, or its ``id``.
        reward : float, optional
            Its reward.
        **more
            Other outcomes, by name. Which names exist depends on the system.
        """
        await self._call(calls.reward(decision, reward, more))

    async def next_pull(self, wait: float = 30.0) -> str | None:
        """Return the due pull; None if none becomes due within ``wait`` seconds, at most 60."""
        pull = await self._call(calls.next_pull(wait))
        return None if pull is None else pull["pull_id"]

    async def pull(self, pull: str, reward: int) -> None:
        """Report the reward of ``pull``: 0 or 1."""
        await self._call(calls.pull(pull, reward))

    async def order(self) -> dict[str, Any]:
        """Order the run that the terms describe; return the party's status."""
        status: dict[str, Any] = await self._call(calls.ORDER)
        return status

    async def privacy(self) -> dict[str, Any]:
        """Return the privacy claim, and the spent and the remaining privacy budget."""
        privacy: dict[str, Any] = await self._call(calls.PRIVACY)
        return privacy

    async def status(self) -> dict[str, Any]:
        """Return the party's status: its progress, and the messages that it waits for."""
        status: dict[str, Any] = await self._call(calls.STATUS)
        return status

    async def close(self) -> None:
        """Close the connections."""
        await self._connections().aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _call(self, call: Call) -> Any:
        tries = Tries(call, self._place.retries)
        while True:
            try:
                return await self._once(tries.call)
            except DoorError as error:
                wait = tries.wait_after(error)
            if wait is None:
                return None
            await self._sleep(wait)

    async def _once(self, call: Call) -> Any:
        http = self._connections()
        try:
            response = await http.send(calls.request(http, call, self._place.timeout))
        except httpx.RequestError as error:
            raise calls.unreachable(error) from None
        return calls.read(call, response)
