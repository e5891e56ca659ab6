"""A file of what has left a party, beside its store: a backup of the store does not take it back.

The file is written after a commit, and before anything of it is sent. So a store may know of more
than its file, after a crash, and never of less. A store that does was put back from a backup.
"""

from __future__ import annotations

import pathlib

import msgspec

from fedbandits._schema import prepared
from fedbandits.deployment.identity.private_files import write_private
from fedbandits.errors import StoreError

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
