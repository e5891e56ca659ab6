"""Rows of a party's store, and the file beside it that says what has left the party.

A backup of the store does not take that file back. The file is written after a commit, and before
anything of it is sent. So a store may know of more than its file, after a crash, and never of less.
A store that does was put back from a backup.
"""

from __future__ import annotations

import pathlib
from typing import NamedTuple

import msgspec

from fedbandits._schema import prepared
from fedbandits.deployment.identity.private_files import write_private
from fedbandits.errors import StoreError

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


#: By peer how many messages there were, and the mark of these; see :func:`.frames.extended`.
Marks = dict[str, tuple[int, bytes]]


class Left(msgspec.Struct, frozen=True):
    """All that has left a party: μ of what it was charged for, and the marks of its messages."""

    spent: float
    marks: Marks


class LeftFile:
    """The file of what has left. With ``restores`` a store may be older, and pays for it."""

    def __init__(self, path: pathlib.Path, restores: bool = False) -> None:
        self.path, self.restores = path, restores

    def read(self) -> Left | None:
        """Read what has left; None if that is not known: the file is missing, or damaged."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=prepared(Left))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def write(self, left: Left) -> None:
        """Write down, on the disk, what leaves now; raises StoreError if that fails."""
        write_private(self.path, msgspec.json.encode(left), replace=True, kind=StoreError)
