"""SAMBA's Controller: sees ciphertexts alone, and permutes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fedbandits.crypto.aead import PacketLengthError, overhead_of
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import EndRound
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.agreement import Agreement, accept
from fedbandits.systems.samba.messages import (
    Bit,
    BitList,
    Drawn,
    Explore,
    Order,
    Reason,
    Score,
    ScoreList,
    Setup,
    Start,
    Sum,
)
from fedbandits.systems.samba.packets import BIT_BYTES, SCORE_BYTES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.conducting import Conductor, ConductorState
from fedbandits.systems.samba.roles.draws import ControllerDraws
from fedbandits.systems.samba.roles.ending import given_up
from fedbandits.systems.samba.roles.supplies import ControllerSupply
from fedbandits.systems.samba.sums import SumCipher

#: Stages in which it waits for others, and why the run ends if they stay silent.
_AWAITED = {"collecting": Reason.SCORES, "comparing": Reason.BITS, "summing": Reason.SUMS}


class Controller(Conductor[ConductorState]):
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
        **given_up(_AWAITED, "drawing"),
    }

    AWAITED = _AWAITED

    def __init__(self, seat: Seat, plan: SambaPlan, supply: ControllerSupply) -> None:
        super().__init__(seat, plan, supply.run, ConductorState())
        self._secret = supply.secret
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
                return self._add(event, self._sums)
            case Order():
                return self._begin(event)
            case _:
                return super()._compute(event)

    def _begin(self, order: Order) -> Step:
        plan, arms, ordered = self._plan, self._plan.arms, self._ordered(order)
        accept(self.name, plan, ordered, self._run)
        sums = SumCipher.agreed(self.name, plan.config, order.public_key)
        after = self._after(
            stage=self._stage_of(arms + 1), run=self._run, public_key=order.public_key,
            step=arms + 1,
        )  # fmt: skip

        def keep() -> Sequence[Message]:
            self._sums = sums
            return ()

        told = self._told(ordered)
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
        if not self._lacks_one:
            return self._kept(sender, sealed)
        collected = {**state.collected, sender: sealed}
        after = self._after(stage="comparing", collected={})
        explore = Explore(sender=self.name, receiver=self._comp, step=state.step)
        return Step(after, [explore if silent else self._list(collected)])

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
