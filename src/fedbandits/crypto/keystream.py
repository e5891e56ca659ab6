"""Keyed random streams: AES-256 in counter mode, read at any position.

A holder of the key can make the same numbers again, alone and in any order. Without the key they
are indistinguishable from uniform numbers as long as AES is a pseudorandom permutation (Bellare et
al. 1997).
"""

from __future__ import annotations

import hmac
import sys
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from fedbandits._typing import Words64

KEY_BYTES = 32
_NO_SALT = bytes(32)
_BLOCK = 16
#: Words that are made at once for requests of single positions.
_AHEAD = 4096
#: Plaintext of zeros, few enough bytes to stay in the processor's cache.
_ZEROS = memoryview(bytes(1 << 15))


def derive_key(secret: bytes, label: str) -> bytes:
    """Derive a 256-bit key for a single purpose (HKDF-SHA256, RFC 5869)."""
    if len(secret) < 16:
        raise ValueError("a secret must have at least 16 bytes")
    extracted = hmac.digest(_NO_SALT, secret, "sha256")
    return hmac.digest(extracted, label.encode() + b"\x01", "sha256")  # one block is a key


class KeyStream:
    """``width`` 64-bit words for every position, from 0, under a secret ``key`` of 32 bytes."""

    def __init__(self, key: bytes, width: int) -> None:
        if width < 1:
            raise ValueError(f"width must be at least 1, got {width}")
        self._key = key
        self._width = width
        self._ahead: Words64 = np.empty((0, width), np.uint64)
        self._first = 0
        #: The cipher at the position after the last words.
        self._running: Any = None
        self._next = -1

    def words(self, position: int) -> Words64:
        """Return the words of a position, (width,) uint64."""
        offset = position - self._first
        if not 0 <= offset < len(self._ahead):
            self._ahead = self.block(position, max(1, _AHEAD // self._width))
            self._first, offset = position, 0
        words: Words64 = self._ahead[offset]
        return words

    def block(self, first: int, count: int) -> Words64:
        """Return the words of ``count`` positions from ``first`` on, (count, width) uint64."""
        if first < 0 or count < 0:
            raise ValueError("positions are counted from 0")
        out: Words64 = np.empty((count, self._width), np.uint64)
        self.fill(first, out)
        return out

    def fill(self, first: int, out: Words64) -> None:
        """Write the words of positions from ``first`` on over ``out``, (count, width) contiguous.

        To go on where the last call ended is fastest.
        """
        if first != self._next:
            skip = first * self._width * 8
            start = (skip // _BLOCK).to_bytes(_BLOCK, "big")
            self._running = Cipher(AES(self._key), CTR(start)).encryptor()
            self._running.update(_ZEROS[: skip % _BLOCK])
        self._next = first + len(out)
        raw = out.reshape(-1).view(np.uint8).data
        # Older releases of the cipher's library ask for a block of room to spare: none is left at
        # the end, so the last bytes are copied.
        last = max(0, len(raw) - _BLOCK)
        for at in range(0, last, len(_ZEROS)):
            self._running.update_into(_ZEROS[: min(len(_ZEROS), last - at)], raw[at:])
        raw[last:] = self._running.update(_ZEROS[: len(raw) - last])
        if sys.byteorder == "big":
            out.byteswap(inplace=True)
