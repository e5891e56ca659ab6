"""Sealed packets: AES-256-GCM, each bound to its position in the protocol, under a random nonce.

A position is direction, iteration, step, slot, and is authenticated with the packet. The receiver
derives the position from its own state, so a packet that was replayed, reordered or turned round
does not open. The nonce is fresh randomness that travels with the packet. So two parties with the
same position, or a party that repeats a step, still do not seal two packets under the same nonce,
and a packet does not show its sender. With q packets under a key, two nonces are equal with
probability below q² / 2⁹⁷.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from operator import add
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
#: Bytes of the random nonce at the beginning of a packet.
NONCE_BYTES = 12
_BLOCK = 16
_MAX_STEP = 1 << 48

CipherName = Literal["aes-gcm", "stream", "none"]
#: A step and its iteration.
Turn = tuple[int, int]
#: Before all turns.
NEVER: Turn = (-1, -1)


class SealedBeforeError(LocalProtocolError):
    """Sealing would fill a position in the protocol a second time."""


class ReplayedPacketError(RemoteProtocolError):
    """A packet for a step that was opened before."""


class TamperedPacketError(RemoteProtocolError):
    """A packet that does not open: wrong key, changed, or not from this place in the protocol."""


class PacketLengthError(RemoteProtocolError):
    """A packet of a wrong length."""


def position_prefix(direction: int, step: int, iteration: int) -> bytes:
    """Return a position but for its slot: 1 byte direction, 1 iteration, 6 step; 4 follow."""
    if not 0 <= step < _MAX_STEP:
        raise ValueError("a step has at most 48 bits")
    return bytes((direction, iteration)) + step.to_bytes(6, "big")


def positions(direction: int, step: int, iteration: int, slots: Iterable[int]) -> list[bytes]:
    """Return the positions of some slots, each of 4 bytes."""
    prefix = position_prefix(direction, step, iteration)
    return [prefix + slot.to_bytes(4, "big") for slot in slots]


def fresh_nonces(count: int) -> list[bytes]:
    """Draw nonces from the operating system's randomness."""
    drawn = secrets.token_bytes(NONCE_BYTES * count)
    return [drawn[at : at + NONCE_BYTES] for at in range(0, len(drawn), NONCE_BYTES)]


class PacketCipher(Protocol):
    """Seals many packets at once, each at its own position, 12 bytes."""

    #: Bytes of a sealed packet beyond its contents.
    overhead: int

    def seal(self, positions: Sequence[bytes], payloads: Sequence[bytes]) -> list[bytes]:
        """Encrypt each payload for its position."""

    def open(self, positions: Sequence[bytes], sealed: Sequence[bytes]) -> list[bytes]:
        """Decrypt each packet.

        Raises TamperedPacketError if a packet was not sealed under this key for its position.
        """


def opened_all(packets: Iterable[bytes]) -> list[bytes]:
    """List all packets, or raise TamperedPacketError if a packet does not open."""
    try:
        return list(packets)
    except InvalidTag:
        raise TamperedPacketError(
            "a packet does not open: wrong key, altered on its way, or sent for another step"
        ) from None


class GcmCipher:
    """AES-256-GCM with the packet's position as associated data.

    The binding of a packet to its run and to an agreement belongs in the derivation of the key:
    that costs nothing a packet, and under another key no packet opens.
    """

    overhead = NONCE_BYTES + TAG_BYTES

    def __init__(self, key: bytes) -> None:
        gcm = AESGCM(key)
        self._encrypt, self._decrypt = gcm.encrypt, gcm.decrypt

    def seal(self, positions: Sequence[bytes], payloads: Sequence[bytes]) -> list[bytes]:
        nonces = fresh_nonces(len(payloads))
        return list(map(add, nonces, map(self._encrypt, nonces, payloads, positions)))

    def open(self, positions: Sequence[bytes], sealed: Sequence[bytes]) -> list[bytes]:
        nonces = [packet[:NONCE_BYTES] for packet in sealed]
        bodies = [packet[NONCE_BYTES:] for packet in sealed]
        return opened_all(map(self._decrypt, nonces, bodies, positions))


