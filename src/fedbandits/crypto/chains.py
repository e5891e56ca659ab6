"""Chains of keys: each key follows from the key before, which is then erased.

A pair of parties begins a chain with the same key of 32 bytes, and steps the chain once for every
number. The step is keyed BLAKE2b, which cannot be inverted. So a thief of a chain opens no message
that was sent before, under erased keys.

A copy of a chain would open all *later* messages. So a message may bring a public key that was
drawn for this message alone (X25519, RFC 7748). The shared secret of sender and receiver goes into
the chain (HKDF-Extract with SHA-256, RFC 5869). The sender erases its private key at once, the
receiver soon. A copy of a chain has neither key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

#: Bytes of every key here.
KEY_BYTES = 32
#: Stands for a missing public key.
NO_KEY = bytes(KEY_BYTES)
_NEXT, _USED = b"fb sums 2 next", b"fb sums 2 used"
_AGREED = b"fedbandits secure sums 2 agreed "


def next_key(key: bytes) -> bytes:
    """Return the key that follows in a chain."""
    return hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=_NEXT).digest()


def forward(key: bytes, steps: int) -> bytes:
    """Return the key that follows in a chain after so many steps."""
    for _ in range(steps):
        key = next_key(key)
    return key


def message_key(key: bytes) -> bytes:
    """Return the key of a chain for one message, which tells nothing of the chain."""
    return hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=_USED).digest()


def agreed(key: bytes, shared: bytes) -> bytes:
    """Return the key of a chain after two parties have agreed on a secret of 32 bytes.

    Neither the key nor the secret alone tells anything about the result.
    """
    return hmac.digest(key, _AGREED + shared, "sha256")


class Drawn:
    """A pair of a private and a public key, drawn for a single use.

    Parameters
    ----------
    private
        32 bytes; erase them after that use.
    """

    def __init__(self, private: bytes) -> None:
        self.private = private
        self._key = X25519PrivateKey.from_private_bytes(private)

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return self._key.public_key().public_bytes_raw()

    def agree(self, public: bytes) -> bytes:
        """Return the secret, 32 bytes, in common with the holder of another public key.

        A public key of low order gives zeros, as in RFC 7748. Its sender gives away the secret of
        this pair, which the sender could tell anybody anyway.
        """
        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            return bytes(KEY_BYTES)


#: Draws a key, or None in simulations.
Draw = Callable[[], Drawn | None]


def draw() -> Drawn:
    """Draw a key from the system's randomness: the key follows from no kept number."""
    return Drawn(secrets.token_bytes(KEY_BYTES))


def draw_nothing() -> None:
    """Draw no key: for simulations, whose parties have no secrets anyway."""
