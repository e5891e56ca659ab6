"""Published steps of a run without parties: in one compiled loop, or sealed packet by packet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.aead import PacketCipher, StreamCipher, position_prefix
from fedbandits.crypto.bulk import counter_blocks
from fedbandits.crypto.kernels.words import permute
from fedbandits.learners.index_rules import explores
from fedbandits.random import Key
from fedbandits.systems.samba.ciphers import BIT, BITS, SCORE_BYTES, SCORES, floats
from fedbandits.systems.samba.kernels.published import (
    Batch,
    Owners,
    PacketPads,
    Scratch,
    any_place,
    list_drawn,
    new_scratch,
    owners_score,
    owners_take,
    play_steps,
    select_arm,
    select_drawn,
)
from fedbandits.systems.samba.keys import SimulatedSecrets
from fedbandits.systems.samba.plan import Agreement, SambaPlan
from fedbandits.systems.samba.state import Clock
from fedbandits.systems.samba.streams import Streams

#: Numbers of key stream that are made at once. A cipher block for each stays below 128 KiB: from
#: there on memory may be mapped, and emptied, anew for every batch, which costs as much as a step.
_CHUNK = 7 << 10


class Setting(NamedTuple):
    """Inputs of steps, and what they change: the clock's counters, owners and seconds."""

    plan: SambaPlan
    agreed: Agreement
    secrets: SimulatedSecrets
    cipher: PacketCipher  # of scores and bits
    world: Any
    key: Key
    clock: Clock
    owners: Owners
    seconds: dict[str, float]  # time spent, by role; added to
    observer: Observer | None
    timer: Timer


def usual_steps(agreed: Agreement) -> int:
    """Count steps that are played at once where a step draws about one number for each arm."""
    return max(1, _CHUNK // (agreed.arms * agreed.iterations))


class Steps(Protocol):
    """Plays steps in which owners' scores decide on an arm, which is pulled."""

    #: Steps that may be played in one call.
    at_once: int

    def play(self, first: int, count: int) -> int:
        """Play ``count`` steps from ``first`` on; returns 0, or the step that was refused."""


class PublishedSteps:
    """Comp compares masked scores: in clear, or sealed by either cipher.

    Parameters
    ----------
    setting
        What is played. With an observer, or AES-GCM, every packet is sealed by itself.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        plan, config = setting.plan, setting.plan.config
        self._streams = Streams(
            setting.secrets, self.agreed, config.tie_breaking == "random", plan.drawn_scores
        )
        #: What plays instead of the compiled loop, if anything does.
        self.sealed: SealedSteps | None = None
        if setting.observer is not None or config.packet_cipher == "aes-gcm":
            unsent = config.exploration_shortcut != "none"
            self.sealed = SealedSteps(
                self.agreed, setting.cipher, unsent, setting.seconds, setting.observer,
                setting.timer,
            )  # fmt: skip
        self._scratch = new_scratch(plan.arms)
        self.at_once = usual_steps(self.agreed)

    def play(self, first: int, count: int) -> int:
        """Play some steps, whichever way."""
        draws, setting = self._streams.batch(first, count), self._setting
        world, key, owners = setting.world, setting.key, setting.owners
        explored = setting.clock.explored
        if self.sealed is not None:
            return self.sealed.play(world, owners, key, first, draws, self._scratch, explored)
        return play_steps(
            world, self.agreed.rule, np.array(self.agreed.comparisons), owners, key, first, draws,
            self._pads(first, count), self._scratch, explored,
        )  # fmt: skip

    def _pads(self, first: int, count: int) -> PacketPads:
        """Make the stream cipher's key stream, without nonces; zeros where there is none."""
        iterations, arms = self.agreed.iterations, self.agreed.arms
        cipher = self._setting.cipher
        if not isinstance(cipher, StreamCipher):
            shape = (1, iterations, arms)
            return PacketPads(np.zeros(shape, np.uint64), np.zeros(shape, np.uint8))
        scores, bits = (
            cipher.keystream(counter_blocks(direction, first, count, iterations, arms))
            for direction in (SCORES, BITS)
        )
        return PacketPads(
            np.ascontiguousarray(scores[..., 0]), (bits[..., 0] & np.uint64(0xFF)).astype(np.uint8)
        )


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
        """Play steps 2 to 5 once; returns whether all scores were numbers."""
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
        """Choose a place as Comp does (step 4), or -1."""
        masked = floats(self._cipher.open(self._positions(SCORES, step, index + 1), listed))
        comparison = self._agreed.comparisons[index]
        return int(select_arm(comparison, masked, chances.tie, chances.waits, scratch.waits))

    def _positions(self, direction: int, step: int, iteration: int) -> list[bytes]:
        return list(map(position_prefix(direction, step, iteration).__add__, self._slots))
