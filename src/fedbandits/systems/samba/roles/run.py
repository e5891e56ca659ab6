"""A party in a run: its protocol as a table, the beginning of the run, and an early end.

A party that waits in vain gives up at its deadline and tells the Controller. The Controller ends
the run for all parties, with one reason, which replaces the reason of any party that gave up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from fedbandits.errors import LocalProtocolError, RemoteProtocolError
from fedbandits.federation.events import Deadline, EndRound, Event
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Handled, PartyState, Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.messages import SILENT_MEMBERS, Beginning, End, Ending, GaveUp, Reason
from fedbandits.systems.samba.plan import Agreement, Ordered, SambaPlan, accept


class Rule(NamedTuple):
    """Rule for one event: the method that computes the step, and the legal changes of the stage.

    Parameters
    ----------
    method
        Name of the party's method.
    stages
        For every stage in which the event is legal, the next stages, separated by spaces.
    """

    method: str
    stages: Mapping[str, str]


#: The protocol of a party: a rule for every type of message and of local event.
Protocol = Mapping[type[Event | Message], Rule]


def transitions(protocol: Protocol) -> Transitions:
    """Return the table of transitions that a protocol allows."""
    return {
        (stage, event): tuple(following.split())
        for event, rule in protocol.items()
        for stage, following in rule.stages.items()
    }


class RunEndedError(RemoteProtocolError):
    """A message of a run that has ended early."""


class RunState(PartyState, frozen=True, kw_only=True):
    """State that every party of a run keeps."""

    stage: str = "idle"
    reason: Reason | None = None  # of an early end


class NamedRunState(RunState, frozen=True, kw_only=True):
    """State of a party that keeps the run's name."""

    run: bytes = b""  # the run's name; empty before it begins


AnyRun = TypeVar("AnyRun", bound=RunState)


class RunParty(Party[AnyRun]):
    """A party of a run, which may end early.

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
    #: The rules from which the table of transitions follows.
    PROTOCOL: ClassVar[Protocol]
    #: Keys, lines and streams of the run, once the run's name is known.
    _tools: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "PROTOCOL" in vars(cls):
            cls.TRANSITIONS = transitions(cls.PROTOCOL)

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, self.STATE())
        self._seat, self._plan, self._config, self._supply = seat, plan, plan.config, supply

    @property
    def ended(self) -> Reason | None:
        """The reason for which the run has ended early; None in all other cases."""
        return self._state.reason

    @property
    def agreement(self) -> Agreement:
        """The agreement on the run, once the run's name is known."""
        agreed: Agreement = self._tools.agreed
        return agreed

    def _compute(self, event: Any) -> Step:
        step: Step = getattr(self, self.PROTOCOL[type(event)].method)(event)
        return step

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
        """Make the keys, lines and streams of the run with this name, if the party has any."""

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
    """A party that takes part in the Controller's run."""

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._controller = seat.one("controller")

    def _hear_end(self, end: End) -> Step:
        return self._ended(end.reason)

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


class Leader(RunParty[AnyRun]):
    """The party of a run that waits for all others, and ends the run for all: the Controller."""

    #: Stages in which the Controller waits for others, and the reason for an end at the deadline.
    AWAITED: ClassVar[Mapping[str, Reason]]

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._customer = seat.one("customer")

    @property
    def _missing(self) -> Reason:
        """The reason for an end of the run at a deadline."""
        return self.AWAITED[self._state.stage]

    def _end_waiting(self, event: Deadline) -> Step:
        """End the run if a party has not answered."""
        due = event.number == self.awaited
        return self._end_for_all(self._missing) if due else Step(self._state)

    def _gave_up(self, word: GaveUp) -> Step:
        """End the run for the reason of the first party that gives up.

        A party that gives up later is told that reason once more: the first word may be lost.

        Raises
        ------
        OutOfOrderError
            If a party other than the customer gives up before the order, or after the total.
        """
        if self.stage in ("idle", "done") and word.sender != self._customer:
            raise OutOfOrderError(f"{self.name}: GaveUp from {word.sender} while {self.stage}")
        ended = self.ended
        if ended is None:
            return self._end_for_all(word.reason)
        return Step(self._state, [self._last_word(word.sender, ended)])

    def _end_for_all(self, reason: Reason) -> Step:
        roles = (role for role in SILENT_MEMBERS if role in self.terms.parties)
        names = (name for role in roles for name in self._seat.names(role))
        return self._ended(reason, *(self._last_word(name, reason) for name in names))

    def _last_word(self, name: str, reason: Reason) -> Message:
        return End(sender=self.name, receiver=name, reason=reason)


def endings(waiting: str, *others: str) -> Protocol:
    """Return the rules by which a member's run ends early.

    In the stage ``waiting`` the member waits for the Controller. In the ``others`` the member only
    hears that the run ends.
    """
    return {
        End: Rule("_hear_end", dict.fromkeys((waiting, *others, "ended"), "ended")),
        Deadline: Rule("_end_waiting", {waiting: f"{waiting} ended"}),
    }


def given_up(awaited: Iterable[str], *others: str) -> Protocol:
    """Return the rules by which the Controller's run ends early.

    In the stages ``awaited`` the Controller waits for other parties. In the ``others`` a party may
    give up. Before an order, and after the total has left, only the customer may give up.
    """
    stages = (*awaited, *others, "idle", "done", "ended")
    return {
        Deadline: Rule("_end_waiting", {stage: f"{stage} ended" for stage in awaited}),
        GaveUp: Rule("_gave_up", dict.fromkeys(stages, "ended")),
    }
