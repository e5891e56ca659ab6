"""Sealed packets: AES-256-GCM under nonces that name a packet's place in the protocol.

A nonce is direction, iteration, step, slot. Whoever opens a packet makes the nonce from where *it*
stands, so a packet that was replayed, reordered or turned round does not open. A sealer's steps
only ever go up, so it never uses a nonce twice; several sealers may share a key as long as no two
of them use the same slot in the same step. Another run needs another key.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Literal, Protocol

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from numpy.typing import NDArray

from fedbandits._typing import Words64
from fedbandits.errors import LocalProtocolError, RemoteProtocolError

TAG_BYTES = 16
_BLOCK = 16
_MAX_STEP = 1 << 48

CipherName = Literal["aes-gcm", "stream", "none"]


class NonceReusedError(LocalProtocolError):
    """Sealing would use a nonce a second time, which breaks AES-GCM."""


class ReplayedPacketError(RemoteProtocolError):
    """A packet for a step that was opened before."""


class TamperedPacketError(RemoteProtocolError):
    """A packet that does not open: wrong key, changed, or not from this place in the protocol."""


class PacketLengthError(RemoteProtocolError):
    """A packet that is shorter or longer than it must be."""


def nonce_prefix(direction: int, step: int, iteration: int) -> bytes:
    """The first 8 bytes of a nonce: 1 direction, 1 iteration, 6 step; 4 of the slot follow."""
    if not 0 <= step < _MAX_STEP:
        raise ValueError("a step has at most 48 bits")
    return bytes((direction, iteration)) + step.to_bytes(6, "big")


class PacketCipher(Protocol):
    """Seals many packets at once, each under its own nonce."""

    #: Bytes that a sealed packet is longer than its contents.
    overhead: int

    def seal(self, nonces: Sequence[bytes], payloads: Sequence[bytes]) -> list[bytes]:
        """Encrypt each payload under its nonce."""

    def open(self, nonces: Sequence[bytes], sealed: Sequence[bytes]) -> list[bytes]:
        """Decrypt each packet.

        Raises
        ------
        TamperedPacketError
            If one of them was not sealed under this key, nonce and context.
        """


class GcmCipher:
    """AES-256-GCM with the protocol's context as associated data."""

    overhead = TAG_BYTES

    def __init__(self, key: bytes, context: bytes) -> None:
        gcm = AESGCM(key)
        self._encrypt, self._decrypt, self._context = gcm.encrypt, gcm.decrypt, context

    def seal(self, nonces: Sequence[bytes], payloads: Sequence[bytes]) -> list[bytes]:
        return list(map(self._encrypt, nonces, payloads, repeat(self._context)))

    def open(self, nonces: Sequence[bytes], sealed: Sequence[bytes]) -> list[bytes]:
        try:
            return list(map(self._decrypt, nonces, sealed, repeat(self._context)))
        except InvalidTag:
            raise TamperedPacketError(
                "a packet does not open: wrong key, changed on its way, or out of its place"
            ) from None


class StreamCipher:
    """AES-256 in counter mode, one block a packet: for simulation, **not authenticated**.

    It hides as much as AES-GCM does (both are IND-CPA), at a fraction of the time, but nobody
    notices a changed packet. Packets hold at most 16 bytes.
    """

    overhead = 0

    def __init__(self, key: bytes) -> None:
        self._blocks = Cipher(AES(key), ECB()).encryptor()  # noqa: S305 - of distinct counters: CTR

    def keystream(self, counters: NDArray[np.uint8]) -> Words64:
        """Key stream of counter blocks (…, 16), as (…, 2) 64-bit words."""
        raw = self._blocks.update(np.ascontiguousarray(counters).tobytes())
        return np.frombuffer(raw, "<u8").astype(np.uint64).reshape(*counters.shape[:-1], 2)

    def seal(self, nonces: Sequence[bytes], payloads: Sequence[bytes]) -> list[bytes]:
        if any(len(payload) > _BLOCK for payload in payloads):
            raise ValueError(f"a packet of this cipher holds at most {_BLOCK} bytes")
        stream = self._blocks.update(b"".join(nonce + bytes(4) for nonce in nonces))
        starts = range(0, len(stream), _BLOCK)
        return [
            bytes(a ^ b for a, b in zip(payload, stream[start : start + _BLOCK], strict=False))
            for payload, start in zip(payloads, starts, strict=True)
        ]

    open = seal


