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
    """What all other servers released, in their order, with the number of rows of each."""

    release: int
    rows: tuple[int, ...]
    sums: bytes

    @property
    def payload_size(self) -> int:
        return len(self.sums)


#: Who sends what to whom.
TABLE: MessageTable = {Release: ("server", "global"), Others: ("global", "server")}
