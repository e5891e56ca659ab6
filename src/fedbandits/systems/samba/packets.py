"""SAMBA's steps with every packet sealed and opened by itself, as between real parties."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.crypto.aead import PacketCipher, nonce_prefix
from fedbandits.crypto.keystream import permute
from fedbandits.learners.index_rules import explores
from fedbandits.random import Key
from fedbandits.systems.samba.draws import BIT_BYTES, BITS, SCORE_BYTES, SCORES, Batch
from fedbandits.systems.samba.kernels import owners_score, owners_take, select_arm
from fedbandits.systems.samba.plan import Plan
from fedbandits.systems.samba.state import Owners, Scratch

#: Sees what Comp receives and answers: step, iteration, sealed scores and bits, both by place.
Observer = Callable[[int, int, Sequence[bytes], Sequence[bytes]], None]
#: Those whose time is told apart (Figure 8d).
ROLES = ("data owners", "controller", "comp", "customer")
_BIT = (b"\x00", b"\x01")


class PacketSteps:
    """Plays steps; every role does all of its cryptographic operations.

    Parameters
    ----------
    plan
        What was agreed on.
    cipher
        Of scores and bits.
    shortcut
        Owners send no scores in steps that explore.
    seconds
        Time spent, by role; added to.
    """

    def __init__(
        self, plan: Plan, cipher: PacketCipher, shortcut: bool, seconds: dict[str, float]
    ) -> None:
        self._plan, self._cipher, self._seconds = plan, cipher, seconds
        self._shortcut = shortcut
        self._slots = [place.to_bytes(4, "big") for place in range(plan.arms)]
        self.observer: Observer | None = None

    def play(
        self, world: Any, owners: Owners, key: Key, first: int, draws: Batch, scratch: Scratch,
        explored: Ints,
    ) -> int:  # fmt: skip
        """Play as many steps as there are draws; returns 0, or the step that was refused."""
        for s in range(len(draws.exploration)):
            step = first + s
            exploring = explores(
                self._plan.rule, step, self._plan.arms, float(draws.exploration[s])
            )
            explored[0] += exploring
            for i in range(self._plan.iterations):
                permute(draws.places[s, i], scratch.places)
                mask = float(draws.masks[s, i])
                if not self._iteration(
                    world, owners, key, step, i, exploring, mask, draws.waits[s, i], scratch
                ):
                    return step
        return 0

    def _iteration(
        self, world: Any, owners: Owners, key: Key, step: int, index: int, exploring: bool,
        mask: float, waits: Any, scratch: Scratch,
    ) -> bool:  # fmt: skip
        """Steps 2 to 5 once; whether all scores were numbers."""
        plan, seconds, clock = self._plan, self._seconds, time.perf_counter
        places: list[int] = scratch.places.tolist()
        silent = exploring and self._shortcut
        began = clock()
        sealed: list[bytes] = []
        if not silent:
            owners_score(plan.rule, index + 1, step, exploring, mask, owners, scratch.masked)
            data = scratch.masked.tobytes()
            payloads = [data[at : at + SCORE_BYTES] for at in range(0, len(data), SCORE_BYTES)]
            nonces = self._nonces(SCORES, step, index + 1)
            sealed = self._cipher.seal([nonces[place] for place in places], payloads)
        owners_done = clock()
        listed = [b""] * plan.arms
        for place, packet in zip(places, sealed, strict=not silent):
            listed[place] = packet
        permuted = clock()
        chosen = 0 if silent else self._compare(step, index, listed, waits, scratch)
        if chosen < 0:
            return False
        nonces = self._nonces(BITS, step, index + 1)
        answers = self._cipher.seal(nonces, [_BIT[p == chosen] for p in range(plan.arms)])
        if self.observer is not None:
            self.observer(step, index + 1, listed, answers)
        compared = clock()
        returned = [answers[place] for place in places]
        unpermuted = clock()
        opened = self._cipher.open([nonces[place] for place in places], returned)
        arm = opened.index(_BIT[1])
        owners_take(world, plan.rule, index + 1, plan.iterations, step, arm, owners, key)
        seconds["data owners"] += owners_done - began + clock() - unpermuted
        seconds["controller"] += permuted - owners_done + unpermuted - compared
        seconds["comp"] += compared - permuted
        return True

    def _compare(
        self, step: int, index: int, listed: Sequence[bytes], waits: Any, scratch: Scratch
    ) -> int:
        """Step 4 up to the choice: the place, or -1."""
        masked = floats(self._cipher.open(self._nonces(SCORES, step, index + 1), listed))
        return int(select_arm(self._plan.comparisons[index], masked, waits, scratch.waits))

    def _nonces(self, direction: int, step: int, iteration: int) -> list[bytes]:
        return list(map(nonce_prefix(direction, step, iteration).__add__, self._slots))


def floats(payloads: Sequence[bytes]) -> Floats:
    """Masked scores from packets."""
    return np.frombuffer(b"".join(payloads), "<f8").astype(np.float64)


def packet_bytes(cipher: PacketCipher) -> tuple[int, int]:
    """Bytes on the wire of one sealed score and one sealed bit."""
    return SCORE_BYTES + cipher.overhead, BIT_BYTES + cipher.overhead
