"""Messages of agents and their controller."""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable


class SyncRequest(Message, frozen=True, kw_only=True, tag="feducb.sync-request"):
    """An agent's trigger has fired (published schedule only); it tells of raw data."""

    release: int  # the release that is asked for


class SyncCall(Message, frozen=True, kw_only=True, tag="feducb.sync-call"):
    """The controller asks an agent to release, because some agent's trigger has fired."""

    release: int


class _Statistic(Message, frozen=True, kw_only=True):
    """A packed sum of records, and the number of the release that it belongs to."""

    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class Upload(_Statistic, frozen=True, kw_only=True, tag="feducb.upload"):
    """An agent's k-th release: the noisy sum of all its records."""


class Pooled(_Statistic, frozen=True, kw_only=True, tag="feducb.pooled"):
    """The k-th sum of releases, of every agent's newest.

    Parameters
    ----------
    newest
        The number of every agent's release in it, in order, 0 where there is none; empty where all
        are the k-th.
    """

    newest: tuple[int, ...] = ()


#: Who sends what to whom.
TABLE: MessageTable = {
    SyncRequest: ("agent", "controller"),
    SyncCall: ("controller", "agent"),
    Upload: ("agent", "controller"),
    Pooled: ("controller", "agent"),
}