class ClearCipher:
    """No encryption: shows what encryption costs."""

    overhead = 0

    def seal(self, nonces: Sequence[bytes], payloads: Sequence[bytes]) -> list[bytes]:
        return list(payloads)

    open = seal


def make_cipher(name: CipherName, key: bytes, context: bytes) -> PacketCipher:
    """A cipher by its name in a configuration."""
    if name == "aes-gcm":
        return GcmCipher(key, context)
    return StreamCipher(key) if name == "stream" else ClearCipher()


def overhead_of(name: CipherName) -> int:
    """Bytes that a cipher adds to a packet."""
    return TAG_BYTES if name == "aes-gcm" else 0


def counter_blocks(
    direction: int, first_step: int, steps: int, iterations: int, slots: int
) -> NDArray[np.uint8]:
    """Counter blocks of all packets of some steps, (steps, iterations, slots, 16) uint8.

    Iterations are counted from 1. A block is the packet's nonce and four zero bytes, so
    :meth:`StreamCipher.keystream` of it is what :meth:`StreamCipher.seal` uses.
    """
    blocks = np.zeros((steps, iterations, slots, _BLOCK), np.uint8)
    blocks[..., 0] = direction
    blocks[..., 1] = np.arange(1, iterations + 1)[None, :, None]
    numbers = np.arange(first_step, first_step + steps).astype(">u8").view(np.uint8)
    blocks[..., 2:8] = numbers.reshape(steps, 1, 1, 8)[..., 2:]
    blocks[..., 8:12] = np.arange(slots).astype(">u4").view(np.uint8).reshape(1, 1, slots, 4)
    return blocks


class Channel:
    """One direction of packets, as one party seals or opens them: each step once, upwards.

    Parameters
    ----------
    cipher
        Shared by all who use the direction.
    direction
        A byte; the two directions between the same parties differ.
    size
        Bytes of every payload.
    """

    def __init__(self, cipher: PacketCipher, direction: int, size: int) -> None:
        self._cipher = cipher
        self.direction = direction
        self._size = size
        self._last = (-1, -1)

    def seal(
        self, step: int, iteration: int, slots: Sequence[int], payloads: Sequence[bytes]
    ) -> list[bytes]:
        """Seal one payload a slot.

        Raises
        ------
        NonceReusedError
            If the step is not after the last one sealed.
        """
        if (step, iteration) <= self._last:
            raise NonceReusedError(f"step {step}, iteration {iteration} was sealed before")
        sealed = self._cipher.seal(self._nonces(step, iteration, slots), payloads)
        self._last = (step, iteration)
        return sealed

    def open(
        self, step: int, iteration: int, slots: Sequence[int], sealed: Sequence[bytes]
    ) -> list[bytes]:
        """Open one packet a slot. Nothing changes before :meth:`advance` says that all is well.

        Raises
        ------
        ReplayedPacketError, PacketLengthError, TamperedPacketError
        """
        if (step, iteration) <= self._last:
            raise ReplayedPacketError(f"step {step}, iteration {iteration} was opened before")
        length = self._size + self._cipher.overhead
        for packet in sealed:
            if len(packet) != length:
                raise PacketLengthError(f"a packet has {len(packet)} bytes, expected {length}")
        return self._cipher.open(self._nonces(step, iteration, slots), sealed)

    def advance(self, step: int, iteration: int) -> None:
        """Open nothing of this step, or of one before it, again."""
        self._last = (step, iteration)

    def _nonces(self, step: int, iteration: int, slots: Sequence[int]) -> list[bytes]:
        prefix = nonce_prefix(self.direction, step, iteration)
        return [prefix + slot.to_bytes(4, "big") for slot in slots]
