"""The dealer of a simulation: what it deals for some turns, sealed on its way to both servers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares.dealing import first_width, second_width
from fedbandits.systems.samba.sealed_steps import Timer
from fedbandits.systems.samba.silent.kernels import Dealt, correction_words, deal_turns
from fedbandits.systems.samba.silent.streams import DealerKeys


class _Words(NamedTuple):
    """Memory for some turns, a row a turn."""

    first: Words64
    second: Words64
    for_first: Words64
    for_second: Words64
    seal_first: Words64
    seal_second: Words64


class Dealer:
    """Deals for one turn after the other; both servers expand their own words.

    Parameters
    ----------
    keys
        What it shares with either server.
    arms, comparisons
        Entries of a selection, and its comparisons.
    most
        Turns that are dealt for at once, at most.
    sealed
        Whether corrections are sealed by key stream on their way.
    timer
        What its own time is measured by.
    """

    def __init__(
        self, keys: DealerKeys, arms: int, comparisons: int, most: int, sealed: bool, timer: Timer
    ) -> None:
        self._comparisons, self._sealed, self._timer = comparisons, sealed, timer
        widths = first_width(arms, comparisons), second_width(arms, comparisons)
        sizes = 2 * arms, correction_words(arms, comparisons)
        self._memory = _Words(*(np.empty((most, n), np.uint64) for n in (*widths, *sizes, *sizes)))
        secrets = keys.first.words, keys.second.words
        # The dealer and the servers make the same words, each for itself.
        self._dealers, self._servers = (
            [KeyStream(secret, width) for secret, width in zip(secrets, widths, strict=True)]
            for _ in range(2)
        )
        seals = keys.first.sealed, keys.second.sealed
        self._seals = [KeyStream(secret, size) for secret, size in zip(seals, sizes, strict=True)]
        self._places = np.empty(arms, np.int64)
        #: Seconds that the dealer has worked.
        self.seconds = 0.0

    def deal(self, first: int, turns: int) -> Dealt:
        """Deal for so many turns from turn number ``first`` on; the arrays are used again."""
        memory = _Words(*(words[:turns] for words in self._memory))
        began = self._timer()
        self._expand(self._dealers, first, memory)
        deal_turns(
            memory.first, memory.second, self._comparisons, self._places, memory.for_first,
            memory.for_second,
        )  # fmt: skip
        corrections = memory.for_first, memory.for_second
        seals = memory.seal_first, memory.seal_second
        if self._sealed:
            for stream, seal, words in zip(self._seals, seals, corrections, strict=True):
                stream.fill(first, seal)
                np.bitwise_xor(words, seal, out=words)
        self.seconds += self._timer() - began
        self._expand(self._servers, first, memory)
        if self._sealed:
            for seal, words in zip(seals, corrections, strict=True):
                np.bitwise_xor(words, seal, out=words)
        return Dealt(memory.first, memory.second, *corrections)

    @staticmethod
    def _expand(streams: list[KeyStream], first: int, memory: _Words) -> None:
        for stream, words in zip(streams, (memory.first, memory.second), strict=True):
            stream.fill(first, words)
