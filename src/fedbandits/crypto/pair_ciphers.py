"""Sealed packets between one party and many others, each pair under a key of its own."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import repeat
from operator import add, call
from struct import Struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from fedbandits.crypto.aead import NONCE_BYTES, TAG_BYTES, PacketLengthError, opened_all


class PairCiphers:
    """AES-256-GCM between one party and many others, one packet for each, under a key of its own.

    Packets of one call are equally long, and at the same position: their keys tell them apart.

    Parameters
    ----------
    keys
        One for each of the others.
    size
        Bytes of what a packet holds.
    """

    def __init__(self, keys: Sequence[bytes], size: int) -> None:
        ciphers = [AESGCM(key) for key in keys]
        self._encrypts = [cipher.encrypt for cipher in ciphers]
        self._decrypts = [cipher.decrypt for cipher in ciphers]
        self._payloads = Struct(f"{size}s" * len(keys))
        self._nonces = Struct(f"{NONCE_BYTES}s" * len(keys))
        self._packets = Struct(f"{NONCE_BYTES}s{size + TAG_BYTES}s" * len(keys))

    def seal(self, position: bytes, data: bytes) -> list[bytes]:
        """One packet for each of the others.

        Parameters
        ----------
        position : bytes
            12 bytes, as of :class:`PacketCipher`.
        data : bytes
            What packets hold, one after the other.
        """
        nonces = self._nonces.unpack(secrets.token_bytes(self._nonces.size))
        payloads = self._payloads.unpack(data)
        sealed = map(call, self._encrypts, nonces, payloads, repeat(position))
        return list(map(add, nonces, sealed))

    def open(self, position: bytes, sealed: Sequence[bytes]) -> bytes:
        """What the packets of all others hold, one after the other.

        Raises
        ------
        PacketLengthError
            If all together are longer or shorter than they must be.
        TamperedPacketError
            If one of them was not sealed under the key of its place and for this position.
        """
        data = b"".join(sealed)
        if len(data) != self._packets.size:
            raise PacketLengthError(f"packets have {len(data)} bytes, not {self._packets.size}")
        parts = self._packets.unpack(data)
        opened = map(call, self._decrypts, parts[::2], parts[1::2], repeat(position))
        return b"".join(opened_all(opened))
