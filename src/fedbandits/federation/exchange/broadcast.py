"""The exchange by broadcast: every member sends each of its reports to all other members.

Exchanges are numbered, and their rounds are fixed in advance. Nobody waits for anybody: a member
takes the reports of an exchange together, once all reports have come, or at a deadline those that
have come. A member whose report is missing then is left out.

A broadcast has no state. The state of a member has a few fields for it: ``stage``, which is
``exchanging`` from the member's report until it has taken those of others; ``releases``, the number
of its reports; ``taken``, the last exchange that it has taken; ``inbox``, the reports of exchanges
that it has not taken yet, by exchange and member.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from fedbandits._typing import Floats
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import DuplicateError, OutOfOrderError

AnyMember = TypeVar("AnyMember")


class LateReportError(RemoteProtocolError):
    """A report of an exchange that is over."""


class Broadcast(Generic[AnyMember]):
    """Part of a member that hears the others, and takes their reports in the members' order.

    Parameters
    ----------
    name
        Name of the member, for errors.
    members
        Names of all members, in order.
    most
        Number of exchanges.
    round_of
        From the number of an exchange to the round at whose end it is.
    """

    def __init__(
        self, name: str, members: Sequence[str], most: int, round_of: Callable[[int], int]
    ) -> None:
        self.members = tuple(members)
        self._name, self._most, self._round_of = name, most, round_of
        self._place = {member: place for place, member in enumerate(members)}

    def _checked(self, message: Any) -> Floats:
        """Return the numbers of a report; refuse numbers that the terms do not allow its sender."""
        raise NotImplementedError

    def taken(self, state: AnyMember, through: int) -> AnyMember:
        """Return the state in which the reports of exchanges up to ``through`` are taken."""
        raise NotImplementedError

    def heard(self, state: AnyMember, message: Any) -> AnyMember:
        """Return the state with a report in its inbox; refuse a report that is not due.

        The reports of the present exchange are due, and of the next one: a member that has all
        reports of an exchange, or waits no longer for them, may be an exchange ahead.
        """
        member: Any = state
        number, present = message.release, member.releases + (member.stage == "ready")
        planned = 1 <= number <= self._most
        if not planned or message.round != self._round_of(number) or number > present + 1:
            raise OutOfOrderError(
                f"{self._name}: report {number} of round {message.round} from {message.sender}, "
                f"while exchange {present} of {self._most} is next"
            )
        if number < present:
            raise LateReportError(
                f"{self._name}: report {number} from {message.sender}, while exchange {present} "
                "is next"
            )
        reports = member.inbox.get(number, {})
        if message.sender in reports:
            raise DuplicateError(f"{self._name}: {message.sender} reported {number} already")
        inbox = {**member.inbox, number: {**reports, message.sender: self._checked(message)}}
        after: AnyMember = msgspec.structs.replace(member, inbox=inbox)
        return after

    def caught_up(self, state: AnyMember) -> AnyMember:
        """Take exchanges that are over; the present one too, if all reports have come."""
        member: Any = state
        exchanging = member.stage == "exchanging"
        all_heard = len(member.inbox.get(member.releases, {})) == len(self.members)
        return self.taken(state, member.releases - (exchanging and not all_heard))
