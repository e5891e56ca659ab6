"""What every Controller does: it names the run, counts turns, adds up sums, and ends the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import DuplicateError, Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.systems.samba.agreement import RUN_BYTES, Agreement, Ordered
from fedbandits.systems.samba.messages import Ending, Order, Reason, Sum, Total
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.ending import RunParty, RunState, last_words
from fedbandits.systems.samba.sums import SumCipher


class ConductorState(RunState, frozen=True, kw_only=True):
    """What every Controller keeps.

    Parameters
    ----------
    run
        The run's name; empty before it begins.
    public_key
        The customer's.
    step, iteration
        The turn that is under way; after the last step, sums are collected.
    collected
        What has come for it, by owner.
    """

    run: bytes = b""
    public_key: bytes = b""
    step: int = 0
    iteration: int = 1
    collected: dict[str, bytes] = msgspec.field(default_factory=dict)


AnyConductor = TypeVar("AnyConductor", bound=ConductorState)


class Conductor(RunParty[AnyConductor]):
    """A Controller, whatever it does in a turn.

    Whoever does not answer until its deadline ends the run, for all.

    Parameters
    ----------
    seat
        What it is told of all that is public; owner i has arm i.
    plan
        What all parties go by.
    run
        The run's name.
    state
        The state to begin in.

    Raises
    ------
    ConfigError
        If there are fewer than two owners.
    LocalProtocolError
        If the run has no proper name.
    """

    #: Stages in which it waits for others, and why the run ends if they stay silent.
    AWAITED: ClassVar[Mapping[str, Reason]]

    def __init__(self, seat: Seat, plan: SambaPlan, run: bytes, state: AnyConductor) -> None:
        super().__init__(seat, state)
        self._seat, self._customer, self._comp = seat, seat.one("customer"), seat.one("comp")
        self._owners = seat.names("owner")
        if len(self._owners) < 2:
            raise ConfigError(f"{self.name}: needs at least 2 data owners, has {self._owners}")
        self._plan, self._run = plan, run
        if len(run) != RUN_BYTES:
            raise LocalProtocolError(f"{self.name}: a run is named by {RUN_BYTES} random bytes")

    @property
    def agreement(self) -> Agreement:
        """What the run is about."""
        raise NotImplementedError

    @property
    def turns(self) -> int:
        """Turns that are over: iterations of steps."""
        state, plan = self._state, self._plan
        return max(0, (state.step - plan.arms - 1) * plan.iterations + state.iteration - 1)

    def _compute(self, event: Any) -> Step:
        """What ends a run before it is done; all else is for the Controller itself."""
        return self._end_waiting(event) if isinstance(event, Deadline) else self._gave_up(event)

    def _ordered(self, order: Order) -> Ordered:
        """What the customer says that the run is about."""
        return Ordered(order.budget, self._plan.arms, order.algorithm)

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
        """One of those that are collected has come."""
        collected = self._state.collected

        def keep() -> Sequence[Message]:
            collected[sender] = content
            return ()

        return Step(self._state, write=keep)

    @property
    def _lacks_one(self) -> bool:
        """Whether all owners but one have sent what is collected."""
        return len(self._state.collected) + 1 == len(self._owners)

    def _check_sum(self, sender: str) -> None:
        if sender in self._state.collected:
            raise DuplicateError(f"{self.name}: {sender} sent its sum again")

    def _add(self, message: Sum, sums: SumCipher) -> Step:
        sender, ciphertext = message.sender, message.ciphertext
        self._check_sum(sender)
        sums.check(ciphertext)
        if not self._lacks_one:
            return self._kept(sender, ciphertext)
        collected = {**self._state.collected, sender: ciphertext}
        total = sums.add([collected[owner] for owner in self._owners])
        told = Total(sender=self.name, receiver=self._customer, ciphertext=total)
        return Step(self._after(stage="done", collected={}), [told])

    def _end_waiting(self, event: Deadline) -> Step:
        """Somebody has not answered: the run cannot go on without."""
        state, due = self._state, event.number == self.awaited
        return self._end_for_all(self._missing) if due else Step(state)

    @property
    def _missing(self) -> Reason:
        """Why the run ends if what is awaited does not come."""
        return self.AWAITED[self._state.stage]

    def _gave_up(self, word: Ending) -> Step:
        """Somebody gave up; the first who does says why."""
        ended = self.ended
        return self._end_for_all(word.reason) if ended is None else self._say(word, ended)

    def _say(self, word: Message, reason: Reason) -> Step:
        """Tell somebody who has given up meanwhile why the run has ended: it may not have heard."""
        words = last_words(self._seat, reason)
        return Step(self._state, [each for each in words if each.receiver == word.sender])

    def _end_for_all(self, reason: Reason) -> Step:
        return self._ended(reason, *last_words(self._seat, reason))

    def _told(self, ordered: Ordered) -> dict[str, Any]:
        """What every party is told of the run at its beginning."""
        return {"sender": self.name, "run": self._run, **ordered._asdict()}
