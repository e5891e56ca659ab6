"""What peers send one another."""

from __future__ import annotations

from fedbandits.federation.messages import Codec, Message


class Flooded(Message, frozen=True, kw_only=True):
    """What an agent made at the end of a round, and how many hops it has come."""

    origin: str
    round: int
    hops: int


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


CODEC = Codec(Call | Release)
