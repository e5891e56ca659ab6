"""SAMBA's Controller: sees ciphertexts alone, and permutes them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fedbandits._typing import Ints
from fedbandits.crypto.aead import PacketLengthError, overhead_of
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import EndRound
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import BIT_BYTES, SCORE_BYTES
from fedbandits.systems.samba.kernels.published import list_drawn
from fedbandits.systems.samba.keys import ControllerKeys, make_keys
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
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.controller import BaseController, ControllerState
from fedbandits.systems.samba.roles.run import given_up
from fedbandits.systems.samba.streams import DrawnScores, Exploration, Masks, Places

#: Stages in which it waits for others, and why the run ends if they stay silent.
_AWAITED = {"collecting": Reason.SCORES, "comparing": Reason.BITS, "summing": Reason.SUMS}


class ControllerDraws:
    """Draws of the Controller in one run, which follow from its secret."""

    def __init__(self, plan: SambaPlan, secret: bytes, run: bytes) -> None:
        #: What the run is about.
        self.agreed = plan.agreement(run)
        #: Some are for owners too, none for Comp.
        self.keys = make_keys(ControllerKeys, secret, self.agreed)
        self._places = Places(self.keys.places, plan.arms, plan.iterations)
        self._drawn = DrawnScores(self.keys.scores, plan.drawn_scores)
        self._exploration = Exploration(self.keys.exploration, self.agreed)

    def places(self, step: int, iteration: int) -> Ints:
        """Return where each owner stands in Comp's list, (arms,); only the Controller knows."""
        return self._places.draw(step, iteration)

    def mask(self, step: int, iteration: int) -> float:
        """Draw αₜ, which the Controller could too, having handed out its key."""
        return Masks(self.keys.masks, self.agreed.iterations).draw(step, iteration)

    def explores(self, step: int) -> bool:
        """Tell whether a step explores, which the owners know too."""
        return self._exploration.explores(step)

    def scores(self, step: int) -> tuple[float, ...]:
        """Draw the scores of a step, by place."""
        scores = np.empty(self.agreed.arms)
        list_drawn(self._drawn.draw(step), self.places(step, 1), scores)
        return tuple(scores.tolist())


class Controller(BaseController[ControllerState]):
    """Permutes what it cannot read, and adds up what it cannot decrypt.

    Where it draws the scores of steps that explore (section 5.4 as printed), owners send nothing
    then: the beat tells it that the last pull is over (:meth:`end_round`), as it does the owners.

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

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply, ControllerState())
        overhead = overhead_of(plan.config.packet_cipher)
        self._score_length, self._bit_length = SCORE_BYTES + overhead, BIT_BYTES + overhead
        self._tools = self._make_tools(self._run)

    def _make_tools(self, run: bytes) -> ControllerDraws:
        return ControllerDraws(self._plan, self._supply.secrets["controller"], run)

    @property
    def draws(self) -> ControllerDraws:
        """The draws of the run."""
        draws: ControllerDraws = self._tools
        return draws

    @property
    def awaited(self) -> int | None:
        """A count of what is waited for: scores, Comp's bits, sums."""
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
            case _:
                return super()._compute(event)

    def _beginnings(self, public_key: bytes, told: dict[str, Any]) -> list[Message]:
        keys, places = self.draws.keys, self.draws.places(self._plan.arms + 1, 1).tolist()
        setups = [
            Setup(
                receiver=owner, public_key=public_key, mask_key=keys.masks,
                exploration_key=keys.exploration, place=place, **told,
            )
            for owner, place in zip(self._owners, places, strict=True)
        ]  # fmt: skip
        return [Start(receiver=self._comp, **told), *setups]

    def _stage_of(self, step: int) -> str:
        if step > self.agreement.budget:
            return "summing"
        draws = self._plan.config.controller_draws and self.draws.explores(step)
        return "drawing" if draws else "collecting"

    def _draw_scores(self, event: EndRound) -> Step:
        """Draw the scores of a step: the beat tells that all pulls of the round are over."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )
        step, scores = event.round_ + 1, self.draws.scores(event.round_ + 1)
        drawn = Drawn(sender=self.name, receiver=self._comp, step=step, scores=scores)
        return Step(self._after(stage="comparing"), [drawn])

    def _is_empty(self, step: int) -> bool:
        """Tell whether owners leave out their scores in a step."""
        return self._plan.config.exploration_shortcut != "none" and self.draws.explores(step)

    def _collect(self, message: Score) -> Step:
        state, sender, sealed = self._state, message.sender, message.sealed
        self._check_turn(sender, message.step, message.iteration)
        empty = self._is_empty(state.step)
        length = 0 if empty else self._score_length
        if len(sealed) != length:
            raise PacketLengthError(
                f"{self.name}: {sender} sent {len(sealed)} bytes as its score, expected {length}"
            )
        if not self._lacks_one:
            return self._kept(sender, sealed)
        collected = {**state.collected, sender: sealed}
        after = self._after(stage="comparing", collected={})
        explore = Explore(sender=self.name, receiver=self._comp, step=state.step)
        return Step(after, [explore if empty else self._list(collected)])

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
        """Give every owner its bit, and its place in the next turn."""
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
