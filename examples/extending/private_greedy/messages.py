"""What travels, and who sends what to whom."""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable


class _Numbers(Message, frozen=True, kw_only=True):
    """Packed numbers, and which release or sum they are."""

    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class Upload(_Numbers, frozen=True, kw_only=True, tag="private-greedy.upload"):
    """An agent's k-th release: its counts and sums so far, with noise."""


class Shared(_Numbers, frozen=True, kw_only=True, tag="private-greedy.shared"):
    """The k-th sum of every agent's newest release."""


#: Who sends what to whom.
TABLE: MessageTable = {Upload: ("agent", "adder"), Shared: ("adder", "agent")}
