"""A data owner as far as pulls go: when one is due, what came of it, and when the round is over."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from fedbandits.crypto.aead import Turn
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, EndRound, Observe
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.ending import RunState
from fedbandits.systems.samba.roles.member import Beginning, Member
from fedbandits.systems.samba.streams import position


class PullingState(RunState, frozen=True, kw_only=True):
    """Where a data owner stands, and what it knows of its arm.

    Parameters
    ----------
    step
        The pull that is being decided on; the first own pull is not decided on.
    iteration
        The iteration of that step.
    place
        Its place in the order of the next turn.
    pulls, rewards
        How often it has pulled, and the sum of what came of it.
    memory
        What its rule keeps beside these.
    """

    step: int = 0
    iteration: int = 1
    place: int = 0
    pulls: int = 0
    rewards: int = 0
    memory: float = 0.0


AnyPulling = TypeVar("AnyPulling", bound=PullingState)


class PlacedBeginning(Beginning, Protocol):
    """A message that begins a run, and says which place the owner has in its first turn."""

    @property
    def place(self) -> int: ...


class BitOfTurn(Protocol):
    """A message that says whether the owner was chosen, and its place in the next turn."""

    @property
    def step(self) -> int: ...

    @property
    def iteration(self) -> int: ...

    @property
    def place(self) -> int: ...


class PullingOwner(Member[AnyPulling], ActingParty[AnyPulling]):
    """Has one arm, and pulls it when it is told to.

    The only decision is to pull, in the round that :attr:`round_to_act` names; the outcome is the
    reward, 0 or 1. After a pull nobody answers before the round's end (:meth:`end_round`), neither
    who pulled nor the others: whoever calls it does so on a beat that is the same for all owners
    and lasts at least as long as the longest pull. Otherwise the late answer would name the arm.

    Parameters
    ----------
    seat
        What it is told of all that is public; its place says which arm it has.
    plan
        What all parties go by.
    state
        The state to begin in.
    """

    def __init__(self, seat: Seat, plan: SambaPlan, state: AnyPulling) -> None:
        super().__init__(seat, plan, state)
        self._index, self._config = seat.place, plan.config

    def _sum(self) -> Message:
        """What tells the sum of its rewards."""
        raise NotImplementedError

    def _begin_step(self, after: AnyPulling) -> Step:
        """The beat has come: answer for the next step, in the state that is to be."""
        raise NotImplementedError

    @property
    def _agreed(self) -> Agreement:
        """What the run is about, once it has begun."""
        agreed: Agreement = self._tools.agreed
        return agreed

    @property
    def round_to_act(self) -> int | None:
        """The round of the pull that is due, if one is: before the first bit it has its own."""
        state = self._state
        if state.stage != "pulling":
            return None
        return self._index + 1 if state.pulls == 0 else state.step

    @property
    def next_end(self) -> int | None:
        """The round whose end is waited for, once its pull is over; None while it is not."""
        return self._state.step - 1 if self._state.stage == "resting" else None

    @property
    def awaited(self) -> int | None:
        """The turn whose bit has not come yet."""
        state = self._state
        if state.stage != "waiting":
            return super().awaited
        return position(state.step, state.iteration, self._plan.iterations)

    @property
    def decisions_made(self) -> int:
        return self._state.pulls

    @property
    def open_decisions(self) -> None:
        """None: it pulls when a message says so, and nobody asks it for decisions."""

    def _compute(self, event: Any) -> Step:
        match event:
            case EndRound():
                return self._end_round(event)
            case Decide():
                return self._decide()
            case Observe():
                return self._observe(event)
            case _:
                return super()._compute(event)

    def _placed(self, told: PlacedBeginning) -> Agreement:
        """The agreement on the run that begins, in which the owner has been given a place."""
        agreed = self._accepted(told)
        agreed.check_place(self.name, told.place)
        return agreed

    def _check_bit(self, message: BitOfTurn) -> Turn:
        """The turn that a bit must be of, if it is."""
        turn = (self._state.step, self._state.iteration)
        if (message.step, message.iteration) != turn:
            raise OutOfOrderError(
                f"{self.name}: bit of step {message.step}.{message.iteration}, "
                f"this is {turn[0]}.{turn[1]}"
            )
        self._agreed.check_place(self.name, message.place)
        return turn

    def _decide(self) -> Step:
        """It may be asked again, or not at all: there is nothing else to decide."""
        return Step(self._state, answer=Decision(self._state.pulls + 1, True))

    def _observe(self, event: Observe) -> Step:
        """Take the reward of the pull that is due."""
        state = self._state
        if event.decision != Decision(state.pulls + 1, True):
            raise LocalProtocolError(
                f"{self.name}: pull {state.pulls + 1} is due, not {event.decision}"
            )
        if event.outcome not in (0, 1):
            raise BoundExceededError(f"{self.name}: a reward must be 0 or 1")
        after = self._after(
            stage="resting", step=state.step + 1, iteration=1, pulls=state.pulls + 1,
            rewards=state.rewards + int(event.outcome),
        )  # fmt: skip
        return Step(after)

    def _end_round(self, event: EndRound) -> Step:
        """The beat: answer for the next step, or tell the sum after the last one."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )
        if self._state.step > self._agreed.budget:
            return Step(self._after(stage="done"), [self._sum()])
        return self._begin_step(self._after(stage="waiting"))

    def _following(self, chosen: bool) -> tuple[str, Turn]:
        """The stage and the turn after a bit."""
        step, iteration = self._state.step, self._state.iteration
        if iteration < self._agreed.iterations:  # nobody pulls yet: all answer at once
            return "waiting", (step, iteration + 1)
        return ("pulling", (step, iteration)) if chosen else ("resting", (step + 1, 1))
