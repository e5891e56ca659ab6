"""Who plays the steps of a compiled run: for each comparison, and each way to execute it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Ints
from fedbandits.crypto.aead import PacketCipher, StreamCipher
from fedbandits.crypto.counters import counter_blocks
from fedbandits.crypto.keystream import permute
from fedbandits.learners.kernels.index_rules import explores
from fedbandits.random import Key
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.fixed_point import bits_for_ties
from fedbandits.systems.samba.kernels import (
    Pads,
    Scratch,
    list_drawn,
    new_scratch,
    open_scores,
    owners_score,
    owners_take,
    select_arm,
    select_drawn,
    send_bits,
    send_scores,
)
from fedbandits.systems.samba.packets import BITS, SCORES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.sealed_steps import Observer, SealedSteps, Timer
from fedbandits.systems.samba.silent.draws import SilentStreams
from fedbandits.systems.samba.silent.steps import new_silent_scratch, play_plain_silent
from fedbandits.systems.samba.state import Clock, Owners
from fedbandits.systems.samba.streams import Batch, SimulatedSecrets, Streams

#: Numbers of key stream that are made at once. A cipher block for each stays below 128 KiB: from
#: there on memory may be mapped, and emptied, anew for every batch, which costs as much as a step.
_CHUNK = 7 << 10


class Setting(NamedTuple):
    """What a player goes by, and what it changes: the clock's counters, owners and seconds."""

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
    """Steps that are played at once where a step draws about one number for each arm."""
    return max(1, _CHUNK // (agreed.arms * agreed.iterations))


class Player(Protocol):
    """Plays steps in which owners' scores decide on an arm, which is pulled."""

    #: Steps that may be played in one call.
    at_once: int

    def play(self, first: int, count: int) -> int:
        """Play ``count`` steps from ``first`` on; returns 0, or the step that was refused."""


@compiled
def play_steps(
    world: Any, rule: Any, comparisons: Ints, owners: Owners, key: Key, first: int, draws: Batch,
    pads: Pads, scratch: Scratch, explored: Ints,
) -> int:  # fmt: skip
    """Play as many steps as there are draws; returns 0, or the step whose scores were refused."""
    arms, iterations = scratch.places.size, comparisons.size
    for s in range(draws.exploration.size):
        step = first + s
        exploring = explores(rule, step, arms, draws.exploration[s])
        explored[0] += exploring
        row = min(s, pads.scores.shape[0] - 1)
        for i in range(iterations):
            permute(draws.places[s, i], scratch.places)
            if exploring and draws.drawn.shape[1] > 0:
                list_drawn(draws.drawn[s], scratch.places, scratch.opened)
                place = select_drawn(scratch.opened)
            else:
                mask = draws.masks[s, i]
                owners_score(rule, i + 1, step, exploring, mask, owners, scratch.masked)
                pad = pads.scores[row, i]
                send_scores(scratch.masked.view(np.uint64), scratch.places, pad, scratch.listed)
                open_scores(scratch.listed, pad, scratch.opened.view(np.uint64))
                place = select_arm(
                    comparisons[i],
                    scratch.opened,
                    draws.ties[s, i],
                    draws.waits[s, i],
                    scratch.waits,
                )
            if place < 0:
                return step
            arm = send_bits(place, scratch.places, pads.bits[row, i], scratch.bits)
            owners_take(world, rule, i + 1, iterations, step, arm, owners, key)
    return 0


class PublishedPlayer:
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

    def _pads(self, first: int, count: int) -> Pads:
        """Key stream of the stream cipher, whose nonces are left out here; zeros without one."""
        iterations, arms = self.agreed.iterations, self.agreed.arms
        cipher = self._setting.cipher
        if not isinstance(cipher, StreamCipher):
            shape = (1, iterations, arms)
            return Pads(np.zeros(shape, np.uint64), np.zeros(shape, np.uint8))
        scores, bits = (
            cipher.keystream(counter_blocks(direction, first, count, iterations, arms))
            for direction in (SCORES, BITS)
        )
        return Pads(
            np.ascontiguousarray(scores[..., 0]), (bits[..., 0] & np.uint64(0xFF)).astype(np.uint8)
        )


class PlainSilentPlayer:
    """One machine compares the words of all owners, as every silent run must.

    Parameters
    ----------
    setting
        What is played.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        self._streams = SilentStreams(setting.secrets, self.agreed)
        self._tie_bits = bits_for_ties(self.agreed.arms)
        self._scratch = new_silent_scratch(self.agreed.arms)
        self.at_once = usual_steps(self.agreed)

    def play(self, first: int, count: int) -> int:
        """Play some steps."""
        draws, setting = self._streams.batch(first, count), self._setting
        return play_plain_silent(
            setting.world, self.agreed.rule, self.agreed.iterations, setting.owners, setting.key,
            first, draws, self._tie_bits, self._scratch,
        )  # fmt: skip
