"""SAMBA's Controller: sees ciphertexts alone, and permutes them.

How a run begins, ends and is added up is the same in a silent run, see :mod:`.silent_controller`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from fedbandits.crypto.aead import PacketLengthError, overhead_of
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.events import Deadline, EndRound
from fedbandits.federation.messages import DuplicateError, Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import BIT_BYTES, SCORE_BYTES, SumCipher
from fedbandits.systems.samba.messages import (
    Bit,
    BitList,
    Drawn,
    Explore,
    GaveUp,
    Order,
    Reason,
    Score,
    ScoreList,
    Setup,
    Start,
    Sum,
    Total,
)
from fedbandits.systems.samba.plan import RUN_BYTES, Ordered, SambaPlan, accept
from fedbandits.systems.samba.roles.run import NamedRunState, RunParty, given_up, last_words
from fedbandits.systems.samba.streams import ControllerDraws


class ControllerState(NamedRunState, frozen=True, kw_only=True):
    """State that every Controller keeps."""

    public_key: bytes = b""  # the customer's
    step: int = 0  # that is under way; after the last one, sums are collected
    iteration: int = 1
    collected: dict[str, bytes] = msgspec.field(default_factory=dict)  # what has come, by owner


AnyController = TypeVar("AnyController", bound=ControllerState)


class BaseController(RunParty[AnyController]):
    """Base of the Controllers: beginning, places, sums and the end of a run.

    A party that does not answer until its deadline ends the run, for all. Fewer than two owners,
    or a run without a proper name, are refused.
    """

    #: Stages in which it waits for others, and why the run ends if they stay silent.
    AWAITED: ClassVar[Mapping[str, Reason]]

    _sums: SumCipher

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._customer, self._comp = seat.one("customer"), seat.one("comp")
        self._owners = seat.names("owner")
        if len(self._owners) < 2:
            raise ConfigError(f"{self.name}: needs at least 2 data owners, has {self._owners}")
        if len(supply.run) != RUN_BYTES:
            raise LocalProtocolError(f"{self.name}: a run is named by {RUN_BYTES} random bytes")
        self._tools = self._make_tools(supply.run)

    @property
    def turns(self) -> int:
        """Turns that are over: iterations of steps."""
        state, plan = self._state, self._plan
        return max(0, (state.step - plan.arms - 1) * plan.iterations + state.iteration - 1)

    def _resume(self) -> None:
        super()._resume()
        if self._state.run:
            self._sums = SumCipher.agreed(self.name, self._config, self._state.public_key)

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
        plan, step, run = self._plan, self._plan.arms + 1, self._supply.run
        ordered = Ordered(order.budget, plan.arms, order.algorithm)
        accept(self.name, plan, ordered, run)
        sums = SumCipher.agreed(self.name, self._config, order.public_key)
        after = self._after(
            stage=self._stage_of(step), run=run, public_key=order.public_key, step=step
        )

        def keep() -> Sequence[Message]:
            self._sums = sums
            return ()

        fields = {"sender": self.name, "run": run, **ordered._asdict()}
        return Step(after, self._beginnings(order.public_key, fields), write=keep)

    def _stage_of(self, step: int) -> str:
        """Return the stage in which a step begins."""
        raise NotImplementedError

    def _places(self, step: int, iteration: int) -> list[int]:
        """Return the place of each owner in the order of a turn."""
        raise NotImplementedError

    def _beginnings(self, public_key: bytes, fields: dict[str, Any]) -> list[Message]:
        """Make the first messages to all parties; ``fields`` are the fields of all of them."""
        raise NotImplementedError

    def _setups(self, kind: type[Any], **fields: Any) -> list[Message]:
        """Make the owners' first messages, each with the owner's place."""
        owners = zip(self._owners, self._places(self._plan.arms + 1, 1), strict=True)
        return [kind(receiver=owner, place=place, **fields) for owner, place in owners]

    def _handed_out(self, kind: type[Any], packets: Iterable[bytes], **changes: Any) -> Step:
        """Go on to the next turn; every owner is told its packet, and its place in that turn."""
        state = self._state
        step, iteration = self.agreement.next_turn(state.step, state.iteration)
        owners = zip(self._owners, packets, self._places(step, iteration), strict=True)
        messages = [
            kind(
                sender=self.name, receiver=owner, step=state.step, iteration=state.iteration,
                sealed=sealed, place=place,
            )
            for owner, sealed, place in owners
        ]  # fmt: skip
        stage = self._stage_of(step)
        return Step(self._after(stage=stage, step=step, iteration=iteration, **changes), messages)

    def _check_once(self, sender: str, what: str) -> None:
        if sender in self._state.collected:
            raise DuplicateError(f"{self.name}: {sender} sent {what} again")

    def _check_share(self, message: Any) -> None:
        """Check that an owner's message is of this turn, and its first one."""
        step, iteration, sender = message.step, message.iteration, message.sender
        self._check_turn(f"{sender} sent", step, iteration)
        self._check_once(sender, f"step {step}.{iteration}")

    def _kept(self, sender: str, content: bytes) -> Step:
        """Keep an owner's message until the messages of all have come."""
        collected = self._state.collected

        def keep() -> Sequence[Message]:
            collected[sender] = content
            return ()

        return Step(self._state, write=keep)

    @property
    def _lacks_one(self) -> bool:
        return len(self._state.collected) + 1 == len(self._owners)

    def _add(self, message: Sum) -> Step:
        """Add up what the owners have encrypted."""
        self._check_once(message.sender, "its sum")
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
        message = total({**self._state.collected, sender: content})
        return Step(self._after(stage="done", collected={}), [message])

    @property
    def _missing(self) -> Reason:
        """The reason for which the run ends at a deadline."""
        return self.AWAITED[self._state.stage]

    def _end_waiting(self, event: Deadline) -> Step:
        """End the run if somebody has not answered."""
        due = event.number == self.awaited
        return self._end_for_all(self._missing) if due else Step(self._state)

    def _gave_up(self, word: GaveUp) -> Step:
        """End the run for the reason of the first who gives up.

        A party that gives up later is told that reason once more: it may not have heard it.

        Raises
        ------
        OutOfOrderError
            If another than the customer gives up before the order, or when the total has left.
        """
        if self.stage in ("idle", "done") and word.sender != self._customer:
            raise OutOfOrderError(f"{self.name}: GaveUp from {word.sender} while {self.stage}")
        ended = self.ended
        if ended is None:
            return self._end_for_all(word.reason)
        words = last_words(self._seat, ended)
        return Step(self._state, [each for each in words if each.receiver == word.sender])

    def _end_for_all(self, reason: Reason) -> Step:
        return self._ended(reason, *last_words(self._seat, reason))


