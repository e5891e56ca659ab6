"""Silent steps in one compiled loop: nothing sealed, or all that travels by key stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares.dealing import first_width, second_width
from fedbandits.errors import FedbanditsError
from fedbandits.random import Key
from fedbandits.systems.samba.fixed_point import bits_for_ties
from fedbandits.systems.samba.players import Setting, usual_steps
from fedbandits.systems.samba.silent.buffers import (
    Bracket,
    Buffers,
    buffer_words,
    buffers_in,
    make_bracket,
)
from fedbandits.systems.samba.silent.draws import SilentBatch, SilentStreams
from fedbandits.systems.samba.silent.kernels import (
    Dealt,
    Links,
    OwnerWords,
    make_links,
    owners_send,
    select,
)
from fedbandits.systems.samba.silent.owner_streams import OwnerStreams
from fedbandits.systems.samba.silent.simulated_dealer import Dealer, SeedWords
from fedbandits.systems.samba.silent.steps import (
    SilentScratch,
    new_silent_scratch,
    owners_note,
    owners_words,
)
from fedbandits.systems.samba.silent.streams import SilentSecrets, turn_number
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
        config, arms = setting.plan.config, setting.agreed.arms
        self._iterations, self._tie_bits = self.agreed.iterations, bits_for_ties(arms)
        self._draws = SilentStreams(setting.secrets, self.agreed)
        self._bracket = make_bracket(arms, config.arity)
        memory = np.zeros(buffer_words(arms, self._bracket), np.uint64)
        self._buffers = buffers_in(memory, self._bracket, arms, np.zeros((2, 0), np.uint8))
        self._scratch = new_silent_scratch(arms)
        self.at_once = max(_LEAST_STEPS, usual_steps(self.agreed))
        comparisons, cipher = len(self._bracket.pairs), config.packet_cipher
        width = first_width(arms, comparisons) + second_width(arms, comparisons)
        self._dealt_at_once = max(1, _DEALT_AT_ONCE // (width * self._iterations))
        secrets, most = SilentSecrets.simulated(setting.secrets), self._dealt_at_once
        keys = [secrets.owner(f"owner-{i}", self.agreed) for i in range(arms)]
        self._streams = OwnerStreams(keys, self.agreed, cipher == "stream")
        self._dealer = Dealer(
            secrets.dealer(self.agreed), arms, comparisons, most * self._iterations, cipher,
            setting.timer,
        )  # fmt: skip
        self._words = SeedWords(
            secrets.dealer(self.agreed), arms, comparisons, most * self._iterations
        )
        self._links: list[KeyStream] = []
        if cipher == "stream":
            self._pads = make_links(arms, comparisons, most * self._iterations)
            link = secrets.controller((), self.agreed).link
            self._links = [
                KeyStream(key, rows.shape[1]) for key, rows in zip(link, self._pads, strict=True)
            ]
        else:
            self._pads = make_links(arms, comparisons, 1)

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`~fedbandits.systems.samba.players.Player`.

        Raises
        ------
        FedbanditsError
            If not exactly one owner was told that it is chosen, which no scores can cause.
        """
        draws, setting, iterations = (
            self._draws.batch(first, count),
            self._setting,
            self._iterations,
        )
        begun = turn_number(self.agreed, first, 1)
        streams, column = self._streams.words(begun, count * iterations)
        for begin in range(0, max(1, count), self._dealt_at_once):
            steps = min(self._dealt_at_once, count - begin)
            number, turns = begun + begin * iterations, steps * iterations
            end = begin + steps
            some = SilentBatch(draws.exploration[begin:end], draws.places[begin:end])
            refused = play_silent(
                setting.world, self.agreed.rule, iterations, setting.owners, setting.key,
                first + begin, some, self._tie_bits, self._bracket,
                self._dealt(number, turns), self._sealed_links(number, turns), streams,
                column + begin * iterations, self._scratch, self._buffers,
            )  # fmt: skip
            if refused < 0:
                raise FedbanditsError(f"step {-refused}: not exactly one owner was chosen")
            if refused:
                return refused
        setting.seconds["dealer"] = self._dealer.seconds
        return 0

    def _dealt(self, number: int, turns: int) -> Dealt:
        """What both servers have for some turns."""
        corrections = self._dealer.deal(number, turns)
        return Dealt(*self._words.make(number, turns), *corrections)

    def _sealed_links(self, number: int, turns: int) -> Links:
        """Key stream of what the servers send each other in some turns."""
        if not self._links:
            return self._pads
        pads = Links(*(rows[:turns] for rows in self._pads))
        for stream, rows in zip(self._links, pads, strict=True):
            stream.fill(number, rows)
        return pads
