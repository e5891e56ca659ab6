"""What agents of a learner in plain Python and their controller send one another."""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable


class _Numbers(Message, frozen=True, kw_only=True):
    """Packed numbers, and which release they belong to."""

    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class AgentRelease(_Numbers, frozen=True, kw_only=True, tag="learner.release"):
    """An agent's k-th release."""


class Total(_Numbers, frozen=True, kw_only=True, tag="learner.total"):
    """The k-th sum of every agent's newest release.

    Parameters
    ----------
    newest
        The number of every agent's release in it, 0 for none; empty where all are the k-th.
    """

    newest: tuple[int, ...] = ()


#: Who sends what to whom.
TABLE: MessageTable = {AgentRelease: ("agent", "controller"), Total: ("controller", "agent")}
