"""Messages between buyers."""

from __future__ import annotations

from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable


class LateReportError(RemoteProtocolError):
    """A report of an exchange that is over."""


class Report(Message, frozen=True, kw_only=True, tag="pfcb.report"):
    """A buyer's z-th report to another: noisy units bought and found good, by producer."""

    release: int  # z, which counts exchanges from 1
    round: int  # at its end the exchange is, by the schedule
    sums: bytes  # (2, m) packed numbers

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.sums)


#: Who sends what to whom.
TABLE: MessageTable = {Report: ("buyer", "buyer")}
