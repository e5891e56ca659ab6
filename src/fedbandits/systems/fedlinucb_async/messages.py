"""Messages of agents and the server."""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable


class _Statistic(Message, frozen=True, kw_only=True):
    """A packed sum of records in clear, and the number of the agent's exchange."""

    exchange: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class Upload(_Statistic, frozen=True, kw_only=True, tag="fedlinucb-async.upload"):
    """The sum of an agent's records since its last exchange that was answered.

    Parameters
    ----------
    since
        The number of that exchange. What later ones have brought is in this sum again.
    """

    since: int


class Download(_Statistic, frozen=True, kw_only=True, tag="fedlinucb-async.download"):
    """The sum of all that the server has received."""


#: Who sends what to whom.
TABLE: MessageTable = {Upload: ("agent", "server"), Download: ("server", "agent")}
