"""Ciphers of a run: of scores and bits, of links between two parties, and of the sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from fedbandits._typing import Floats, Words64
from fedbandits.crypto.aead import (
    Channel,
    CipherName,
    PacketCipher,
    PacketLengthError,
    make_cipher,
    positions,
)
from fedbandits.crypto.paillier import KEY_BITS, CiphertextError, PrivateKey, PublicKey
from fedbandits.errors import RemoteProtocolError
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.keys import ChannelKey, make_keys
from fedbandits.systems.samba.plan import Agreement

#: Directions of packets, the first byte of a position: scores to Comp and bits back.
SCORES, BITS = 1, 2
#: In a silent run: owners to the Controller and back, the servers to one another, the dealer to a
#: server, and a server to the customer. Each has a key of its own beside.
UP, DOWN, TO_SECOND, TO_FIRST, DEALT, TOTAL = 3, 4, 5, 6, 7, 8
#: Bytes of a shared word.
WORD_BYTES = 8
#: Bytes of a packet's contents.
SCORE_BYTES, BIT_BYTES = 8, 1
#: Contents of a bit's packet, for bit 0 and bit 1.
BIT = (b"\x00", b"\x01")
_NUMBER_BYTES = 8


def channel_cipher(name: CipherName, secret: bytes, agreed: Agreement) -> PacketCipher:
    """Make the cipher of a run's scores and bits, of the secret of Comp and the owners."""
    return make_cipher(name, make_keys(ChannelKey, secret, agreed).packets)


def make_channels(name: CipherName, secret: bytes, agreed: Agreement) -> tuple[Channel, Channel]:
    """Make the channels of a run's scores and of its bits, which share that cipher."""
    cipher = channel_cipher(name, secret, agreed)
    return Channel(cipher, SCORES, SCORE_BYTES), Channel(cipher, BITS, BIT_BYTES)


def floats(payloads: Sequence[bytes]) -> Floats:
    """Read masked scores from packets, (packets,)."""
    return np.frombuffer(b"".join(payloads), "<f8").astype(np.float64)


class Line:
    """One direction between two parties, under a key of its own for a run."""

    def __init__(self, cipher: CipherName, key: bytes, direction: int) -> None:
        self._cipher, self._direction = make_cipher(cipher, key), direction

    def seal(self, step: int, iteration: int, slot: int, payload: bytes) -> bytes:
        """Seal the payload of a slot of a turn. A slot has a single payload ever."""
        place = positions(self._direction, step, iteration, [slot])
        (sealed,) = self._cipher.seal(place, [payload])
        return sealed

    def open(self, step: int, iteration: int, slot: int, sealed: bytes, size: int) -> bytes:
        """Open the packet of a slot of a turn.

        Raises
        ------
        PacketLengthError
            If the packet does not hold ``size`` bytes.
        TamperedPacketError
            If the packet was not sealed under this key for this slot.
        """
        expected = size + self._cipher.overhead
        if len(sealed) != expected:
            raise PacketLengthError(f"a packet has {len(sealed)} bytes, expected {expected}")
        place = positions(self._direction, step, iteration, [slot])
        (opened,) = self._cipher.open(place, [sealed])
        return opened


def write_words(words: Words64) -> bytes:
    """Write words as little-endian bytes."""
    return words.astype("<u8", copy=False).tobytes()


def read_words(data: bytes) -> Words64:
    """Read words from little-endian bytes."""
    return np.frombuffer(data, "<u8").astype(np.uint64)


def write_word(word: int) -> bytes:
    """Write a number mod 2⁶⁴ as bytes."""
    return (word % (1 << 64)).to_bytes(WORD_BYTES, "little")


def read_word(data: bytes) -> int:
    """Read a number from 0 to 2⁶⁴ - 1 from bytes."""
    return int.from_bytes(data, "little")


class WeakKeyError(RemoteProtocolError):
    """A key that no party should use."""


class SumCipher:
    """Encryption and addition of sums under the customer's public key.

    ``public_key`` is Paillier's n as big-endian bytes; empty for sums in clear.

    Raises
    ------
    WeakKeyError
        If the key has no safe length, or is prime, a power, or has a small factor.
    """

    def __init__(self, public_key: bytes) -> None:
        self._key: PublicKey | None = None
        if public_key:
            n = int.from_bytes(public_key, "big")
            if n.bit_length() not in KEY_BITS:
                raise WeakKeyError(f"a Paillier modulus of {n.bit_length()} bits is not accepted")
            try:
                self._key = PublicKey(n)
            except ValueError as weak:
                raise WeakKeyError(str(weak)) from None

    @classmethod
    def agreed(cls, name: str, config: Samba, public_key: bytes) -> Self:
        """Make the cipher of a public key that the party ``name`` received, by the terms.

        Raises
        ------
        WeakKeyError
            If the key is missing, or has another length than the terms say.
        """
        sums = cls(public_key)
        bits = sums._key.bits if sums._key else 0
        expected = config.paillier_bits if config.encrypts_sums else 0
        if bits != expected:
            raise WeakKeyError(
                f"{name}: sums under a key of {bits} bits, the terms have {expected}"
            )
        return sums

    @property
    def size(self) -> int:
        """Bytes of a ciphertext."""
        return self._key.ciphertext_size if self._key else _NUMBER_BYTES

    def encrypt(self, value: int) -> bytes:
        """Encrypt an owner's sum."""
        return self._key.encrypt(value) if self._key else value.to_bytes(_NUMBER_BYTES, "big")

    def check(self, ciphertext: bytes) -> None:
        """Refuse a ciphertext that no owner can have made, as soon as the ciphertext comes."""
        self.add([ciphertext])

    def add(self, ciphertexts: list[bytes]) -> bytes:
        """Return a ciphertext of the sum.

        Raises
        ------
        CiphertextError
            If a ciphertext is malformed.
        """
        if self._key:
            return self._key.add(*ciphertexts)
        if any(len(c) != _NUMBER_BYTES or c[:2] != bytes(2) for c in ciphertexts):
            raise CiphertextError(f"a sum in clear has {_NUMBER_BYTES} bytes and stays below 2**48")
        return sum(int.from_bytes(c, "big") for c in ciphertexts).to_bytes(_NUMBER_BYTES, "big")


def public_bytes(private_key: PrivateKey | None) -> bytes:
    """Return the public key for the customer's order."""
    if private_key is None:
        return b""
    n = private_key.public_key.n
    return n.to_bytes((n.bit_length() + 7) // 8, "big")


def decrypt(private_key: PrivateKey | None, ciphertext: bytes) -> int:
    """Decrypt the total, as the customer does."""
    if private_key is not None:
        return private_key.decrypt(ciphertext)
    if len(ciphertext) != _NUMBER_BYTES:
        raise CiphertextError(f"a sum in clear has {_NUMBER_BYTES} bytes")
    return int.from_bytes(ciphertext, "big")


class TotalError(RemoteProtocolError):
    """Shares of a total that is larger than the budget."""


def opened_total(first: int, second: int, budget: int) -> int:
    """Return the cumulative reward, from both servers' shares.

    Raises
    ------
    TotalError
        If the sum of the shares is not between 0 and the budget.
    """
    total = (first + second) % (1 << 64)
    if total > budget:
        raise TotalError(f"the shares add up to no reward of {budget} pulls")
    return total
