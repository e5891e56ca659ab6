"""SAMBA's Controller: sees ciphertexts alone, and permutes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from fedbandits.crypto.aead import PacketLengthError, overhead_of
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.events import Deadline, EndRound
from fedbandits.federation.messages import DuplicateError, Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.agreement import RUN_BYTES, Agreement, Ordered, accept
from fedbandits.systems.samba.messages import (
    Bit,
    BitList,
    CustomerGaveUp,
    Drawn,
    Explore,
    Order,
    Reason,
    Score,
    ScoreList,
    Setup,
    Start,
    Sum,
    Total,
)
from fedbandits.systems.samba.packets import BIT_BYTES, SCORE_BYTES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.draws import ControllerDraws
from fedbandits.systems.samba.roles.ending import GAVE_UP, RunParty, RunState, last_words
from fedbandits.systems.samba.roles.supplies import ControllerSupply
from fedbandits.systems.samba.sums import SumCipher


class ControllerState(RunState, frozen=True, kw_only=True):
    """All that changes in a Controller.

    Parameters
    ----------
    run
        The run's name; empty before it begins.
    public_key
        The customer's.
    step, iteration
        The turn that is under way; after the last step, sums are collected.
    collected
        The sealed scores, or the encrypted sums, that have come for it, by owner.
    """

    run: bytes = b""
    public_key: bytes = b""
    step: int = 0
    iteration: int = 1
    collected: dict[str, bytes] = msgspec.field(default_factory=dict)


#: Stages in which it waits for others, and why the run ends if they stay silent.
_AWAITED = {"collecting": Reason.SCORES, "comparing": Reason.BITS, "summing": Reason.SUMS}


class Controller(RunParty[ControllerState]):
    """Permutes what it cannot read, and adds up what it cannot decrypt.

    Where it draws the scores of steps that explore (section 5.4 as printed), owners send nothing
    then: the beat tells it that the last pull is over (:meth:`end_round`), as it does the owners.
    Whoever does not answer until its deadline ends the run, for all.

    Parameters
    ----------
    seat
        What it is told of all that is public; owner i has arm i.
    plan
        What all parties go by.
    supply
        Its secret, and the run's name.

    Raises
    ------
    ConfigError
        If there are fewer than two owners.
    LocalProtocolError
        If the run has no proper name.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Order): ("collecting", "drawing", "summing"),
        ("collecting", Score): ("collecting", "comparing"),
        ("comparing", BitList): ("collecting", "drawing", "summing"),
        ("drawing", EndRound): ("comparing",),
        ("summing", Sum): ("summing", "done"),
        **{(stage, Deadline): (stage, "ended") for stage in _AWAITED},
        **{
            (stage, kind): ("ended",)
            for kind in GAVE_UP
            for stage in (*_AWAITED, "drawing", "ended")
        },
        # Before an order, and when the total has left, it is for the customer alone to say.
        ("idle", CustomerGaveUp): ("ended",),
        ("done", CustomerGaveUp): ("ended",),
    }

    def __init__(self, seat: Seat, plan: SambaPlan, supply: ControllerSupply) -> None:
        super().__init__(seat, ControllerState())
        self._seat, self._customer, self._comp = seat, seat.one("customer"), seat.one("comp")
        self._owners = seat.names("owner")
        if len(self._owners) < 2:
            raise ConfigError(f"{self.name}: needs at least 2 data owners, has {self._owners}")
        self._plan, (self._secret, self._run) = plan, supply
        if len(self._run) != RUN_BYTES:
            raise LocalProtocolError(f"{self.name}: a run is named by {RUN_BYTES} random bytes")
        overhead = overhead_of(plan.config.packet_cipher)
        self._score_length, self._bit_length = SCORE_BYTES + overhead, BIT_BYTES + overhead
        self.draws = ControllerDraws(plan, self._secret, self._run)

    def _resume(self) -> None:
        state = self._state
        if state.run:
            self.draws = ControllerDraws(self._plan, self._secret, state.run)
            self._sums = SumCipher.agreed(self.name, self._plan.config, state.public_key)

    @property
    def agreement(self) -> Agreement:
        """What the run is about."""
        return self.draws.agreed

    @property
    def turns(self) -> int:
        """Iterations of steps 2 to 5 that are over."""
        state, plan = self._state, self._plan
        return max(0, (state.step - plan.arms - 1) * plan.iterations + state.iteration - 1)

    @property
    def awaited(self) -> int | None:
        """Counts what is waited for: scores, Comp's bits, sums."""
        awaits = self._state.stage in _AWAITED
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
            case Sum():
                return self._add(event)
            case Order():
                return self._begin(event)
            case Deadline():
                return self._end_waiting(event)
            case _:  # somebody gave up; the first who does says why
                ended = self.ended
                return self._end_for_all(event.reason) if ended is None else self._say(event, ended)

    def _say(self, word: Message, reason: Reason) -> Step:
        """Tell somebody who has given up meanwhile why the run has ended: it may not have heard."""
        words = last_words(self._seat, reason)
        return Step(self._state, [each for each in words if each.receiver == word.sender])

    def _begin(self, order: Order) -> Step:
        plan, arms = self._plan, self._plan.arms
        ordered = Ordered(order.budget, arms, order.algorithm)
        accept(self.name, plan, ordered, self._run)
        sums = SumCipher.agreed(self.name, plan.config, order.public_key)
        after = self._after(
            stage=self._stage_of(arms + 1), run=self._run, public_key=order.public_key,
            step=arms + 1,
        )  # fmt: skip

        def keep() -> Sequence[Message]:
            self._sums = sums
            return ()

        told = {"sender": self.name, "run": self._run, **ordered._asdict()}
        start = Start(receiver=self._comp, **told)
        return Step(after, [start, *self._setups(order.public_key, told)], write=keep)

    def _setups(self, public_key: bytes, told: dict[str, Any]) -> Sequence[Message]:
        keys, places = self.draws.keys, self.draws.places(self._plan.arms + 1, 1).tolist()
        return [
            Setup(
                receiver=owner, public_key=public_key, mask_key=keys.masks,
                exploration_key=keys.exploration, place=place, **told,
            )
            for owner, place in zip(self._owners, places, strict=True)
        ]  # fmt: skip

    def _stage_of(self, step: int) -> str:
        if step > self.agreement.budget:
            return "summing"
        draws = self._plan.config.controller_draws and self.draws.explores(step)
        return "drawing" if draws else "collecting"

    def _draw_scores(self, event: EndRound) -> Step:
        """The beat: all pulls of the round are over, so the next step can explore."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )
        step, scores = event.round_ + 1, self.draws.scores(event.round_ + 1)
        drawn = Drawn(sender=self.name, receiver=self._comp, step=step, scores=scores)
        return Step(self._after(stage="comparing"), [drawn])

    def _is_silent(self, step: int) -> bool:
        """Whether owners leave out their scores in a step."""
        return self._plan.config.exploration_shortcut != "none" and self.draws.explores(step)

    def _collect(self, message: Score) -> Step:
        state, sender, sealed = self._state, message.sender, message.sealed
        self._check_turn(sender, message.step, message.iteration)
        silent = self._is_silent(state.step)
        length = 0 if silent else self._score_length
        if len(sealed) != length:
            raise PacketLengthError(
                f"{self.name}: {sender} sent {len(sealed)} bytes as its score, expected {length}"
            )
        if len(state.collected) + 1 < self.agreement.arms:
            return self._kept(sender, sealed)
        collected = {**state.collected, sender: sealed}
        after = self._after(stage="comparing", collected={})
        explore = Explore(sender=self.name, receiver=self._comp, step=state.step)
        return Step(after, [explore if silent else self._list(collected)])

    def _kept(self, sender: str, sealed: bytes) -> Step:
        """One of those that are collected has come."""
        collected = self._state.collected

        def keep() -> Sequence[Message]:
            collected[sender] = sealed
            return ()

        return Step(self._state, write=keep)

    def _list(self, collected: dict[str, bytes]) -> ScoreList:
        step, iteration = self._state.step, self._state.iteration
        listed = [b""] * self.agreement.arms
        places = self.draws.places(step, iteration).tolist()
        for place, owner in zip(places, self._owners, strict=True):
            listed[place] = collected[owner]
        return ScoreList(
            sender=self.name, receiver=self._comp, step=step, iteration=iteration,
            sealed=tuple(listed),
        )  # fmt: skip

    def _check_turn(self, sender: str, step: int, iteration: int) -> None:
        state = self._state
        if (step, iteration) != (state.step, state.iteration):
            raise OutOfOrderError(
                f"{self.name}: {sender} sent step {step}.{iteration}, "
                f"this is {state.step}.{state.iteration}"
            )
        if sender in state.collected:
            raise DuplicateError(f"{self.name}: {sender} sent step {step}.{iteration} again")

    def _hand_out(self, message: BitList) -> Step:
        state, agreed, sealed = self._state, self.agreement, message.sealed
        self._check_turn(message.sender, message.step, message.iteration)
        if list(map(len, sealed)) != [self._bit_length] * agreed.arms:
            raise PacketLengthError(
                f"{self.name}: expected {agreed.arms} bits of {self._bit_length} bytes"
            )
        step, iteration = state.step, state.iteration
        following = agreed.next_turn(step, iteration)
        places = self.draws.places(step, iteration).tolist()
        next_places = self.draws.places(*following).tolist()
        bits = [
            Bit(
                sender=self.name, receiver=owner, step=step, iteration=iteration,
                sealed=sealed[place], place=next_place,
            )
            for owner, place, next_place in zip(self._owners, places, next_places, strict=True)
        ]  # fmt: skip
        stage = self._stage_of(following[0])
        return Step(self._after(stage=stage, step=following[0], iteration=following[1]), bits)

    def _add(self, message: Sum) -> Step:
        state, sender, ciphertext = self._state, message.sender, message.ciphertext
        if sender in state.collected:
            raise DuplicateError(f"{self.name}: {sender} sent its sum again")
        self._sums.check(ciphertext)
        if len(state.collected) + 1 < self.agreement.arms:
            return self._kept(sender, ciphertext)
        collected = {**state.collected, sender: ciphertext}
        total = self._sums.add([collected[owner] for owner in self._owners])
        told = Total(sender=self.name, receiver=self._customer, ciphertext=total)
        return Step(self._after(stage="done", collected={}), [told])

    def _end_waiting(self, event: Deadline) -> Step:
        """Somebody has not answered: the run cannot go on without."""
        state, due = self._state, event.number == self.awaited
        return self._end_for_all(_AWAITED[state.stage]) if due else Step(state)

    def _end_for_all(self, reason: Reason) -> Step:
        return self._ended(reason, *last_words(self._seat, reason))
