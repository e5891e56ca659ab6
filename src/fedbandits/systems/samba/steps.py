"""Published steps of a run without parties: in one compiled loop, or sealed packet by packet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits.crypto.aead import PacketCipher, StreamCipher, position_prefix
from fedbandits.crypto.bulk import counter_blocks
from fedbandits.crypto.kernels.words import permute
from fedbandits.learners.open_rules import OpenRule
from fedbandits.random import Key
from fedbandits.systems.samba.ciphers import BIT, BITS, SCORE_BYTES, SCORES, floats
from fedbandits.systems.samba.kernels.published import (
    Batch,
    Owners,
    PacketPads,
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
#: The same where nothing is sealed: smaller batches cost more than memory.
_PLAIN_CHUNK = 1 << 15
#: Sees what Comp receives and answers: step, iteration, sealed scores and bits, both by place.
Observer = Callable[[int, int, Sequence[bytes], Sequence[bytes]], None]
#: Returns seconds since some moment.
Timer = Callable[[], float]
#: Those whose time is told apart (Figure 8d).
ROLES = ("data owners", "controller", "comp", "customer")


class Setting(NamedTuple):
    """Inputs of steps, and what they change: the clock's counters, owners and seconds."""

    plan: SambaPlan
    agreed: Agreement
    rule: OpenRule  # with the records of the owners
    secrets: SimulatedSecrets
    cipher: PacketCipher  # of scores and bits
    world: Any
    key: Key
    clock: Clock
    owners: Owners
    seconds: dict[str, float]  # time spent, by role; added to
    observer: Observer | None  # called with the packets of every iteration
    timer: Timer


def usual_steps(setting: Setting) -> int:
    """Count steps that are played at once where a step draws about one number for each arm."""
    chunk = _PLAIN_CHUNK if setting.plan.config.execution == "plain" else _CHUNK
    return max(1, chunk // (setting.agreed.arms * setting.agreed.iterations))


class Steps(Protocol):
    """Plays steps in which owners' scores decide on an arm, which is pulled."""

    #: Steps that may be played in one call.
    at_once: int

    def play(self, first: int, count: int) -> int:
        """Play ``count`` steps from ``first`` on; returns 0, or the step that was refused."""


class PublishedSteps:
    """Comp compares masked scores in one compiled loop: in clear, or sealed by key stream."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        plan, config = setting.plan, setting.plan.config
        self._streams = Streams(
            setting.secrets, self.agreed, config.tie_breaking == "random", plan.drawn_scores
        )
        self._scratch = new_scratch(plan.arms)
        self.at_once = usual_steps(setting)

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`Steps`."""
        setting = self._setting
        return play_steps(
            setting.world, setting.rule.handle, np.array(self.agreed.comparisons), setting.owners,
            setting.key, first, self._streams.batch(first, count), self._pads(first, count),
            self._scratch, setting.clock.explored,
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


class SealedSteps(PublishedSteps):
    """Comp compares masked scores; every packet is sealed and opened by itself."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._cipher = setting.cipher
        #: Whether owners send no scores in steps that explore.
        self._unsent = setting.plan.config.exploration_shortcut != "none"
        self._slots = [place.to_bytes(4, "big") for place in range(self.agreed.arms)]

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`Steps`."""
        draws, agreed = self._streams.batch(first, count), self.agreed
        for s in range(count):
            step, drawn = first + s, float(draws.exploration[s])
            exploring = self._setting.rule.explores(step, agreed.arms, drawn)
            self._setting.clock.explored[0] += exploring
            if not all(
                self._iteration(step, i, exploring, draws, s) for i in range(agreed.iterations)
            ):
                return step
        return 0

    def _iteration(self, step: int, index: int, exploring: bool, draws: Batch, s: int) -> bool:
        """Play steps 2 to 5 once; returns whether all scores were numbers."""
        setting, scratch = self._setting, self._scratch
        agreed, rule, owners = self.agreed, setting.rule.handle, setting.owners
        seconds, clock = setting.seconds, setting.timer
        permute(draws.places[s, index], scratch.places)
        places: list[int] = scratch.places.tolist()
        unsent = exploring and self._unsent
        began = clock()
        sealed: list[bytes] = []
        if not unsent:
            mask = float(draws.masks[s, index])
            owners_score(rule, index + 1, step, exploring, mask)
            data = rule.scores.tobytes()
            payloads = [data[at : at + SCORE_BYTES] for at in range(0, len(data), SCORE_BYTES)]
            positions = self._positions(SCORES, step, index + 1)
            sealed = self._cipher.seal([positions[place] for place in places], payloads)
        owners_done = clock()
        listed = [b""] * agreed.arms
        for place, packet in zip(places, sealed, strict=not unsent):
            listed[place] = packet
        drawn = unsent and draws.drawn.shape[1] > 0
        if drawn:
            list_drawn(draws.drawn[s], scratch.places, scratch.opened)
        permuted = clock()
        if drawn:
            chosen = int(select_drawn(scratch.opened))
        elif unsent:
            chosen = int(any_place(draws.ties[s, index], agreed.arms))
        else:
            masked = floats(self._cipher.open(self._positions(SCORES, step, index + 1), listed))
            tie, waits = draws.ties[s, index], draws.waits[s, index]
            comparison = agreed.comparisons[index]
            chosen = int(select_arm(comparison, masked, tie, waits, scratch.waits))
        if chosen < 0:
            return False
        positions = self._positions(BITS, step, index + 1)
        answers = self._cipher.seal(positions, [BIT[p == chosen] for p in range(agreed.arms)])
        if setting.observer is not None:
            setting.observer(step, index + 1, listed, answers)
        compared = clock()
        returned = [answers[place] for place in places]
        unpermuted = clock()
        opened = self._cipher.open([positions[place] for place in places], returned)
        arm = opened.index(BIT[1])
        owners_take(
            setting.world, rule, index + 1, agreed.iterations, step, arm, owners, setting.key
        )
        seconds["data owners"] += owners_done - began + clock() - unpermuted
        seconds["controller"] += permuted - owners_done + unpermuted - compared
        seconds["comp"] += compared - permuted
        return True

    def _positions(self, direction: int, step: int, iteration: int) -> list[bytes]:
        return list(map(position_prefix(direction, step, iteration).__add__, self._slots))
