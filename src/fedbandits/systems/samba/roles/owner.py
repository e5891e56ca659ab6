"""A data owner, however scores are compared: when a pull is due, and when the round is over."""

from __future__ import annotations

from typing import Any, TypeVar

from fedbandits.crypto.aead import Turn
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, EndRound, Observe
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.keys import owner_key
from fedbandits.systems.samba.messages import Answer, Bit, Setup, SilentSetup
from fedbandits.systems.samba.plan import Agreement, SambaPlan
from fedbandits.systems.samba.roles.run import Member, RunState
from fedbandits.systems.samba.streams import Exploration, position


class BaseOwnerState(RunState, frozen=True, kw_only=True):
    """State of a data owner: where it stands, and what it knows of its arm.

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


AnyOwner = TypeVar("AnyOwner", bound=BaseOwnerState)


class OwnerTools:
    """Draws of an owner in one run, which follow from its secrets."""

    def __init__(self, supply: Supply, agreed: Agreement, exploration: bytes) -> None:
        self.agreed = agreed
        self._draws = owner_key(supply.draws, agreed.run)
        self._exploration = Exploration(exploration, agreed)

    def explores(self, step: int) -> bool:
        """Tell whether a step explores, which all owners know."""
        return self._exploration.explores(step)

    def remembered(self, iteration: int, chosen: bool, memory: float) -> float:
        """Return what the owner's rule keeps after a bit."""
        raise NotImplementedError


class BaseOwner(Member[AnyOwner], ActingParty[AnyOwner]):
    """Has one arm, and pulls it when it is told to.

    The only decision is to pull, in the round that :attr:`round_to_act` names; the outcome is the
    reward, 0 or 1. After a pull nobody answers before the round's end (:meth:`end_round`), neither
    who pulled nor the others: whoever calls it does so on a beat that is the same for all owners
    and lasts at least as long as the longest pull. Otherwise the late answer would name the arm.
    """

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply, state: AnyOwner) -> None:
        super().__init__(seat, plan, state)
        self._index, self._config, self._supply = seat.place, plan.config, supply

    def _sum(self) -> Message:
        """Make the message that tells the sum of its rewards."""
        raise NotImplementedError

    def _begin_step(self, after: AnyOwner) -> Step:
        """Answer for the next step, in the state that is to be: the beat has come."""
        raise NotImplementedError

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
        """The turn whose bit has not come yet, as a number."""
        state = self._state
        if state.stage != "waiting":
            return super().awaited
        return position(state.step, state.iteration, self._plan.iterations)

    @property
    def decisions_made(self) -> int:
        return self._state.pulls

    @property
    def open_decisions(self) -> None:
        """The decisions that are open: there are none, as it pulls when a message says so."""

    def _compute(self, event: Any) -> Step:
        match event:
            case EndRound():
                return self._end_round(event)
            case Decide():
                # It may be asked again, or not at all: there is nothing else to decide.
                return Step(self._state, answer=Decision(self._state.pulls + 1, True))
            case Observe():
                return self._observe(event)
            case _:
                return super()._compute(event)

    def _placed(self, told: Setup | SilentSetup) -> Agreement:
        """Return the agreement on a run that begins, once the owner's place is checked."""
        agreed = self._accepted(told)
        agreed.check_place(self.name, told.place)
        return agreed

    def _check_bit(self, message: Bit | Answer) -> Turn:
        """Check that a bit is of the turn that it must be of, and return that turn."""
        turn = (self._state.step, self._state.iteration)
        if (message.step, message.iteration) != turn:
            raise OutOfOrderError(
                f"{self.name}: bit of step {message.step}.{message.iteration}, "
                f"this is {turn[0]}.{turn[1]}"
            )
        self.agreement.check_place(self.name, message.place)
        return turn

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
        """Answer for the next step at the beat, or tell the sum after the last one."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )
        if self._state.step > self.agreement.budget:
            return Step(self._after(stage="done"), [self._sum()])
        return self._begin_step(self._after(stage="waiting"))

    def _take_bit(self, chosen: bool, place: int, **changes: Any) -> AnyOwner:
        """Return the state after a bit: it waits for the next turn, pulls, or rests."""
        state = self._state
        memory = self._tools.remembered(state.iteration, chosen, state.memory)
        stage, turn = "resting", (state.step + 1, 1)
        if state.iteration < self.agreement.iterations:  # nobody pulls yet: all answer at once
            stage, turn = "waiting", (state.step, state.iteration + 1)
        elif chosen:
            stage, turn = "pulling", (state.step, state.iteration)
        return self._after(
            stage=stage, step=turn[0], iteration=turn[1], memory=memory, place=place, **changes
        )
