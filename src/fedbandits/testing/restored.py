"""Parties that are killed at every event, and restored from their saved state.

A party is saved before each event. After the event the party is dropped. A new party is made, as a
restarted process does, loads the saved state, and takes the event again. The new party must give
the same answer and reach the same state, bit for bit, and then goes on.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fedbandits.federation.party import Party

_EVENTS = (
    "start",
    "decide",
    "observe",
    "let_go",
    "end_round",
    "deadline",
    "receive",
    "receive_bytes",
)


class MortalParty:
    """Stand-in for a party that is killed and restored at every event.

    ``make`` makes the party anew, as a restarted process does. ``events`` counts events by role and
    kind.
    """

    def __init__(self, make: Callable[[], Party[Any]], events: Counter[str]) -> None:
        self._make, self._events = make, events
        self._party = make()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._party, name)
        if name not in _EVENTS:
            return value
        return lambda *arguments: self._survive(name, arguments)

    def _survive(self, event: str, arguments: tuple[Any, ...]) -> Any:
        party, saved, number = self._party, self._party.dump(), self._events.total()
        with repeated_secrets(number):
            first = getattr(party, event)(*arguments)
        reached = party.dump()
        restored = self._make()
        restored.load(saved)
        assert restored.dump() == saved, f"{party.name} is not restored as it was saved"
        with repeated_secrets(number):
            second = getattr(restored, event)(*arguments)
        assert alike(first, second), f"{party.name} answers {event} otherwise after a restart"
        assert restored.dump() == reached, f"{party.name} is elsewhere after {event} and a restart"
        self._party = restored
        self._events[f"{type(party).__name__}.{event}"] += 1
        return second


def alike(first: Any, second: Any) -> bool:
    """Tell whether two answers of a party are equal, arrays included."""
    if isinstance(first, np.ndarray):
        return bool(np.array_equal(first, second))
    return repr(first) == repr(second)


@contextmanager
def repeated_secrets(number: int) -> Iterator[None]:
    """Replace the operating system's random bytes by bytes that follow from ``number``."""
    drawn = 0

    def token_bytes(count: int | None = None) -> bytes:
        nonlocal drawn
        drawn += 1
        name = f"{number} {drawn}".encode()
        return hashlib.shake_256(name).digest(32 if count is None else count)

    def randbelow(limit: int) -> int:
        return int.from_bytes(token_bytes((limit.bit_length() + 71) // 8), "big") % limit

    kept = secrets.token_bytes, secrets.randbelow
    secrets.token_bytes, secrets.randbelow = token_bytes, randbelow  # type: ignore[assignment]
    try:
        yield
    finally:
        secrets.token_bytes, secrets.randbelow = kept
