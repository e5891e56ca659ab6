"""Silent steps in one compiled loop: nothing sealed, or all that travels by key stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares.dealing import first_width, second_width
from fedbandits.errors import FedbanditsError
from fedbandits.random import Key
from fedbandits.systems.samba.players import Setting, usual_steps
from fedbandits.systems.samba.silent.buffers import (
    Bracket,
    Buffers,
    buffer_words,
    buffers_in,
    make_bracket,
)
from fedbandits.systems.samba.silent.draws import SilentBatch
from fedbandits.systems.samba.silent.kernels import (
    Dealt,
    Links,
    OwnerWords,
    make_links,
    owners_send,
    select,
)
from fedbandits.systems.samba.silent.simulated_parts import make_parts
from fedbandits.systems.samba.silent.steps import (
    SilentScratch,
    owners_note,
    owners_words,
)
from fedbandits.systems.samba.silent.streams import turn_number
from fedbandits.systems.samba.state import Owners

#: Steps that are played in one call at least.
_LEAST_STEPS = 256
#: Words dealt and expanded at once: more, and the memory costs more than the cipher.
_DEALT_AT_ONCE = 1 << 17


@compiled
def play_silent(
    world: Any, rule: Any, iterations: int, owners: Owners, key: Key, first: int,
    draws: SilentBatch, tie_bits: int, bracket: Bracket, dealt: Dealt, links: Links,
    streams: OwnerWords, offset: int, scratch: SilentScratch, buffers: Buffers,
) -> int:  # fmt: skip
    """Play as many steps as there are draws.

    Returns
    -------
    int
        0, the step in which a score was no number, or less than 0 if not exactly one owner was
        told that it is chosen.
    """
    for s in range(draws.exploration.size):
        step = first + s
        for i in range(iterations):
            turn = s * iterations + i
            if not owners_words(rule, i + 1, step, draws, s, owners, tie_bits, scratch):
                return step
            column = turn + offset
            sealed = min(column, streams.up.shape[1] - 1)
            owners_send(scratch.words, streams, column, sealed, buffers.sent)
            arm = select(bracket, dealt, links, streams, turn, offset, buffers)
            if arm < 0:
                return -step
            owners_note(world, rule, i + 1, iterations, step, arm, owners, key)
    return 0


class SilentPlayer:
    """Servers compare scores that are shared between them; no packet is sealed by itself.

    Parameters
    ----------
    setting
        What is played.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        config, arms, iterations = setting.plan.config, setting.agreed.arms, self.agreed.iterations
        self._bracket = make_bracket(arms, config.arity)
        memory = np.zeros(buffer_words(arms, self._bracket), np.uint64)
        self._buffers = buffers_in(memory, self._bracket, arms, np.zeros((2, 0), np.uint8))
        self.at_once = max(_LEAST_STEPS, usual_steps(self.agreed))
        comparisons = len(self._bracket.pairs)
        width = first_width(arms, comparisons) + second_width(arms, comparisons)
        self._dealt_at_once = max(1, _DEALT_AT_ONCE // (width * iterations))
        most = self._dealt_at_once * iterations
        self._parts = make_parts(setting, most)
        self._links: list[KeyStream] = []
        sealed = config.packet_cipher == "stream"
        self._pads = make_links(arms, comparisons, most if sealed else 1)
        if sealed:
            self._links = [
                KeyStream(key, rows.shape[1])
                for key, rows in zip(self._parts.link, self._pads, strict=True)
            ]

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`~fedbandits.systems.samba.players.Player`.

        Raises
        ------
        FedbanditsError
            If not exactly one owner was told that it is chosen, which no scores can cause.
        """
        parts, setting, iterations = self._parts, self._setting, self.agreed.iterations
        draws = parts.draws.batch(first, count)
        begun = turn_number(self.agreed, first, 1)
        streams, column = parts.streams.words(begun, count * iterations)
        for begin in range(0, max(1, count), self._dealt_at_once):
            steps = min(self._dealt_at_once, count - begin)
            number, turns = begun + begin * iterations, steps * iterations
            end = begin + steps
            some = SilentBatch(draws.exploration[begin:end], draws.places[begin:end])
            refused = play_silent(
                setting.world, self.agreed.rule, iterations, setting.owners, setting.key,
                first + begin, some, parts.tie_bits, self._bracket,
                self._dealt(number, turns), self._sealed_links(number, turns), streams,
                column + begin * iterations, parts.scratch, self._buffers,
            )  # fmt: skip
            if refused < 0:
                raise FedbanditsError(f"step {-refused}: not exactly one owner was chosen")
            if refused:
                return refused
        setting.seconds["dealer"] = parts.dealer.seconds
        return 0

    def _dealt(self, number: int, turns: int) -> Dealt:
        """What both servers have for some turns."""
        corrections = self._parts.dealer.deal(number, turns)
        return Dealt(*self._parts.words.make(number, turns), *corrections)

    def _sealed_links(self, number: int, turns: int) -> Links:
        """Key stream of what the servers send each other in some turns."""
        if not self._links:
            return self._pads
        pads = Links(*(rows[:turns] for rows in self._pads))
        for stream, rows in zip(self._links, pads, strict=True):
            stream.fill(number, rows)
        return pads
