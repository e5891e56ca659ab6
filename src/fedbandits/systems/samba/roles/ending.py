"""How a run that cannot go on ends: everywhere, and for one reason.

Whoever waits for what does not come gives up at its deadline and says so to the Controller. The
Controller ends the run for all, with one reason: its word is the last, whatever somebody had
thought before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from fedbandits.errors import LocalProtocolError, RemoteProtocolError
from fedbandits.federation.events import Deadline, Event
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Handled, PartyState, Step, Transitions
from fedbandits.systems.samba.messages import (
    CompGaveUp,
    CustomerGaveUp,
    DealerGaveUp,
    EndForComp,
    EndForCustomer,
    EndForDealer,
    EndForOwner,
    Ending,
    OwnerGaveUp,
    Reason,
)

#: What the Controller hears from those who take no further part.
GAVE_UP = (CustomerGaveUp, CompGaveUp, OwnerGaveUp, DealerGaveUp)


class RunEndedError(RemoteProtocolError):
    """A message of a run that has ended before it was done."""


class RunState(PartyState, frozen=True, kw_only=True):
    """What every party of a run keeps.

    Parameters
    ----------
    reason
        Why the run has ended before it was done, if it has.
    """

    stage: str = "idle"
    reason: Reason | None = None


AnyRun = TypeVar("AnyRun", bound=RunState)


class RunParty(Party[AnyRun]):
    """A party of a run, which may end before it is done."""

    @property
    def ended(self) -> Reason | None:
        """Why the run has ended before it was done; None if it has not."""
        return self._state.reason

    def handle(self, event: Event) -> Handled:
        reason = self._state.reason
        if reason is not None and type(event) is not Deadline:
            raise LocalProtocolError(
                f"{self.name}: {type(event).__name__} is not possible, the run has ended: {reason}"
            )
        return super().handle(event)

    def _take(self, message: Message) -> list[Message] | None:
        reason = self._state.reason
        if reason is not None and not isinstance(message, Ending):
            raise RunEndedError(
                f"{self.name}: {type(message).__name__} from {message.sender}, but the run has "
                f"ended: {reason}"
            )
        return super()._take(message)

    def _ended(self, reason: Reason, *outgoing: Message) -> Step:
        return Step(self._after(stage="ended", reason=reason), outgoing)


def endings(end: type[Ending], waiting: str, *others: str) -> Transitions:
    """The transitions by which a member's run ends before it is done.

    Parameters
    ----------
    end
        The Controller's last word.
    waiting
        The stage in which it waits for the Controller.
    *others
        Stages in which it does not, but can be told.
    """
    told: Transitions = {(stage, end): ("ended",) for stage in (waiting, *others, "ended")}
    return {(waiting, Deadline): (waiting, "ended"), **told}


def given_up(awaited: Iterable[str], *others: str) -> Transitions:
    """The transitions by which the Controller's run ends before it is done.

    Parameters
    ----------
    awaited
        The stages in which it waits for others.
    *others
        Stages in which it does not, but others may give up.
    """
    return {
        **{(stage, Deadline): (stage, "ended") for stage in awaited},
        **{(stage, kind): ("ended",) for kind in GAVE_UP for stage in (*awaited, *others, "ended")},
        # Before an order, and when the total has left, it is for the customer alone to say.
        ("idle", CustomerGaveUp): ("ended",),
        ("done", CustomerGaveUp): ("ended",),
    }


def last_words(seat: Seat, reason: Reason) -> list[Message]:
    """What the Controller, which sits there, tells all others when it ends the run."""
    words: dict[str, type[Ending]] = {
        "customer": EndForCustomer, "comp": EndForComp, "owner": EndForOwner,
        "dealer": EndForDealer,
    }  # fmt: skip
    return [
        word(sender=seat.name, receiver=name, reason=reason)
        for role, word in words.items()
        if role in seat.terms.parties
        for name in seat.names(role)
    ]
