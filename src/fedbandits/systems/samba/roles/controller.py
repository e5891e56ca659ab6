"""A Controller, whatever it does in a turn: it names the run, counts turns, adds up, and ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import DuplicateError, Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import SumCipher
from fedbandits.systems.samba.messages import Ending, Order, Reason, Sum, Total
from fedbandits.systems.samba.plan import RUN_BYTES, Ordered, SambaPlan, accept
from fedbandits.systems.samba.roles.run import NamedRunState, RunParty, last_words


class ControllerState(NamedRunState, frozen=True, kw_only=True):
    """State that every Controller keeps.

    Parameters
    ----------
    public_key
        The customer's.
    step, iteration
        The turn that is under way; after the last step, sums are collected.
    collected
        What has come for it, by owner.
    """

    public_key: bytes = b""
    step: int = 0
    iteration: int = 1
    collected: dict[str, bytes] = msgspec.field(default_factory=dict)


AnyController = TypeVar("AnyController", bound=ControllerState)


class BaseController(RunParty[AnyController]):
    """A Controller, whatever it does in a turn.

    A party that does not answer until its deadline ends the run, for all.

    Raises
    ------
    ConfigError
        If there are fewer than two owners.
    LocalProtocolError
        If the run has no proper name.
    """

    #: Stages in which it waits for others, and why the run ends if they stay silent.
    AWAITED: ClassVar[Mapping[str, Reason]]

    _sums: SumCipher

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply, state: AnyController) -> None:
        super().__init__(seat, plan, state)
        self._seat, self._customer, self._comp = seat, seat.one("customer"), seat.one("comp")
        self._owners = seat.names("owner")
        if len(self._owners) < 2:
            raise ConfigError(f"{self.name}: needs at least 2 data owners, has {self._owners}")
        self._supply, self._run = supply, supply.run
        if len(self._run) != RUN_BYTES:
            raise LocalProtocolError(f"{self.name}: a run is named by {RUN_BYTES} random bytes")

    @property
    def turns(self) -> int:
        """Turns that are over: iterations of steps."""
        state, plan = self._state, self._plan
        return max(0, (state.step - plan.arms - 1) * plan.iterations + state.iteration - 1)

    def _resume(self) -> None:
        super()._resume()
        if self._state.run:
            self._sums = SumCipher.agreed(self.name, self._plan.config, self._state.public_key)

    def _compute(self, event: Any) -> Step:
        """Handle orders, sums and all that ends a run; turns are for the Controller itself."""
        match event:
            case Order():
                return self._begin(event)
            case Sum():
                return self._add(event)
            case Deadline():
                return self._end_waiting(event)
            case _:
                return self._gave_up(event)

    def _begin(self, order: Order) -> Step:
        """Check the order, and tell everybody that the run begins."""
        plan, step = self._plan, self._plan.arms + 1
        ordered = Ordered(order.budget, plan.arms, order.algorithm)
        accept(self.name, plan, ordered, self._run)
        sums = SumCipher.agreed(self.name, plan.config, order.public_key)
        after = self._after(
            stage=self._stage_of(step), run=self._run, public_key=order.public_key, step=step
        )

        def keep() -> Sequence[Message]:
            self._sums = sums
            return ()

        told = {"sender": self.name, "run": self._run, **ordered._asdict()}
        return Step(after, self._beginnings(order.public_key, told), write=keep)

    def _stage_of(self, step: int) -> str:
        """Return the stage in which a step begins."""
        raise NotImplementedError

    def _beginnings(self, public_key: bytes, told: dict[str, Any]) -> list[Message]:
        """Make what parties are told at the beginning; ``told`` is what all messages say."""
        raise NotImplementedError

    def _check_turn(self, sender: str, step: int, iteration: int) -> None:
        state = self._state
        if (step, iteration) != (state.step, state.iteration):
            raise OutOfOrderError(
                f"{self.name}: {sender} sent step {step}.{iteration}, "
                f"this is {state.step}.{state.iteration}"
            )
        if sender in state.collected:
            raise DuplicateError(f"{self.name}: {sender} sent step {step}.{iteration} again")

    def _kept(self, sender: str, content: bytes) -> Step:
        """Keep one of the messages that are collected."""
        collected = self._state.collected

        def keep() -> Sequence[Message]:
            collected[sender] = content
            return ()

        return Step(self._state, write=keep)

    @property
    def _lacks_one(self) -> bool:
        """True if all owners but one have sent what is collected."""
        return len(self._state.collected) + 1 == len(self._owners)

    def _check_sum(self, sender: str) -> None:
        if sender in self._state.collected:
            raise DuplicateError(f"{self.name}: {sender} sent its sum again")

    def _add(self, message: Sum) -> Step:
        """Add up what the owners have encrypted."""
        self._check_sum(message.sender)
        self._sums.check(message.ciphertext)

        def total(collected: dict[str, bytes]) -> Message:
            added = self._sums.add([collected[owner] for owner in self._owners])
            return Total(sender=self.name, receiver=self._customer, ciphertext=added)

        return self._summed(message.sender, message.ciphertext, total)

    def _summed(
        self, sender: str, content: bytes, total: Callable[[dict[str, bytes]], Message]
    ) -> Step:
        """Keep one owner's sum; with the last one tell the customer the total."""
        if not self._lacks_one:
            return self._kept(sender, content)
        told = total({**self._state.collected, sender: content})
        return Step(self._after(stage="done", collected={}), [told])

    def _end_waiting(self, event: Deadline) -> Step:
        """End the run if somebody has not answered."""
        state, due = self._state, event.number == self.awaited
        return self._end_for_all(self._missing) if due else Step(state)

    @property
    def _missing(self) -> Reason:
        """The reason for which the run ends if what is awaited does not come."""
        return self.AWAITED[self._state.stage]

    def _gave_up(self, word: Ending) -> Step:
        """End the run for the reason of the first who gives up.

        A party that gives up later is told that reason once more: it may not have heard it.
        """
        ended = self.ended
        if ended is None:
            return self._end_for_all(word.reason)
        words = last_words(self._seat, ended)
        return Step(self._state, [each for each in words if each.receiver == word.sender])

    def _end_for_all(self, reason: Reason) -> Step:
        return self._ended(reason, *last_words(self._seat, reason))
