"""SAMBA's steps with every packet sealed and opened by itself, as between real parties."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.aead import PacketCipher, position_prefix
from fedbandits.crypto.keystream import permute
from fedbandits.learners.kernels.index_rules import explores
from fedbandits.random import Key
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.kernels import (
    Scratch,
    any_place,
    list_drawn,
    owners_score,
    owners_take,
    select_arm,
    select_drawn,
)
from fedbandits.systems.samba.packets import BIT, BITS, SCORE_BYTES, SCORES, floats
from fedbandits.systems.samba.state import Owners
from fedbandits.systems.samba.streams import Batch

#: Sees what Comp receives and answers: step, iteration, sealed scores and bits, both by place.
Observer = Callable[[int, int, Sequence[bytes], Sequence[bytes]], None]
#: Returns seconds since some moment.
Timer = Callable[[], float]
#: Those whose time is told apart (Figure 8d).
ROLES = ("data owners", "controller", "comp", "customer")


class Chances(NamedTuple):
    """Random words of one iteration."""

    tie: np.uint64
    waits: Words64  # (arms or 0,)
    drawn: Words64  # (0, 1 or arms,)


class SealedSteps:
    """Plays steps; every role does all of its cryptographic operations.

    Parameters
    ----------
    agreed
        What was agreed on.
    cipher
        The cipher of scores and bits.
    silent
        Whether owners send no scores in steps that explore.
    seconds
        Time spent, by role; added to.
    observer
        Called with the packets of every iteration.
    clock
        What time is measured by.
    """

    def __init__(
        self,
        agreed: Agreement,
        cipher: PacketCipher,
        silent: bool,
        seconds: dict[str, float],
        observer: Observer | None = None,
        clock: Timer = time.perf_counter,
    ) -> None:
        self._clock = clock
        self._agreed, self._cipher, self._seconds = agreed, cipher, seconds
        self._silent, self._observer = silent, observer
        self._slots = [place.to_bytes(4, "big") for place in range(agreed.arms)]

    def play(
        self, world: Any, owners: Owners, key: Key, first: int, draws: Batch, scratch: Scratch,
        explored: Ints,
    ) -> int:  # fmt: skip
        """Play as many steps as there are draws; returns 0, or the step that was refused."""
        for s in range(len(draws.exploration)):
            step = first + s
            exploring = explores(
                self._agreed.rule, step, self._agreed.arms, float(draws.exploration[s])
            )
            explored[0] += exploring
            for i in range(self._agreed.iterations):
                permute(draws.places[s, i], scratch.places)
                mask = float(draws.masks[s, i])
                chances = Chances(draws.ties[s, i], draws.waits[s, i], draws.drawn[s])
                if not self._iteration(
                    world, owners, key, step, i, exploring, mask, chances, scratch
                ):
                    return step
        return 0

    def _iteration(
        self, world: Any, owners: Owners, key: Key, step: int, index: int, exploring: bool,
        mask: float, chances: Chances, scratch: Scratch,
    ) -> bool:  # fmt: skip
        """Steps 2 to 5 once; whether all scores were numbers."""
        agreed, seconds, clock = self._agreed, self._seconds, self._clock
        places: list[int] = scratch.places.tolist()
        silent = exploring and self._silent
        began = clock()
        sealed: list[bytes] = []
        if not silent:
            owners_score(agreed.rule, index + 1, step, exploring, mask, owners, scratch.masked)
            data = scratch.masked.tobytes()
            payloads = [data[at : at + SCORE_BYTES] for at in range(0, len(data), SCORE_BYTES)]
            positions = self._positions(SCORES, step, index + 1)
            sealed = self._cipher.seal([positions[place] for place in places], payloads)
        owners_done = clock()
        listed = [b""] * agreed.arms
        for place, packet in zip(places, sealed, strict=not silent):
            listed[place] = packet
        drawn = silent and chances.drawn.size > 0
        if drawn:
            list_drawn(chances.drawn, scratch.places, scratch.opened)
        permuted = clock()
        if drawn:
            chosen = int(select_drawn(scratch.opened))
        elif silent:
            chosen = int(any_place(chances.tie, agreed.arms))
        else:
            chosen = self._compare(step, index, listed, chances, scratch)
        if chosen < 0:
            return False
        positions = self._positions(BITS, step, index + 1)
        answers = self._cipher.seal(positions, [BIT[p == chosen] for p in range(agreed.arms)])
        if self._observer is not None:
            self._observer(step, index + 1, listed, answers)
        compared = clock()
        returned = [answers[place] for place in places]
        unpermuted = clock()
        opened = self._cipher.open([positions[place] for place in places], returned)
        arm = opened.index(BIT[1])
        owners_take(world, agreed.rule, index + 1, agreed.iterations, step, arm, owners, key)
        seconds["data owners"] += owners_done - began + clock() - unpermuted
        seconds["controller"] += permuted - owners_done + unpermuted - compared
        seconds["comp"] += compared - permuted
        return True

    def _compare(
        self, step: int, index: int, listed: Sequence[bytes], chances: Chances, scratch: Scratch
    ) -> int:
        """Step 4 up to the choice: the place, or -1."""
        masked = floats(self._cipher.open(self._positions(SCORES, step, index + 1), listed))
        comparison = self._agreed.comparisons[index]
        return int(select_arm(comparison, masked, chances.tie, chances.waits, scratch.waits))

    def _positions(self, direction: int, step: int, iteration: int) -> list[bytes]:
        return list(map(position_prefix(direction, step, iteration).__add__, self._slots))
