"""Masks: numbers that a pair of parties can make, and that hide the numbers beside them in a sum.

A pair shares a secret, from which three keys are derived (HKDF-SHA256). Their labels name the
version of the protocol, the terms, both parties and the purpose, so no key serves two federations,
two pairs or two purposes. The first key begins a chain of keys, see :mod:`.chains`: each message is
masked under a key of its own, which is then erased.

A mask is the ChaCha20 stream of such a key, read as numbers modulo 2⁶⁴. Its nonce is the number of
a sum and 64 bits, the *salt*, that make a message's masks its own. Two messages with different
salts never share a mask, though they are for the same sum and under the same key. To all others a
mask cannot be told from uniform numbers, as long as ChaCha20 is a pseudorandom function (RFC 8439).

Tags are keyed BLAKE2b. Only the parties of a pair make and check tags: no third party can, or
needs to. Tags are simpler than signatures, and there is no signing key to keep.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import sys
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from fedbandits._typing import Words64
from fedbandits.crypto.keystream import derive_key

#: Names the protocol and its version in all derived keys.
PROTOCOL = "fedbandits secure sums 2"
#: Bytes of a tag, and of a salt.
TAG_BYTES, SALT_BYTES = 16, 8
#: Sums are numbered below this: a number has 32 bits of a nonce.
MOST_SUMS = (1 << 32) - 1
#: So many masks are made before they are added up: they stay in the processor's cache.
_AT_ONCE = 64
_NONCE_BYTES = 16
_COUNTER = bytes(4)


class PairKeys(NamedTuple):
    """Keys of an agent and a helper.

    Parameters
    ----------
    chain
        Begins the chain of keys of masks, which the agent adds, and the helper can remove.
    statement
        Tags the agent's messages to the helper.
    confirmation
        Tags the helper's messages to the agent.
    """

    chain: bytes
    statement: bytes
    confirmation: bytes

    def __repr__(self) -> str:
        return "PairKeys()"

    @classmethod
    def derive(cls, secret: bytes, terms: str, agent: str, helper: str) -> Self:
        """Derive the keys from the pair's secret, for a federation on terms of this digest."""
        label = f"{PROTOCOL} {terms} {agent} {helper}"
        return cls(*(derive_key(secret, f"{label} {purpose}") for purpose in cls._fields))


class Masks:
    """All masks under a key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def fill(self, number: int, salt: int, out: Words64) -> None:
        """Write the mask of a message over ``out``, (n,) contiguous.

        Parameters
        ----------
        number, salt
            The number of the message's sum, and the salt of the message.
        """
        raw = out.view(np.uint8).data
        stream = Cipher(ChaCha20(self._key, nonce(number, salt)), None).encryptor()
        stream.update_into(_zeros(len(raw)), raw)
        if sys.byteorder == "big":
            out.byteswap(inplace=True)


@functools.lru_cache(maxsize=8)
def _zeros(count: int) -> bytes:
    """Return a plaintext of zeros, whose ciphertext is the stream itself."""
    return bytes(count)


def nonce(number: int, salt: int) -> bytes:
    """Return ChaCha20's starting bytes: a counter of 0, the number, the salt."""
    if not 0 <= number <= MOST_SUMS:
        raise ValueError(f"sums are numbered from 0 to {MOST_SUMS}, given {number}")
    start = _COUNTER + number.to_bytes(4, "little") + salt.to_bytes(SALT_BYTES, "little")
    if len(start) != _NONCE_BYTES:
        raise ValueError("a nonce has 16 bytes")
    return start


def sum_of_masks(pairs: Iterable[Masks], number: int, salts: Iterable[int], size: int) -> Words64:
    """Return the sum of a mask of each pair modulo 2⁶⁴, (size,).

    Parameters
    ----------
    pairs, salts
        The masks of each pair, and the salt of the pair's message.
    number
        The number of the sum of all these messages.
    """
    total = np.zeros(size, np.uint64)
    rows: Words64 = np.empty((_AT_ONCE, size), np.uint64)
    filled = 0
    for masks, salt in zip(pairs, salts, strict=True):
        masks.fill(number, salt, rows[filled])
        filled += 1
        if filled == _AT_ONCE:
            total += rows.sum(axis=0, dtype=np.uint64)
            filled = 0
    total += rows[:filled].sum(axis=0, dtype=np.uint64)
    return total


def tag(key: bytes, text: bytes) -> bytes:
    """Return the tag of a text, 16 bytes, which takes the key to make."""
    return hashlib.blake2b(text, key=key, digest_size=TAG_BYTES).digest()


def same(given: bytes, expected: bytes) -> bool:
    """Tell whether tags are equal, in a time that does not depend on the first difference."""
    return hmac.compare_digest(given, expected)


def salt_of(key: bytes, text: bytes) -> int:
    """Make the salt of a message: the same salt for the same text, another salt for another text.

    The salt is a pseudorandom function under a key that nobody else has, so the salt tells nothing
    of the text. A message that is made again, after a crash, is the same message. A message with
    any other number gets other masks.
    """
    hashed = hashlib.blake2b(text, key=key, digest_size=SALT_BYTES, person=b"fedbandits salt")
    return int.from_bytes(hashed.digest(), "little")
