"""The dealer of a simulation: what it deals for some turns, sealed on its way to both servers."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.aead import CipherName, GcmCipher, position_prefix
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares.dealing import first_width, second_width
from fedbandits.systems.samba.sealed_steps import Timer
from fedbandits.systems.samba.silent.kernels import Dealt, correction_words, deal_turns
from fedbandits.systems.samba.silent.streams import DEALT, DealerKeys

_SLOT = bytes(4)


class _Seals(Protocol):
    """How corrections are sealed for both servers, and opened by them."""

    def seal(self, first: int, corrections: list[Words64]) -> Any:
        """What leaves; the turns are numbered from ``first`` on."""

    def open(self, first: int, sealed: Any) -> list[Words64]:
        """What arrives."""


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

    def open(self, first: int, sealed: list[Words64]) -> list[Words64]:
        del first
        for pad, words in zip(self._pads, sealed, strict=True):
            np.bitwise_xor(words, pad[: len(words)], out=words)
        return sealed


class _GcmSeals:
    """Corrections of some turns are one packet for either server, under AES-GCM."""

    def __init__(self, keys: tuple[bytes, bytes]) -> None:
        self._ciphers = [GcmCipher(key) for key in keys]

    def seal(self, first: int, corrections: list[Words64]) -> list[bytes]:
        position = [position_prefix(DEALT, first, 1) + _SLOT]
        pairs = zip(self._ciphers, corrections, strict=True)
        return [cipher.seal(position, [words.tobytes()])[0] for cipher, words in pairs]

    def open(self, first: int, sealed: list[bytes]) -> list[Words64]:
        position = [position_prefix(DEALT, first, 1) + _SLOT]
        pairs = zip(self._ciphers, sealed, strict=True)
        opened = [cipher.open(position, [packet])[0] for cipher, packet in pairs]
        return [np.frombuffer(packet, np.uint64) for packet in opened]


class _InClear:
    """Corrections as they are."""

    def seal(self, first: int, corrections: list[Words64]) -> list[Words64]:
        del first
        return corrections

    open = seal


class _Memory(NamedTuple):
    """For some turns, a row a turn."""

    first: Words64
    second: Words64
    for_first: Words64
    for_second: Words64


class Dealer:
    """Deals for some turns after the others; both servers expand their own words.

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
        widths = first_width(arms, comparisons), second_width(arms, comparisons)
        sizes = 2 * arms, correction_words(arms, comparisons)
        # What was dealt last stays while the next is dealt.
        self._memories = [
            _Memory(*(np.empty((most, width), np.uint64) for width in (*widths, *sizes)))
            for _ in range(2)
        ]
        secrets = keys.first.words, keys.second.words
        # The dealer and the servers make the same words, each for itself.
        self._dealers, self._servers = (
            [KeyStream(secret, width) for secret, width in zip(secrets, widths, strict=True)]
            for _ in range(2)
        )
        seals = keys.first.sealed, keys.second.sealed
        self._seals: _Seals = _InClear()
        if cipher == "stream":
            self._seals = _KeyStreamSeals(seals, sizes, most)
        elif cipher == "aes-gcm":
            self._seals = _GcmSeals(seals)
        self._places = np.empty(arms, np.int64)
        #: Seconds that the dealer has worked.
        self.seconds = 0.0

    def deal(self, first: int, turns: int) -> Dealt:
        """Deal for so many turns from turn number ``first`` on.

        The arrays are overwritten by the call after the next one.
        """
        self._memories.reverse()
        memory = _Memory(*(words[:turns] for words in self._memories[0]))
        began = self._timer()
        self._expand(self._dealers, first, memory)
        deal_turns(
            memory.first, memory.second, self._comparisons, self._places, memory.for_first,
            memory.for_second,
        )  # fmt: skip
        sealed = self._seals.seal(first, [memory.for_first, memory.for_second])
        self.seconds += self._timer() - began
        self._expand(self._servers, first, memory)
        opened = self._seals.open(first, sealed)
        shapes = memory.for_first.shape, memory.for_second.shape
        corrections = [words.reshape(s) for words, s in zip(opened, shapes, strict=True)]
        return Dealt(memory.first, memory.second, *corrections)

    @staticmethod
    def _expand(streams: list[KeyStream], first: int, memory: _Memory) -> None:
        for stream, words in zip(streams, memory, strict=False):
            stream.fill(first, words)
