"""SAMBA's Comp: compares masked scores in an order that tells it nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fedbandits.crypto.aead import NEVER, Channel, PacketLengthError, Turn
from fedbandits.federation.messages import NotFiniteError, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    BIT,
    BIT_BYTES,
    BITS,
    SCORE_BYTES,
    SCORES,
    channel_cipher,
    floats,
)
from fedbandits.systems.samba.kernels.published import any_place, select_arm, select_drawn
from fedbandits.systems.samba.keys import CompKeys, make_keys
from fedbandits.systems.samba.messages import (
    BitList,
    CompGaveUp,
    Drawn,
    EndForComp,
    Explore,
    ScoreList,
    Start,
)
from fedbandits.systems.samba.plan import Agreement, SambaPlan
from fedbandits.systems.samba.roles.run import Member, NamedRunState, endings
from fedbandits.systems.samba.streams import Ties, TurnWords, position


class CompState(NamedRunState, frozen=True, kw_only=True):
    """All that changes in Comp.

    Parameters
    ----------
    step, iteration
        What it is asked for next.
    answered
        The last turn that it has answered: it opens nothing of it again, and seals nothing for it.
    """

    step: int = 0
    iteration: int = 1
    answered: Turn = NEVER


class _Tools(NamedTuple):
    """Channels and streams of Comp in one run."""

    agreed: Agreement
    scores: Channel
    bits: Channel
    waits: TurnWords
    ties: Ties


class Comp(Member[CompState]):
    """Compares masked scores, not knowing whose they are."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Start): ("ready", "done"),
        ("ready", ScoreList): ("ready", "done"),
        ("ready", Explore): ("ready", "done"),
        ("ready", Drawn): ("ready", "done"),
        **endings(EndForComp, "ready", "idle", "done"),
    }
    GAVE_UP = CompGaveUp

    _tools: _Tools

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, CompState())
        self._cipher = plan.config.packet_cipher
        self._shortcut = plan.config.exploration_shortcut
        self._supply = supply

    @property
    def awaited(self) -> int | None:
        """The turn that it has not been asked for yet, as a number."""
        state = self._state
        if state.stage != "ready":
            return super().awaited
        return position(state.step, state.iteration, self._plan.iterations)

    def reopen(
        self, direction: int, size: int, step: int, iteration: int, sealed: Sequence[bytes]
    ) -> list[bytes]:
        """Look again at a list that it has received or sent, as a curious party may."""
        secret = self._supply.secrets["channel"]
        channel = Channel(channel_cipher(self._cipher, secret, self.agreement), direction, size)
        return channel.open(step, iteration, range(self.agreement.arms), sealed, NEVER)

    def _make_tools(self, run: bytes) -> _Tools:
        agreed, secrets = self._plan.agreement(run), self._supply.secrets
        cipher = channel_cipher(self._cipher, secrets["channel"], agreed)
        keys = make_keys(CompKeys, secrets["comp"], agreed)
        random_ties = self._plan.config.tie_breaking == "random"
        return _Tools(
            agreed,
            Channel(cipher, SCORES, SCORE_BYTES),
            Channel(cipher, BITS, BIT_BYTES),
            TurnWords(keys.waits, agreed.arms, agreed.iterations),
            Ties(keys.ties, agreed.iterations, random_ties),
        )

    def _compute(self, event: Any) -> Step:
        match event:
            case ScoreList():
                self._check_turn(event.step, event.iteration)
                return self._answer(self._compare(event))
            case Explore():
                self._check_exploring(event.step, "empty")
                # The Controller knows the order: no place may be likelier than another.
                tie = self._tools.ties.draw(self._state.step, 1)
                return self._answer(int(any_place(tie, self.agreement.arms)))
            case Drawn():
                self._check_exploring(event.step, "published", "published-each")
                return self._answer(self._compare_drawn(event))
            case Start():
                return self._begin(event)
            case _:
                return super()._compute(event)

    def _begin(self, start: Start) -> Step:
        self._accepted(start)
        tools = self._make_tools(start.run)
        step = start.arms + 1
        after = self._after(stage=self._next_stage(step), run=start.run, step=step)
        return self._begun(after, tools)

    def _next_stage(self, step: int) -> str:
        return "ready" if step <= self._plan.rounds else "done"

    def _check_turn(self, step: int, iteration: int) -> None:
        turn = (self._state.step, self._state.iteration)
        if (step, iteration) != turn:
            raise OutOfOrderError(
                f"{self.name}: asked for step {step}.{iteration}, this is {turn[0]}.{turn[1]}"
            )

    def _check_exploring(self, step: int, *shortcuts: str) -> None:
        self._check_turn(step, 1)
        if not self.agreement.can_explore:
            raise OutOfOrderError(f"{self.name}: this algorithm does not explore")
        if self._shortcut not in shortcuts:
            raise OutOfOrderError(f"{self.name}: explores with the shortcut {self._shortcut!r}")

    def _compare_drawn(self, message: Drawn) -> int:
        if len(message.scores) != self.agreement.arms:
            raise PacketLengthError(
                f"{self.name}: {len(message.scores)} drawn scores of {self.agreement.arms} owners"
            )
        place = int(select_drawn(np.array(message.scores, dtype=np.float64)))
        if place < 0:
            raise NotFiniteError(f"{self.name}: a score that is no score at step {message.step}")
        if self._shortcut == "published" and len(set(message.scores)) > 1:
            # One number for all: unequal ones would let the Controller choose.
            raise OutOfOrderError(f"{self.name}: drawn scores differ at step {message.step}")
        return place

    def _compare(self, message: ScoreList) -> int:
        state, (agreed, scores, _, waits, ties) = self._state, self._tools
        step, iteration = state.step, state.iteration
        if len(message.sealed) != agreed.arms:
            raise PacketLengthError(
                f"{self.name}: {len(message.sealed)} scores of {agreed.arms} owners"
            )
        opened = scores.open(step, iteration, range(agreed.arms), message.sealed, state.answered)
        words = waits.words(step, iteration)
        tie, comparison = ties.draw(step, iteration), agreed.comparisons[iteration - 1]
        place = int(select_arm(comparison, floats(opened), tie, words, np.empty(agreed.arms)))
        if place < 0:
            raise NotFiniteError(f"{self.name}: a score that is no score at step {step}")
        return place

    def _answer(self, place: int) -> Step:
        state, agreed = self._state, self.agreement
        step, iteration = state.step, state.iteration
        bits = [BIT[i == place] for i in range(agreed.arms)]
        sealed = self._tools.bits.seal(step, iteration, range(agreed.arms), bits, state.answered)
        following = agreed.next_turn(step, iteration)
        answer = BitList(
            sender=self.name,
            receiver=self._controller,
            step=step,
            iteration=iteration,
            sealed=tuple(sealed),
        )
        after = self._after(
            stage=self._next_stage(following[0]), step=following[0], iteration=following[1],
            answered=(step, iteration),
        )  # fmt: skip
        return Step(after, [answer])
