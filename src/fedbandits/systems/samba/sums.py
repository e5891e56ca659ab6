"""Sums of rewards on their way to the customer: encrypted, or in clear to show what that costs."""

from __future__ import annotations

from typing import Self

from fedbandits.crypto.paillier import KEY_BITS, CiphertextError, PrivateKey, PublicKey
from fedbandits.errors import RemoteProtocolError
from fedbandits.systems.samba.config import Samba

_NUMBER_BYTES = 8


class WeakKeyError(RemoteProtocolError):
    """A key that nobody should use."""


class SumCipher:
    """What owners and the Controller do with the customer's public key.

    Parameters
    ----------
    public_key
        Paillier's n as big-endian bytes; empty for sums in clear.

    Raises
    ------
    WeakKeyError
        If the key has not one of the lengths that are safe, or is prime, a power, or has a small
        factor.
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
        """The one of a key that the party ``name`` is told, which must be as the terms have it.

        Raises
        ------
        WeakKeyError
            If it is not, or none is told.
        """
        sums = cls(public_key)
        bits = sums._key.bits if sums._key else 0
        encrypts = config.execution == "secure" and config.total == "paillier"
        expected = config.paillier_bits if encrypts else 0
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
        """Encrypt one owner's sum."""
        return self._key.encrypt(value) if self._key else value.to_bytes(_NUMBER_BYTES, "big")

    def check(self, ciphertext: bytes) -> None:
        """Refuse what cannot be one owner's ciphertext, when it comes."""
        self.add([ciphertext])

    def add(self, ciphertexts: list[bytes]) -> bytes:
        """A ciphertext of the sum.

        Raises
        ------
        CiphertextError
            If one of them is malformed.
        """
        if self._key:
            return self._key.add(*ciphertexts)
        if any(len(c) != _NUMBER_BYTES or c[:2] != bytes(2) for c in ciphertexts):
            raise CiphertextError(f"a sum in clear has {_NUMBER_BYTES} bytes and stays below 2**48")
        return sum(int.from_bytes(c, "big") for c in ciphertexts).to_bytes(_NUMBER_BYTES, "big")


def public_bytes(private_key: PrivateKey | None) -> bytes:
    """What the customer's order carries."""
    if private_key is None:
        return b""
    n = private_key.public_key.n
    return n.to_bytes((n.bit_length() + 7) // 8, "big")


def decrypt(private_key: PrivateKey | None, ciphertext: bytes) -> int:
    """What the customer reads."""
    if private_key is not None:
        return private_key.decrypt(ciphertext)
    if len(ciphertext) != _NUMBER_BYTES:
        raise CiphertextError(f"a sum in clear has {_NUMBER_BYTES} bytes")
    return int.from_bytes(ciphertext, "big")