class Controller(BaseController[ControllerState]):
    """Permutes scores that it cannot read, and adds up sums that it cannot decrypt.

    Where it draws the scores of steps that explore (section 5.4 as printed), owners send nothing
    then: the beat tells it that the last pull is over (:meth:`end_round`), as it does the owners.
    """

    STATE = ControllerState
    AWAITED: ClassVar[Mapping[str, Reason]] = {
        "collecting": Reason.SCORES, "comparing": Reason.BITS, "summing": Reason.SUMS
    }  # fmt: skip
    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Order): ("collecting", "drawing", "summing"),
        ("collecting", Score): ("collecting", "comparing"),
        ("comparing", BitList): ("collecting", "drawing", "summing"),
        ("drawing", EndRound): ("comparing",),
        ("summing", Sum): ("summing", "done"),
        **given_up(AWAITED, "drawing"),
    }

    _tools: ControllerDraws

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        overhead = overhead_of(plan.config.packet_cipher)
        self._score_length, self._bit_length = SCORE_BYTES + overhead, BIT_BYTES + overhead

    def _make_tools(self, run: bytes) -> ControllerDraws:
        agreed, secret = self._plan.agreement(run), self._supply.secrets["controller"]
        return ControllerDraws(secret, agreed, self._plan.drawn_scores)

    @property
    def draws(self) -> ControllerDraws:
        """The draws of the run."""
        return self._tools

    @property
    def awaited(self) -> int | None:
        """A count of what is waited for: scores, Comp's bits, sums."""
        awaits = self._state.stage in self.AWAITED
        return 2 * self.turns + 1 + (self.stage == "comparing") if awaits else super().awaited

    @property
    def next_end(self) -> int | None:
        """The round before a step whose scores it draws; None before others."""
        return self._state.step - 1 if self._state.stage == "drawing" else None

    def _compute(self, event: Any) -> Step:
        match event:
            case Score():
                return self._collect(event)
            case BitList():
                return self._hand_out(event)
            case EndRound():
                return self._draw_scores(event)
            case _:
                return super()._compute(event)

    def _places(self, step: int, iteration: int) -> list[int]:
        places: list[int] = self.draws.places(step, iteration).tolist()
        return places

    def _beginnings(self, public_key: bytes, fields: dict[str, Any]) -> list[Message]:
        keys = self.draws.keys
        setups = self._setups(
            Setup, public_key=public_key, mask_key=keys.masks, exploration_key=keys.exploration,
            **fields,
        )  # fmt: skip
        return [Start(receiver=self._comp, **fields), *setups]

    def _stage_of(self, step: int) -> str:
        if step > self.agreement.budget:
            return "summing"
        draws = self._config.controller_draws and self.draws.explores(step)
        return "drawing" if draws else "collecting"

    def _draw_scores(self, event: EndRound) -> Step:
        """Draw the scores of a step: the beat tells that all pulls of the round are over."""
        self._check_beat(event)
        step, scores = event.round_ + 1, self.draws.scores(event.round_ + 1)
        drawn = Drawn(sender=self.name, receiver=self._comp, step=step, scores=scores)
        return Step(self._after(stage="comparing"), [drawn])

    def _collect(self, message: Score) -> Step:
        """Keep an owner's score; with the last one Comp is asked."""
        state, sender, sealed = self._state, message.sender, message.sealed
        self._check_share(message)
        # Owners may leave out their scores in a step that explores.
        empty = self._config.exploration_shortcut != "none" and self.draws.explores(state.step)
        length = 0 if empty else self._score_length
        if len(sealed) != length:
            raise PacketLengthError(
                f"{self.name}: {sender} sent {len(sealed)} bytes as its score, expected {length}"
            )
        if not self._lacks_one:
            return self._kept(sender, sealed)
        collected = {**state.collected, sender: sealed}
        fields: dict[str, Any] = {"sender": self.name, "receiver": self._comp}
        step, iteration = state.step, state.iteration
        listed = dict(zip(self._places(step, iteration), self._owners, strict=True))
        packets = tuple(collected[listed[place]] for place in range(len(listed)))
        fields |= {} if empty else {"iteration": iteration, "sealed": packets}
        asked = (Explore if empty else ScoreList)(step=step, **fields)
        return Step(self._after(stage="comparing", collected={}), [asked])

    def _hand_out(self, message: BitList) -> Step:
        """Give every owner its bit."""
        arms, sealed = self.agreement.arms, message.sealed
        self._check_share(message)
        if list(map(len, sealed)) != [self._bit_length] * arms:
            raise PacketLengthError(
                f"{self.name}: expected {arms} bits of {self._bit_length} bytes"
            )
        places = self._places(message.step, message.iteration)
        return self._handed_out(Bit, [sealed[place] for place in places])
