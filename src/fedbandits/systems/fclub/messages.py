"""What servers and the global one send one another."""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable


class Release(Message, frozen=True, kw_only=True, tag="fclub.release"):
    """What a server releases at a phase's end: noisy sums, one a row."""

    release: int
    sums: bytes

    @property
    def payload_size(self) -> int:
        return len(self.sums)


class Others(Message, frozen=True, kw_only=True, tag="fclub.others"):
    """What all other servers released, in their order, with the number of rows of each.

    Parameters
    ----------
    release
        Counts what is handed out.
    rows
        Rows of each of the others; 0 of one that has released nothing, or nothing new where sums
        of phases are released.
    sums
        All rows.
    newest
        The number of the newest release of each of the others, 0 where there is none; empty where
        all are the present one.
    """

    release: int
    rows: tuple[int, ...]
    sums: bytes
    newest: tuple[int, ...] = ()

    @property
    def payload_size(self) -> int:
        return len(self.sums)


#: Who sends what to whom.
TABLE: MessageTable = {Release: ("server", "global"), Others: ("global", "server")}
