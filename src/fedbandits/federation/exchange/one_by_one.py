"""The exchange one by one: a server adds up the members' sums, and answers each member alone.

Nobody waits for anybody. Sums are in clear. Messages may get lost: a member keeps its upload until
an answer comes. A member that goes on without an answer uploads those records again, with newer
ones, and the server puts the sum in the place of the former one. So every record counts once.

A system declares the types of its two messages, with tags of its own, in a subclass of
:class:`CountingServer`, which also holds sums to the terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message, OutOfOrderError, pack, unpack
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step


class Exchanged(Message, frozen=True, kw_only=True):
    """A packed sum of records in clear, and the number of the member's exchange."""

    exchange: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class UploadedAgain(Exchanged, frozen=True, kw_only=True):
    """The sum of a member's records since its last exchange that was answered.

    Parameters
    ----------
    since
        The number of that exchange. The sums of later exchanges are in this sum again.
    """

    since: int


class CountingState(PartyState, frozen=True, kw_only=True):
    """All that changes in a server that adds up one by one.

    Parameters
    ----------
    total : (size,) float64
        The sum of all records that count.
    sums : (members, size) float64
        The part of the total that each member has uploaded.
    unanswered : (members, size) float64
        The part of each member since its last exchange that it knows to be answered.
    exchanges, since : (members,) int64
        The number of every member's last exchange, and of the exchange before ``unanswered``.
    """

    stage: str = "serving"
    total: Floats
    sums: Floats
    unanswered: Floats
    exchanges: Ints
    since: Ints


class CountingServer(Party[CountingState]):
    """A server that adds up uploads one by one, and answers each member with the sum so far.

    Parameters
    ----------
    seat
        The public facts of the party.
    size
        Count of numbers in a sum.
    most
        The largest number of an exchange.
    """

    #: Role of the members, and type of the answers.
    ROLE: ClassVar[str] = "agent"
    DOWNLOAD: ClassVar[type[Any]]

    def __init__(self, seat: Seat, size: int, most: int) -> None:
        members = seat.names(self.ROLE)
        state = CountingState(
            total=np.zeros(size),
            sums=np.zeros((len(members), size)),
            unanswered=np.zeros((len(members), size)),
            exchanges=np.zeros(len(members), np.int64),
            since=np.zeros(len(members), np.int64),
        )
        super().__init__(seat, state)
        self._place, self._most = {name: i for i, name in enumerate(members)}, most

    def _check(self, own: Floats, place: int) -> None:
        """Refuse a sum (size,) that no records of a member in a whole run come to."""
        raise NotImplementedError

    def _compute(self, event: Any) -> Step:
        """Count a member's upload, in place of the sums that the upload has again."""
        message: UploadedAgain = event
        state, place = self._state, self._place[message.sender]
        since = self._checked_numbers(message, place)
        values = unpack(message.statistic, state.total.size)
        own, total = state.sums[place] + values, state.total + values
        if message.since == since:  # sums of records are exact: a difference leaves nothing
            again = state.unanswered[place]
            own, total = own - again, total - again
        self._check(own, place)
        answer = self.DOWNLOAD(
            sender=self.name, receiver=message.sender, exchange=message.exchange,
            statistic=pack(total),
        )  # fmt: skip

        def keep() -> Sequence[Message]:
            state.sums[place], state.unanswered[place] = own, values
            state.exchanges[place], state.since[place] = message.exchange, message.since
            return ()

        return Step(self._after(total=total), [answer], write=keep)

    def _checked_numbers(self, message: UploadedAgain, place: int) -> int:
        """Return the last exchange that this server knows to be answered to the member."""
        state, most = self._state, self._most
        newest, since = int(state.exchanges[place]), int(state.since[place])
        if not newest < message.exchange <= most or message.since not in (since, newest):
            raise OutOfOrderError(
                f"{self.name}: exchange {message.exchange} of {message.sender} after "
                f"{message.since}, expected {newest + 1} to {most} after {since} or {newest}"
            )
        return since
