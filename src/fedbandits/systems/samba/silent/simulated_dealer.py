"""The dealer of a simulation: what it deals for some turns, sealed on its way to both servers."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.aead import CipherName
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares.dealing import first_width, second_width
from fedbandits.systems.samba.sealed_steps import Timer
from fedbandits.systems.samba.silent.blocks import WORD_BYTES
from fedbandits.systems.samba.silent.kernels import correction_words, deal_turns
from fedbandits.systems.samba.silent.packets import Line, to_bytes, to_words
from fedbandits.systems.samba.silent.streams import DEALT, DealerKeys


class _Seals(Protocol):
    """How corrections are sealed for both servers, and opened by them."""

    def seal(self, first: int, corrections: list[Words64]) -> Any:
        """What leaves; the turns are numbered from ``first`` on."""

    def open(self, first: int, turns: int, sealed: Any) -> list[Words64]:
        """What arrives, of so many turns."""


class _KeyStreamSeals:
    """Corrections are sealed by key stream, in place."""

    def __init__(self, keys: tuple[bytes, bytes], sizes: tuple[int, int], most: int) -> None:
        self._streams = [KeyStream(key, size) for key, size in zip(keys, sizes, strict=True)]
        self._pads = [np.empty((most, size), np.uint64) for size in sizes]

    def seal(self, first: int, corrections: list[Words64]) -> list[Words64]:
        for stream, pad, words in zip(self._streams, self._pads, corrections, strict=True):
            some = pad[: len(words)]
            stream.fill(first, some)
            np.bitwise_xor(words, some, out=words)
        return corrections

    def open(self, first: int, turns: int, sealed: list[Words64]) -> list[Words64]:
        del first, turns
        for pad, words in zip(self._pads, sealed, strict=True):
            np.bitwise_xor(words, pad[: len(words)], out=words)
        return sealed


class _PacketSeals:
    """Corrections of some turns are one packet for either server."""

    def __init__(
        self, cipher: CipherName, keys: tuple[bytes, bytes], sizes: tuple[int, int]
    ) -> None:
        self._lines, self._sizes = [Line(cipher, key, DEALT) for key in keys], sizes

    def seal(self, first: int, corrections: list[Words64]) -> list[bytes]:
        pairs = zip(self._lines, corrections, strict=True)
        return [line.seal(first, 1, 0, to_bytes(words)) for line, words in pairs]

    def open(self, first: int, turns: int, sealed: list[bytes]) -> list[Words64]:
        sides = zip(self._lines, sealed, self._sizes, strict=True)
        return [
            to_words(line.open(first, 1, 0, packet, WORD_BYTES * turns * size))
            for line, packet, size in sides
        ]


class _Words(NamedTuple):
    """Words of both servers' seeds for some turns, a row a turn."""

    first: Words64
    second: Words64


class SeedWords:
    """The words that both servers expand, as they and the dealer make them, each for itself.

    Parameters
    ----------
    keys
        What the dealer shares with either server.
    arms, comparisons
        Entries of a selection, and its comparisons.
    most
        Turns whose words are made at once, at most.
    """

    def __init__(self, keys: DealerKeys, arms: int, comparisons: int, most: int) -> None:
        widths = first_width(arms, comparisons), second_width(arms, comparisons)
        secrets = keys.first.words, keys.second.words
        self._streams = [KeyStream(key, width) for key, width in zip(secrets, widths, strict=True)]
        self._memory = [np.empty((most, width), np.uint64) for width in widths]

    def make(self, first: int, turns: int, at: int = 0) -> _Words:
        """The words of so many turns from turn number ``first`` on.

        They lie from row ``at`` of the memory on, until others do.
        """
        made = _Words(*(words[at : at + turns] for words in self._memory))
        for stream, words in zip(self._streams, made, strict=True):
            stream.fill(first, words)
        return made


class Dealer:
    """Deals for some turns after the others.

    Parameters
    ----------
    keys
        What it shares with either server.
    arms, comparisons
        Entries of a selection, and its comparisons.
    most
        Turns that are dealt for at once, at most.
    cipher
        What corrections are sealed by.
    timer
        What its own time is measured by.
    """

    def __init__(
        self, keys: DealerKeys, arms: int, comparisons: int, most: int, cipher: CipherName,
        timer: Timer,
    ) -> None:  # fmt: skip
        self._comparisons, self._timer = comparisons, timer
        self._words = SeedWords(keys, arms, comparisons, most)
        sizes = 2 * arms, correction_words(arms, comparisons)
        self._memory = [np.empty((most, n), np.uint64) for n in sizes]
        seals = keys.first.sealed, keys.second.sealed
        self._seals: _Seals = (
            _KeyStreamSeals(seals, sizes, most) if cipher == "stream"
            else _PacketSeals(cipher, seals, sizes)
        )  # fmt: skip
        self._places = np.empty(arms, np.int64)
        #: Seconds that the dealer has worked.
        self.seconds = 0.0

    def deal(self, first: int, turns: int) -> tuple[Words64, Words64]:
        """Corrections for both servers, for so many turns from turn number ``first`` on.

        They are overwritten by the next call.
        """
        corrections = [words[:turns] for words in self._memory]
        began = self._timer()
        words = self._words.make(first, turns)
        deal_turns(*words, self._comparisons, self._places, *corrections)
        sealed = self._seals.seal(first, corrections)
        self.seconds += self._timer() - began
        opened = self._seals.open(first, turns, sealed)
        for_first, for_second = (
            words.reshape(made.shape) for words, made in zip(opened, corrections, strict=True)
        )
        return for_first, for_second
