"""SAMBA's Comp: compares masked scores in an order that tells it nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fedbandits.crypto.aead import Channel, CipherName, PacketLengthError
from fedbandits.crypto.keystream import KeyStream
from fedbandits.federation.messages import (
    Message,
    NotFiniteError,
    OutOfOrderError,
)
from fedbandits.federation.party import Party, Transitions
from fedbandits.systems.samba.draws import (
    BIT_BYTES,
    BITS,
    SCORE_BYTES,
    SCORES,
    position,
    waits_key,
)
from fedbandits.systems.samba.kernels import select_arm
from fedbandits.systems.samba.messages import (
    BitList,
    Explore,
    ScoreList,
    Start,
)
from fedbandits.systems.samba.packets import floats
from fedbandits.systems.samba.plan import Plan, channel_cipher, check_order


class Comp(Party):
    """Compares masked scores, not knowing whose they are.

    Parameters
    ----------
    name, controller
        This party's name and the Controller's.
    key
        Of scores and bits, shared with all data owners.
    secret
        Its own, for probability matching.
    cipher
        Of scores and bits.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "Start"): ("ready",),
        ("ready", "ScoreList"): ("ready",),
        ("ready", "Explore"): ("ready",),
    }

    def __init__(
        self, name: str, controller: str, key: bytes, secret: bytes, cipher: CipherName
    ) -> None:
        super().__init__(name, "idle", [controller])
        self._controller, self._key, self._cipher = controller, key, cipher
        self._waits_key = waits_key(secret)
        self._step, self._iteration = 0, 1

    def reopen(
        self, direction: int, size: int, step: int, iteration: int, sealed: Sequence[bytes]
    ) -> list[bytes]:
        """Look again at a list that it has received or sent, as a curious party may."""
        cipher = channel_cipher(self._cipher, self._key, self._plan)
        channel = Channel(cipher, direction, size)
        return channel.open(step, iteration, range(self._plan.arms), sealed)

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Start():
                return self._begin(message)
            case ScoreList():
                self._check_turn(message.step, message.iteration)
                return self._answer("ScoreList", self._compare(message))
            case Explore():
                self._check_turn(message.step, 1)
                if not self._plan.can_explore:
                    raise OutOfOrderError(f"{self.name}: this algorithm does not explore")
                # Places are uniformly random, so the first one is as good as any.
                return self._answer("Explore", 0)
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for me")

    def _begin(self, start: Start) -> list[Message]:
        plan = check_order(self.name, start.budget, start.arms, start.algorithm, start.run)
        cipher = channel_cipher(self._cipher, self._key, plan)
        self._plan: Plan = plan
        self._scores = Channel(cipher, SCORES, SCORE_BYTES)
        self._bits = Channel(cipher, BITS, BIT_BYTES)
        self._stream = KeyStream(self._waits_key, start.arms)
        self._step = start.arms + 1
        self._move("Start", "ready")
        return []

    def _check_turn(self, step: int, iteration: int) -> None:
        turn = (self._step, self._iteration)
        if (step, iteration) != turn or self._step > self._plan.budget:
            raise OutOfOrderError(
                f"{self.name}: asked for step {step}.{iteration}, this is {turn[0]}.{turn[1]}"
            )

    def _compare(self, message: ScoreList) -> int:
        plan = self._plan
        if len(message.sealed) != plan.arms:
            raise PacketLengthError(
                f"{self.name}: {len(message.sealed)} scores of {plan.arms} owners"
            )
        opened = self._scores.open(self._step, self._iteration, range(plan.arms), message.sealed)
        words = self._stream.words(position(self._step, self._iteration, plan.iterations))
        comparison = plan.comparisons[self._iteration - 1]
        place = int(select_arm(comparison, floats(opened), words, np.empty(plan.arms)))
        if place < 0:
            raise NotFiniteError(f"{self.name}: a score that is no score at step {self._step}")
        return place

    def _answer(self, event: str, place: int) -> list[Message]:
        arms, step, iteration = self._plan.arms, self._step, self._iteration
        bits = [b"\x01" if i == place else b"\x00" for i in range(arms)]
        sealed = tuple(self._bits.seal(step, iteration, range(arms), bits))
        self._scores.advance(step, iteration)
        if iteration < self._plan.iterations:
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