class StreamCipher:
    """AES-256 in counter mode: for simulation, **not authenticated**.

    The cipher hides as much as AES-GCM (both are IND-CPA), at a fraction of the time, but nobody
    notices a changed packet. A counter block is the packet's position, XORed with its random nonce,
    and the block's number in four bytes.
    """

    overhead = NONCE_BYTES

    def __init__(self, key: bytes) -> None:
        self._blocks = Cipher(AES(key), ECB()).encryptor()  # noqa: S305 - of distinct counters: CTR

    def keystream(self, counters: NDArray[np.uint8]) -> Words64:
        """Make the key stream of counter blocks (…, 16), as (…, 2) 64-bit words."""
        raw = self._blocks.update(np.ascontiguousarray(counters).tobytes())
        return np.frombuffer(raw, "<u8").astype(np.uint64).reshape(*counters.shape[:-1], 2)

    def seal(self, positions: Sequence[bytes], payloads: Sequence[bytes]) -> list[bytes]:
        nonces = fresh_nonces(len(payloads))
        return list(map(add, nonces, self._added(positions, nonces, payloads)))

    def open(self, positions: Sequence[bytes], sealed: Sequence[bytes]) -> list[bytes]:
        nonces = [packet[:NONCE_BYTES] for packet in sealed]
        return self._added(positions, nonces, [packet[NONCE_BYTES:] for packet in sealed])

    def _added(
        self, positions: Sequence[bytes], nonces: Sequence[bytes], texts: Sequence[bytes]
    ) -> list[bytes]:
        """Add their key stream to texts."""
        counts = [-(-len(text) // _BLOCK) for text in texts]
        blocks = (
            _xor(place, nonce) + number.to_bytes(4, "big")
            for place, nonce, count in zip(positions, nonces, counts, strict=True)
            for number in range(count)
        )
        stream, added, at = self._blocks.update(b"".join(blocks)), [], 0
        for text, count in zip(texts, counts, strict=True):
            added.append(_xor(text, stream[at : at + len(text)]))
            at += _BLOCK * count
        return added


def counter_blocks(
    direction: int, first_step: int, steps: int, iterations: int, slots: int
) -> NDArray[np.uint8]:
    """Make the counter blocks of all packets of some steps, (steps, iterations, slots, 16) uint8.

    Iterations are counted from 1. A block is the packet's position and four zero bytes. Its key
    stream is what :meth:`.StreamCipher.seal` uses for packets of 16 bytes at most, under a nonce of
    zeros. For simulations, in which nobody can see a packet.
    """
    blocks = np.zeros((steps, iterations, slots, _BLOCK), np.uint8)
    blocks[..., 0] = direction
    blocks[..., 1] = np.arange(1, iterations + 1)[None, :, None]
    numbers = np.arange(first_step, first_step + steps).astype(">u8").view(np.uint8)
    blocks[..., 2:8] = numbers.reshape(steps, 1, 1, 8)[..., 2:]
    blocks[..., 8:12] = np.arange(slots).astype(">u4").view(np.uint8).reshape(1, 1, slots, 4)
    return blocks


def _xor(one: bytes, other: bytes) -> bytes:
    mixed = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return mixed.to_bytes(len(one), "big")


class ClearCipher:
    """A cipher that encrypts nothing, to show the cost of encryption."""

    overhead = 0

    def __init__(self, key: bytes = b"") -> None:
        del key

    def seal(self, positions: Sequence[bytes], payloads: Sequence[bytes]) -> list[bytes]:
        return list(payloads)

    open = seal


_CIPHERS: dict[CipherName, type[GcmCipher] | type[StreamCipher] | type[ClearCipher]] = {
    "aes-gcm": GcmCipher, "stream": StreamCipher, "none": ClearCipher
}  # fmt: skip


def make_cipher(name: CipherName, key: bytes) -> PacketCipher:
    """Make a cipher by its name in a configuration."""
    return _CIPHERS[name](key)


def overhead_of(name: CipherName) -> int:
    """Return the bytes of a packet beyond its contents."""
    return _CIPHERS[name].overhead


class Channel:
    """A direction of packets of a party, who seals or opens each turn once, in rising order.

    The caller keeps the last turn in its saved state: a restored party seals no turn again, and
    opens no turn again.

    All parties of the direction share the ``cipher``. ``direction`` is a byte; the two
    directions between the same parties differ. Every payload has ``size`` bytes.
    """

    def __init__(self, cipher: PacketCipher, direction: int, size: int) -> None:
        self._cipher = cipher
        self.direction = direction
        self._size = size

    def seal(
        self, step: int, iteration: int, slots: Sequence[int], payloads: Sequence[bytes], last: Turn
    ) -> list[bytes]:
        """Seal a payload for every slot; ``last`` is the last sealed turn, or :data:`NEVER`.

        Raises SealedBeforeError if the turn is not after the last.
        """
        if (step, iteration) <= last:
            raise SealedBeforeError(f"step {step}, iteration {iteration} was sealed before")
        return self._cipher.seal(positions(self.direction, step, iteration, slots), payloads)

    def open(
        self, step: int, iteration: int, slots: Sequence[int], sealed: Sequence[bytes], last: Turn
    ) -> list[bytes]:
        """Open a packet of every slot; ``last`` is the last opened turn, or :data:`NEVER`.

        Raises ReplayedPacketError, PacketLengthError or TamperedPacketError.
        """
        if (step, iteration) <= last:
            raise ReplayedPacketError(f"step {step}, iteration {iteration} was opened before")
        length = self._size + self._cipher.overhead
        for packet in sealed:
            if len(packet) != length:
                raise PacketLengthError(f"a packet has {len(packet)} bytes, expected {length}")
        return self._cipher.open(positions(self.direction, step, iteration, slots), sealed)
