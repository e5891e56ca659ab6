"""The hub of a federation: it gathers numbered contributions of its members, and hands them out.

A hand-out contains every member's newest contribution. It is made once all members have contributed
anew, or at a deadline, if some have. No party waits for another: a member may be ahead of a hub
that was away, and a late contribution is in a later hand-out.

A system declares the gathered messages in a :class:`Gathering`. Its subclass of :class:`Hub`
defines the kept part of a contribution, and the hand-out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.events import Deadline, Event
from fedbandits.federation.messages import Message, OutOfOrderError, pack, unpack
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions

#: The only stage of a hub.
SERVING = "serving"


class Gathering(NamedTuple):
    """Declaration of the messages that a hub gathers, and of their numbers.

    Parameters
    ----------
    role
        Role of the members.
    contribution
        Type of a member's contribution.
    number
        Name of the field with a contribution's number.
    first
        Number of a member's first contribution.
    in_step
        Whether all contributions of a hand-out before its deadline have the same number.
    call
        Type of the message by which the hub calls its members to contribute, once a member has
        asked for a hand-out. None where members contribute on a clock.
    """

    role: str
    contribution: type[Any]
    number: str = "release"
    first: int = 1
    in_step: bool = False
    call: type[Any] | None = None


class Contribution(Message, frozen=True, kw_only=True):
    """Packed numbers of a member, and the number of the release that they belong to."""

    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class HandedSum(Contribution, frozen=True, kw_only=True):
    """The k-th sum of every member's newest contribution.

    Parameters
    ----------
    newest
        The number of every member's contribution in the sum, in order, 0 for a member without one;
        empty if the sum has every member's k-th contribution.
    """

    newest: tuple[int, ...] = ()


class HubState(PartyState, frozen=True, kw_only=True):
    """The changing state of a hub.

    Parameters
    ----------
    releases
        Number of hand-outs so far.
    called
        The number of the newest hand-out that members were called to contribute to.
    newest, included : (members,) int64
        The number of every member's newest contribution, and of its contribution in the last
        hand-out; ``first - 1`` for a member without a contribution.
    kept : arrays of float64, one for each member
        Kept numbers of the members' contributions.
    """

    stage: str = SERVING
    releases: int = 0
    called: int = 0
    newest: Ints
    included: Ints
    kept: tuple[Floats, ...]


AnyHub = TypeVar("AnyHub", bound=HubState)


class Hub(Party[AnyHub]):
    """A party that gathers its members' contributions and hands them out, in the members' order.

    Parameters
    ----------
    seat
        The public facts of the party.
    state
        The initial state; see :meth:`first_state`.
    most
        The largest number of a contribution.
    """

    #: The messages that the hub gathers.
    GATHERING: ClassVar[Gathering]

    def __init__(self, seat: Seat, state: AnyHub, most: int) -> None:
        super().__init__(seat, state)
        self._members = seat.names(self.GATHERING.role)
        self._place = {name: place for place, name in enumerate(self._members)}
        self._most = most

    @classmethod
    def first_state(cls, empty: Sequence[Floats]) -> dict[str, Any]:
        """Return the fields of the state before any contribution.

        ``empty`` has the initial kept numbers of each member.
        """
        none = np.full(len(empty), cls.GATHERING.first - 1, np.int64)
        return {"newest": none, "included": none, "kept": tuple(empty)}

    def _keep(self, place: int, message: Any) -> dict[str, Any]:
        """Return the fields of the state that the contribution of a member changes.

        Raises
        ------
        RemoteProtocolError
            If no honest member sends this message.
        """
        raise NotImplementedError

    def _hand_out(self, state: AnyHub) -> Step:
        """Return the state after a hand-out, and its messages."""
        raise NotImplementedError

    @property
    def awaited(self) -> int | None:
        """The hand-out to which some members have contributed, or were called."""
        state = self._state
        begun = state.called > state.releases or (state.newest > state.included).any()
        return state.releases + 1 if begun else super().awaited

    def _compute(self, event: Event | Message) -> Step:
        if isinstance(event, Deadline):
            return self._end_waiting(event)
        if isinstance(event, self.GATHERING.contribution):
            return self._collect(event)
        return self._answer(event)

    def _answer(self, event: Event | Message) -> Step:
        """Handle an event that is neither a contribution nor a deadline; a hub has none."""
        raise OutOfOrderError(f"{self.name}: a hub handles no {type(event).__name__}")

    def _collect(self, message: Any) -> Step:
        """Keep a contribution; hand out once all members have contributed anew."""
        state, gathering, place = self._state, self.GATHERING, self._place[message.sender]
        number = getattr(message, gathering.number)
        # A member may be ahead of a hub that was away.
        if not state.newest[place] < number <= self._most:
            raise OutOfOrderError(
                f"{self.name}: {gathering.number} {number} from {message.sender}, expected "
                f"{state.newest[place] + 1} to {self._most}"
            )
        changes = self._keep(place, message)
        newest = state.newest.copy()
        newest[place] = number
        after = self._after(newest=newest, **changes)
        complete = (newest > state.included).all()
        if gathering.in_step:
            complete = complete and (newest == number).all()
        return self._hand_out(after) if complete else Step(after)

    def _end_waiting(self, event: Deadline) -> Step:
        """Hand out the newest contributions, if some are new."""
        state = self._state
        if event.number != self.awaited:
            return Step(state)
        if not (
            state.newest > state.included
        ).any():  # no member has received the call, or all contributions are lost
            return Step(self._after(called=min(state.called, state.releases)))
        return self._hand_out(state)

    def _call(self, request: Any) -> Step:
        """Call all members once for the next hand-out, for any number of requests."""
        state, call = self._state, self.GATHERING.call
        # Each hand-out has a new contribution of some member.
        most = self._most * len(self._members)
        if call is None or not 1 <= request.release <= min(state.releases + 1, most):
            raise OutOfOrderError(
                f"{self.name}: {request.sender} asks for sum {request.release} after "
                f"{state.releases} of {most}"
            )
        if request.release <= max(state.releases, state.called):
            return Step(state)
        calls = [
            call(sender=self.name, receiver=member, release=request.release)
            for member in self._members
        ]
        return Step(self._after(called=request.release), calls)


class SummingHub(Hub[HubState]):
    """A hub that hands out the sum of every member's newest contribution, to all members alike.

    Contributions have packed numbers, ``statistic``, as many as the sum. The hand-out names the
    numbers of its contributions, unless all have its number.
    """

    #: Type of the message with the sum.
    TOTAL: ClassVar[type[Any]]

    def __init__(self, seat: Seat, size: int, most: int) -> None:
        empty = [np.zeros(size)] * len(seat.names(self.GATHERING.role))
        super().__init__(seat, HubState(**self.first_state(empty)), most)
        self._size = size

    def _check(self, values: Floats, place: int, number: int) -> None:
        """Refuse values (size,) that an honest member's contribution ``number`` cannot have."""
        raise NotImplementedError

    def _keep(self, place: int, message: Any) -> dict[str, Any]:
        values = unpack(message.statistic, self._size)
        self._check(values, place, message.release)
        return {"kept": with_value(self._state.kept, place, values)}

    def _hand_out(self, state: HubState) -> Step:
        number, total = state.releases + 1, np.zeros(self._size)
        for values in state.kept:  # in order, so that every run adds alike
            total += values
        statistic, newest = pack(total), numbers_in(state, number)
        after = msgspec.structs.replace(state, releases=number, included=state.newest)
        totals = [
            self.TOTAL(
                sender=self.name, receiver=member, release=number, statistic=statistic,
                newest=newest,
            )
            for member in self._members
        ]  # fmt: skip
        return Step(after, totals)


def serving(*kinds: type[Event | Message]) -> Transitions:
    """Return the transitions of a hub that handles these kinds of events in its only stage."""
    return {(SERVING, kind): (SERVING,) for kind in kinds}


def numbers_in(state: HubState, number: int) -> tuple[int, ...]:
    """Return the number of every member's newest contribution; empty if all are ``number``."""
    return () if (state.newest == number).all() else tuple(state.newest.tolist())


def with_value(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    """Return one value for each member, with one member's value replaced."""
    return (*values[:place], value, *values[place + 1 :])
