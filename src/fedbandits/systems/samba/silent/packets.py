"""What a silent run seals: packets of any length, and words as bytes."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.aead import CipherName, PacketLengthError, make_cipher, position_prefix
from fedbandits.systems.samba.silent.blocks import WORD_BYTES


class Line:
    """One direction between two parties, under a key of its own for one run.

    Parameters
    ----------
    cipher
        Its name in a configuration.
    key
        Shared by both.
    direction
        A byte; see :mod:`.silent.streams`.
    """

    def __init__(self, cipher: CipherName, key: bytes, direction: int) -> None:
        self._cipher, self._direction = make_cipher(cipher, key), direction

    def seal(self, step: int, iteration: int, slot: int, payload: bytes) -> bytes:
        """Seal what belongs to one slot of a turn; nothing else may ever be sealed for it."""
        (sealed,) = self._cipher.seal([self._position(step, iteration, slot)], [payload])
        return sealed

    def open(self, step: int, iteration: int, slot: int, sealed: bytes, size: int) -> bytes:
        """Open what was sealed for a slot of a turn.

        Raises
        ------
        PacketLengthError
            If it does not hold ``size`` bytes.
        TamperedPacketError
            If it was not sealed under this key for this slot.
        """
        expected = size + self._cipher.overhead
        if len(sealed) != expected:
            raise PacketLengthError(f"a packet has {len(sealed)} bytes, expected {expected}")
        (opened,) = self._cipher.open([self._position(step, iteration, slot)], [sealed])
        return opened

    def _position(self, step: int, iteration: int, slot: int) -> bytes:
        return position_prefix(self._direction, step, iteration) + slot.to_bytes(4, "big")


def to_bytes(words: Words64) -> bytes:
    """Words as little-endian bytes."""
    return words.astype("<u8", copy=False).tobytes()


def to_words(data: bytes) -> Words64:
    """The counterpart of :func:`to_bytes`."""
    return np.frombuffer(data, "<u8").astype(np.uint64)


def word_bytes(word: int) -> bytes:
    """A number mod 2⁶⁴ as bytes."""
    return (word % (1 << 64)).to_bytes(WORD_BYTES, "little")


def word_of(data: bytes) -> int:
    """The counterpart of :func:`word_bytes`, from 0 to 2⁶⁴ - 1."""
    return int.from_bytes(data, "little")
