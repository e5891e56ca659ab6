"""Parties that are killed at every event, and restored from what they had saved.

A party is saved before each event. After the event it is thrown away; a new one is made as a
restarted process would, loads what was saved and is given the event again. It must do the same and
come to the same state, bit for bit; it is the one that goes on.
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
    """Stands for a party in its place, and for the one that is restored after it.

    ``make`` makes the party anew, as a restarted process would. ``events`` counts events by role
    and kind.
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


def alike(one: Any, other: Any) -> bool:
    """Tell whether two answers of a party are the same, arrays included."""
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    return repr(one) == repr(other)


@contextmanager
def repeated_secrets(number: int) -> Iterator[None]:
    """Let the operating system's random bytes be the same each time for the same number."""
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
