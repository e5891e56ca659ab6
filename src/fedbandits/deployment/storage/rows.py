"""Rows of a party's store: events, messages, decisions, and what is saved of a state."""

from __future__ import annotations

from typing import NamedTuple

#: Format of the tables; a store of another one is refused.
SCHEMA = 2


class Entry(NamedTuple):
    """One event in the journal."""

    event: int
    kind: int
    body: bytes


class Header(NamedTuple):
    """A note of a message, without its content."""

    at: float
    way: str  # "sent" or "seen"
    peer: str
    type: str
    number: int
    size: int
    outcome: str


class Sent(NamedTuple):
    """A message in the outbox: for which peer, its number, its bytes."""

    peer: str
    number: int
    body: bytes


class Opened(NamedTuple):
    """An open decision; what names its request, and what that was answered, if it had a key."""

    number: int
    request: bytes | None = None
    answer: bytes | None = None


class Saved(NamedTuple):
    """The newest saved state of a party, and the events since.

    ``event`` is the last one that is in the state. ``body`` is None for a party that has just
    begun.
    """

    event: int
    body: bytes | None
    journal: list[Entry]
