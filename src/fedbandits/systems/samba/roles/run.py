"""A party's part in a run: how it begins, and how it ends where it cannot go on.

A party that waits in vain gives up at its deadline and says so to the Controller. The Controller
ends the run for all, with one reason: its word is the last, whatever somebody had thought before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from fedbandits.errors import LocalProtocolError, RemoteProtocolError
from fedbandits.federation.events import Deadline, EndRound, Event
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Handled, PartyState, Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.messages import SILENT_MEMBERS, Beginning, End, Ending, GaveUp, Reason
from fedbandits.systems.samba.plan import Agreement, Ordered, SambaPlan, accept


class RunEndedError(RemoteProtocolError):
    """A message of a run that has ended before it was done."""


class RunState(PartyState, frozen=True, kw_only=True):
    """State that every party of a run keeps."""

    stage: str = "idle"
    reason: Reason | None = None  # why the run has ended before it was done, if it has


class NamedRunState(RunState, frozen=True, kw_only=True):
    """State of a party that keeps the run's name."""

    run: bytes = b""  # the run's name; empty before it begins


AnyRun = TypeVar("AnyRun", bound=RunState)


class RunParty(Party[AnyRun]):
    """A party of a run, which may end before it is done.

    Parameters
    ----------
    seat
        The public facts of the party.
    plan
        The plan of all parties.
    supply
        The party's own secrets and keys.
    """

    #: The type of the party's state. Its defaults are the first state.
    STATE: ClassVar[type[Any]]
    #: Keys, lines and streams of the run, once its name is known.
    _tools: Any

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, self.STATE())
        self._seat, self._plan, self._config, self._supply = seat, plan, plan.config, supply

    @property
    def ended(self) -> Reason | None:
        """The reason for which the run has ended before it was done; None if it has not."""
        return self._state.reason

    @property
    def agreement(self) -> Agreement:
        """The agreement on the run, once its name is known."""
        agreed: Agreement = self._tools.agreed
        return agreed

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

    def _make_tools(self, run: bytes) -> Any:
        """Make the keys, lines and streams of the run of that name, if the party has any."""

    def _resume(self) -> None:
        """Make the tools again, after the state was loaded."""
        run = getattr(self._state, "run", b"")
        if run:
            self._tools = self._make_tools(run)

    def _check_turn(self, text: str, step: int, iteration: int) -> None:
        """Refuse a message of another turn, which the error describes by ``text``."""
        turn: Any = self._state
        if (step, iteration) != (turn.step, turn.iteration):
            raise OutOfOrderError(
                f"{self.name}: {text} step {step}.{iteration}, this is {turn.step}.{turn.iteration}"
            )

    def _check_beat(self, event: EndRound) -> None:
        """Refuse the end of a round other than :attr:`next_end`."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )

    def _ended(self, reason: Reason, *outgoing: Message) -> Step:
        return Step(self._after(stage="ended", reason=reason), outgoing)


class Member(RunParty[AnyRun]):
    """A party of a run that hears from the Controller alone."""

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._controller = seat.one("controller")

    def _compute(self, event: Any) -> Step:
        """Handle deadlines and the Controller's last word. A party handles all other events."""
        if isinstance(event, Deadline):
            return self._end_waiting(event)
        return self._ended(event.reason)  # the Controller's last word

    def _accepted(self, beginning: Beginning) -> Agreement:
        """Return the agreement on the run that begins, see :func:`.plan.accept`."""
        ordered = Ordered(beginning.budget, beginning.arms, beginning.algorithm)
        return accept(self.name, self._plan, ordered, beginning.run)

    def _begun(self, after: AnyRun, tools: Any, outgoing: Sequence[Message] = ()) -> Step:
        """Begin the run; the tools are kept once everything is known to be right."""

        def keep() -> Sequence[Message]:
            self._tools = tools
            return ()

        return Step(after, outgoing, write=keep)

    def _end_waiting(self, event: Deadline) -> Step:
        """Give up, if the party still awaits the same message."""
        if event.number != self.awaited:
            return Step(self._state)
        return self._give_up(Reason.CONTROLLER)

    def _give_up(self, reason: Reason) -> Step:
        message = GaveUp(sender=self.name, receiver=self._controller, reason=reason)
        return self._ended(reason, message)


def endings(waiting: str, *others: str) -> Transitions:
    """Return the transitions by which a member's run ends before it is done.

    A member waits for the Controller in stage ``waiting``; in the ``others`` it does not, but can
    be told that the run ends.
    """
    ends: Transitions = {(stage, End): ("ended",) for stage in (waiting, *others, "ended")}
    return {(waiting, Deadline): (waiting, "ended"), **ends}


def given_up(awaited: Iterable[str], *others: str) -> Transitions:
    """Return the transitions by which the Controller's run ends before it is done.

    It waits for others in the stages ``awaited``; in the ``others`` it does not, but somebody may
    give up. Before an order, and when the total has left, that is for the customer alone to say.
    """
    return {
        **{(stage, Deadline): (stage, "ended") for stage in awaited},
        **{(stage, GaveUp): ("ended",) for stage in (*awaited, *others, "idle", "done", "ended")},
    }


def last_words(seat: Seat, reason: Reason) -> list[Message]:
    """Make the messages by which the Controller, which sits there, ends the run for all others."""
    return [
        End(sender=seat.name, receiver=name, reason=reason)
        for role in SILENT_MEMBERS
        if role in seat.terms.parties
        for name in seat.names(role)
    ]
