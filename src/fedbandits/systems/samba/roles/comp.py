"""SAMBA's Comp: compares masked scores in an order that tells it nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from fedbandits.crypto.aead import Channel, PacketLengthError
from fedbandits.crypto.keystream import KeyStream
from fedbandits.federation.messages import Message, NotFiniteError, OutOfOrderError
from fedbandits.federation.party import Party
from fedbandits.federation.state import Transitions
from fedbandits.systems.samba.agreement import Agreement, accept, channel_cipher
from fedbandits.systems.samba.kernels import any_place, select_arm, select_drawn
from fedbandits.systems.samba.messages import BitList, Drawn, Explore, ScoreList, Start
from fedbandits.systems.samba.packets import BIT, BIT_BYTES, BITS, SCORE_BYTES, SCORES, floats
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.streams import CompKeys, Ties, position


class CompSupply(NamedTuple):
    """What Comp brings.

    Parameters
    ----------
    key
        Secret from which the key of scores and bits is made; all data owners share it.
    secret
        Comp's own secret, for probability matching and for choosing among equal scores.
    """

    key: bytes
    secret: bytes


class Comp(Party):
    """Compares masked scores, not knowing whose they are.

    Parameters
    ----------
    name, controller
        This party's name and the Controller's.
    plan
        What all parties go by; budget and algorithm are those that the Controller tells.
    supply
        The secrets that it brings.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "Start"): ("ready",),
        ("ready", "ScoreList"): ("ready",),
        ("ready", "Explore"): ("ready",),
        ("ready", "Drawn"): ("ready",),
    }

    def __init__(self, name: str, controller: str, plan: SambaPlan, supply: CompSupply) -> None:
        super().__init__(name, "idle", [controller])
        self._controller, self._cipher = controller, plan.config.packet_cipher
        self._random_ties = plan.config.tie_breaking == "random"
        self._shortcut = plan.config.exploration_shortcut
        self._key, self._secret = supply
        self._step, self._iteration = 0, 1

    def reopen(
        self, direction: int, size: int, step: int, iteration: int, sealed: Sequence[bytes]
    ) -> list[bytes]:
        """Look again at a list that it has received or sent, as a curious party may."""
        cipher = channel_cipher(self._cipher, self._key, self.agreement)
        channel = Channel(cipher, direction, size)
        return channel.open(step, iteration, range(self.agreement.arms), sealed)

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Start():
                return self._begin(message)
            case ScoreList():
                self._check_turn(message.step, message.iteration)
                return self._answer("ScoreList", self._compare(message))
            case Explore():
                self._check_exploring(message.step, "empty")
                # The Controller knows the order: no place may be likelier than another.
                tie = self._ties.draw(self._step, 1)
                return self._answer("Explore", int(any_place(tie, self.agreement.arms)))
            case Drawn():
                self._check_exploring(message.step, "published", "published-each")
                return self._answer("Drawn", self._compare_drawn(message))
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for me")

    def _begin(self, start: Start) -> list[Message]:
        agreed = accept(self.name, start.budget, start.arms, start.algorithm, start.run)
        cipher = channel_cipher(self._cipher, self._key, agreed)
        self.agreement: Agreement = agreed
        self._scores = Channel(cipher, SCORES, SCORE_BYTES)
        self._bits = Channel(cipher, BITS, BIT_BYTES)
        keys = CompKeys.derive(self._secret, start.run)
        self._waits = KeyStream(keys.waits, start.arms)
        self._ties = Ties(keys.ties if self._random_ties else b"", agreed.iterations)
        self._step = start.arms + 1
        self._move("Start", "ready")
        return []

    def _check_turn(self, step: int, iteration: int) -> None:
        turn = (self._step, self._iteration)
        if (step, iteration) != turn or self._step > self.agreement.budget:
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
            raise NotFiniteError(f"{self.name}: a score that is no score at step {self._step}")
        if self._shortcut == "published" and len(set(message.scores)) > 1:
            # One number for all: unequal ones would let the Controller choose.
            raise OutOfOrderError(f"{self.name}: drawn scores differ at step {self._step}")
        return place

    def _compare(self, message: ScoreList) -> int:
        agreed = self.agreement
        if len(message.sealed) != agreed.arms:
            raise PacketLengthError(
                f"{self.name}: {len(message.sealed)} scores of {agreed.arms} owners"
            )
        opened = self._scores.open(self._step, self._iteration, range(agreed.arms), message.sealed)
        words = self._waits.words(position(self._step, self._iteration, agreed.iterations))
        tie = self._ties.draw(self._step, self._iteration)
        comparison = agreed.comparisons[self._iteration - 1]
        place = int(select_arm(comparison, floats(opened), tie, words, np.empty(agreed.arms)))
        if place < 0:
            raise NotFiniteError(f"{self.name}: a score that is no score at step {self._step}")
        return place

    def _answer(self, event: str, place: int) -> list[Message]:
        arms, step, iteration = self.agreement.arms, self._step, self._iteration
        bits = [BIT[i == place] for i in range(arms)]
        sealed = tuple(self._bits.seal(step, iteration, range(arms), bits))
        self._scores.advance(step, iteration)
        if iteration < self.agreement.iterations:
            self._iteration += 1
        else:
            self._step, self._iteration = step + 1, 1
        self._move(event, "ready")
        answer = BitList(
            sender=self.name,
            receiver=self._controller,
            step=step,
            iteration=iteration,
            sealed=sealed,
        )
        return [self._numbered(answer)]
