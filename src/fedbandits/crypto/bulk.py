"""Packets in bulk: a row of sealed packets, and the counter blocks of a whole run."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import add, call
from struct import Struct

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from fedbandits.crypto.aead import NONCE_BYTES, TAG_BYTES, PacketLengthError, opened_all

_BLOCK = 16


class PacketRow:
    """AES-256-GCM for a row of packets, each sealed and opened by itself.

    They are the packets of :class:`.GcmCipher` under their keys. Only what lies around the cipher
    is done for all at once: nonces are drawn, and bytes are cut, in one call. A packet holds as
    many bytes as its size. Packets of one key must be sealed for positions of their own.
    """

    def __init__(self, keys: Sequence[bytes], sizes: Sequence[int]) -> None:
        known = {key: AESGCM(key) for key in keys}
        ciphers = [known[key] for key in keys]
        self._encrypts = [cipher.encrypt for cipher in ciphers]
        self._decrypts = [cipher.decrypt for cipher in ciphers]
        self._payloads = _cuts(sizes)
        self._nonces = _cuts([NONCE_BYTES] * len(keys))
        self._packets = _cuts(chain.from_iterable((NONCE_BYTES, n + TAG_BYTES) for n in sizes))

    def seal(self, positions: Iterable[bytes], data: bytes) -> list[bytes]:
        """Seal ``data``, what packets hold, one after the other; a position of 12 bytes each."""
        nonces = self._nonces.unpack(secrets.token_bytes(self._nonces.size))
        payloads = self._payloads.unpack(data)
        return list(map(add, nonces, map(call, self._encrypts, nonces, payloads, positions)))

    def open(self, positions: Iterable[bytes], sealed: Sequence[bytes]) -> bytes:
        """Open all packets of the row; returns their contents, one after the other.

        Raises PacketLengthError if all together have a wrong length, and TamperedPacketError if one
        was not sealed under the key of its place and for its position.
        """
        data = b"".join(sealed)
        if len(data) != self._packets.size:
            raise PacketLengthError(f"packets have {len(data)} bytes, not {self._packets.size}")
        parts = self._packets.unpack(data)
        opened = map(call, self._decrypts, parts[::2], parts[1::2], positions)
        return b"".join(opened_all(opened))


def _cuts(sizes: Iterable[int]) -> Struct:
    return Struct("".join(f"{size}s" for size in sizes))


def counter_blocks(
    direction: int, first_step: int, steps: int, iterations: int, slots: int
) -> NDArray[np.uint8]:
    """Make the counter blocks of all packets of some steps, (steps, iterations, slots, 16) uint8.

    Iterations are counted from 1. A block is the packet's position and four zero bytes. Its key
    stream is what :meth:`.StreamCipher.seal` uses for packets of 16 bytes at most, under a nonce of
    zeros. For simulations, which keep no packet that somebody could see.
    """
    blocks = np.zeros((steps, iterations, slots, _BLOCK), np.uint8)
    blocks[..., 0] = direction
    blocks[..., 1] = np.arange(1, iterations + 1)[None, :, None]
    numbers = np.arange(first_step, first_step + steps).astype(">u8").view(np.uint8)
    blocks[..., 2:8] = numbers.reshape(steps, 1, 1, 8)[..., 2:]
    blocks[..., 8:12] = np.arange(slots).astype(">u4").view(np.uint8).reshape(1, 1, slots, 4)
    return blocks
