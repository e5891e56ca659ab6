"""What buyers send one another."""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable


class Report(Message, frozen=True, kw_only=True, tag="pfcb.report"):
    """A buyer's z-th report to another: noisy units bought and found good, by producer."""

    release: int
    round: int
    sums: bytes  # (2, m)

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.sums)


#: Who sends what to whom.
TABLE: MessageTable = {Report: ("buyer", "buyer")}
