"""A client of a party's door: decisions for an application, in Python.

>>> client = Client("http://127.0.0.1:8420", token)  # doctest: +SKIP
>>> decision = client.decide(actions=[[1.0, 0.0], [0.0, 1.0]])  # doctest: +SKIP
>>> client.reward(decision, 1.0)  # doctest: +SKIP
"""

from __future__ import annotations

from fedbandits.errors import MissingExtraError

try:
    import httpx as _  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "a client needs more libraries: install the extra 'federation' as docs/install.md says"
    ) from error

from fedbandits.client.calls import (
    Decision,
    DecisionUnknownError,
    DoorError,
    DuplicateError,
    InvalidRequestError,
    LateError,
    NotOfferedError,
    OutOfBoundsError,
    RefusedError,
    TokenError,
    UnavailableError,
    UnreachableError,
)
from fedbandits.client.clients import AsyncClient, Client

__all__ = [
    "AsyncClient",
    "Client",
    "Decision",
    "DecisionUnknownError",
    "DoorError",
    "DuplicateError",
    "InvalidRequestError",
    "LateError",
    "NotOfferedError",
    "OutOfBoundsError",
    "RefusedError",
    "TokenError",
    "UnavailableError",
    "UnreachableError",
]
