"""Messages of peers."""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable


class Flooded(Message, frozen=True, kw_only=True):
    """A message that an agent made at the end of a round, and how many hops it has come."""

    origin: str
    round: int
    hops: int

    @property
    def heard(self) -> int:
        """The round at whose end it arrives."""
        return self.round + self.hops - 1


class Call(Flooded, frozen=True, kw_only=True, tag="feducb-p2p.call"):
    """An agent's trigger has fired (as published only); it tells of raw data."""


class Release(Flooded, frozen=True, kw_only=True, tag="feducb-p2p.release"):
    """An agent's k-th release of an estimator: the noisy sum of all records that it was used in."""

    estimator: int
    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


#: Who sends what to whom.
TABLE: MessageTable = {Call: ("agent", "agent"), Release: ("agent", "agent")}
