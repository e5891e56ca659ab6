"""A client that waits for its answers."""

from __future__ import annotations

from typing import Any, Self

import httpx

from fedbandits.client.calls import (
    RETRIES,
    TIMEOUT,
    Call,
    Calls,
    Decision,
    Numbers,
    Rows,
    checks,
    headers,
    read,
    sent,
    unreachable,
)


class Client:
    """A client of a party's door. It may be used by many threads.

    Parameters
    ----------
    url
        Of the door, such as ``http://127.0.0.1:8420``.
    token
        A token of that party.
    timeout
        Seconds that an answer may take.
    verify
        Whether the door's certificate is checked; or an SSL context that knows who signed it.

    Raises
    ------
    DoorError
        By every method, if the door refuses or cannot be reached: see its subclasses.
    """

    def __init__(self, url: str, token: str, timeout: float = TIMEOUT, verify: Any = True) -> None:
        self._timeout = timeout
        transport = httpx.HTTPTransport(verify=checks(url, verify), retries=RETRIES)
        self._http = httpx.Client(base_url=url, headers=headers(token), transport=transport)

    def decide(
        self,
        *,
        actions: Rows | None = None,
        context: Numbers | None = None,
        user: int | None = None,
        items: Rows | None = None,
    ) -> Decision:
        """Ask for a decision. What is to be given depends on the system.

        Parameters
        ----------
        actions : (K, d) numbers
            The context of every action, where all share a model.
        context : (d,) numbers
            One context, where each action has a model of its own.
        user : int
            Who has come, with:
        items : (K, d) numbers
            the items to choose from.
        """
        decided: Decision = self._call(Calls.decide(actions, context, user, items))
        return decided

    def reward(self, decision: Decision | str, reward: Any = None, **more: Any) -> None:
        """Tell what a decision has earned, or whatever else the system is to be told."""
        self._call(Calls.reward(decision, reward, more))

    def next_pull(self, wait: float = 30.0) -> str | None:
        """The pull that is due; None if none is after so many seconds, 60 at most."""
        found = self._call(Calls.next_pull(wait))
        return None if found is None else found["pull_id"]

    def pull(self, pull: str, reward: int) -> None:
        """Tell what a pull gave, 0 or 1."""
        self._call(Calls.pull(pull, reward))

    def order(self) -> dict[str, Any]:
        """Order the run that the terms describe; return the party's status."""
        status: dict[str, Any] = self._call(Calls.order())
        return status

    def privacy(self) -> dict[str, Any]:
        """What is claimed, what is spent, what is left."""
        told: dict[str, Any] = self._call(Calls.privacy())
        return told

    def status(self) -> dict[str, Any]:
        """Where the party stands."""
        told: dict[str, Any] = self._call(Calls.status())
        return told

    def close(self) -> None:
        """Close connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _call(self, call: Call) -> Any:
        try:
            response = self._http.request(call.method, call.path, **sent(call, self._timeout))
        except httpx.TransportError as error:
            raise unreachable(error) from error
        return read(call, response)
