"""SAMBA's Comp: compares masked scores in an order that tells it nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fedbandits.crypto.aead import NEVER, Channel, PacketLengthError, Turn
from fedbandits.federation.messages import NotFiniteError, OutOfOrderError
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.ciphers import BIT, SCORES, floats, make_channels
from fedbandits.systems.samba.kernels import any_place, select_arm, select_drawn
from fedbandits.systems.samba.messages import BitList, Drawn, Explore, ScoreList, Start
from fedbandits.systems.samba.plan import Agreement
from fedbandits.systems.samba.roles.run import Member, NamedRunState, endings
from fedbandits.systems.samba.streams import CompDraws, position


class CompState(NamedRunState, frozen=True, kw_only=True):
    """All that changes in Comp."""

    # What it is asked for next.
    step: int = 0
    iteration: int = 1
    # The last turn that it has answered: it opens nothing of it again, and seals nothing for it.
    answered: Turn = NEVER


class _Tools(NamedTuple):
    """Channels and streams of Comp in one run."""

    agreed: Agreement
    scores: Channel
    bits: Channel
    draws: CompDraws


class Comp(Member[CompState]):
    """Compares masked scores, not knowing whose they are."""

    STATE = CompState
    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Start): ("ready", "done"),
        ("ready", ScoreList): ("ready", "done"),
        ("ready", Explore): ("ready", "done"),
        ("ready", Drawn): ("ready", "done"),
        **endings("ready", "idle", "done"),
    }

    _tools: _Tools

    @property
    def awaited(self) -> int | None:
        """The turn that it has not been asked for yet, as a number."""
        state = self._state
        if state.stage != "ready":
            return super().awaited
        return position(state.step, state.iteration, self._plan.iterations)

    def reopen(
        self, direction: int, step: int, iteration: int, sealed: Sequence[bytes]
    ) -> list[bytes]:
        """Look again at a list that it has received or sent, as a curious party may."""
        channels = self._channels(self.agreement)
        channel = channels[0 if direction == SCORES else 1]
        return channel.open(step, iteration, range(self.agreement.arms), sealed, NEVER)

    def _channels(self, agreed: Agreement) -> tuple[Channel, Channel]:
        return make_channels(self._config.packet_cipher, self._supply.secrets["channel"], agreed)

    def _make_tools(self, run: bytes) -> _Tools:
        agreed = self._plan.agreement(run)
        random_ties = self._config.tie_breaking == "random"
        draws = CompDraws(self._supply.secrets["comp"], agreed, random_ties)
        return _Tools(agreed, *self._channels(agreed), draws)

    def _compute(self, event: Any) -> Step:
        match event:
            case ScoreList():
                self._check_turn("asked for", event.step, event.iteration)
                return self._answer(self._compare(event))
            case Explore():
                self._check_exploring(event.step, "empty")
                # The Controller knows the order: no place may be likelier than another.
                tie = self._tools.draws.ties.draw(self._state.step, 1)
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
        tools, step = self._make_tools(start.run), start.arms + 1
        after = self._after(stage=self._next_stage(step), run=start.run, step=step)
        return self._begun(after, tools)

    def _next_stage(self, step: int) -> str:
        return "ready" if step <= self._plan.rounds else "done"

    def _check_exploring(self, step: int, *shortcuts: str) -> None:
        self._check_turn("asked for", step, 1)
        if not self.agreement.can_explore:
            raise OutOfOrderError(f"{self.name}: this algorithm does not explore")
        shortcut = self._config.exploration_shortcut
        if shortcut not in shortcuts:
            raise OutOfOrderError(f"{self.name}: explores with the shortcut {shortcut!r}")

    def _found(self, place: int, step: int) -> int:
        """Return the place of the arm that was chosen, unless a score is not one."""
        if place < 0:
            raise NotFiniteError(f"{self.name}: a score that is no score at step {step}")
        return place

    def _compare_drawn(self, message: Drawn) -> int:
        scores = message.scores
        if len(scores) != self.agreement.arms:
            raise PacketLengthError(
                f"{self.name}: {len(scores)} drawn scores of {self.agreement.arms} owners"
            )
        place = int(select_drawn(np.array(scores, dtype=np.float64)))
        place = self._found(place, message.step)
        if self._config.exploration_shortcut == "published" and len(set(scores)) > 1:
            # One number for all: unequal ones would let the Controller choose.
            raise OutOfOrderError(f"{self.name}: drawn scores differ at step {message.step}")
        return place

    def _compare(self, message: ScoreList) -> int:
        state, (agreed, scores, _, draws) = self._state, self._tools
        step, iteration = state.step, state.iteration
        if len(message.sealed) != agreed.arms:
            raise PacketLengthError(
                f"{self.name}: {len(message.sealed)} scores of {agreed.arms} owners"
            )
        opened = scores.open(step, iteration, range(agreed.arms), message.sealed, state.answered)
        words = draws.waits.words(step, iteration)
        tie, comparison = draws.ties.draw(step, iteration), agreed.comparisons[iteration - 1]
        place = int(select_arm(comparison, floats(opened), tie, words, np.empty(agreed.arms)))
        return self._found(place, step)

    def _answer(self, place: int) -> Step:
        state, agreed = self._state, self.agreement
        step, iteration = turn = state.step, state.iteration
        bits = [BIT[i == place] for i in range(agreed.arms)]
        sealed = self._tools.bits.seal(*turn, range(agreed.arms), bits, state.answered)
        answer = BitList(
            sender=self.name, receiver=self._controller, step=step, iteration=iteration,
            sealed=tuple(sealed),
        )  # fmt: skip
        step, iteration = agreed.next_turn(*turn)
        after = self._after(
            stage=self._next_stage(step), step=step, iteration=iteration, answered=turn
        )
        return Step(after, [answer])
