"""What travels sealed: scores to Comp and bits back, as packets of a known length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.crypto.aead import PacketCipher

#: Directions of packets, the first byte of a position.
SCORES, BITS = 1, 2
#: Bytes of what a packet holds.
SCORE_BYTES, BIT_BYTES = 8, 1
#: What a bit's packet holds, by whether it is 1.
BIT = (b"\x00", b"\x01")


def floats(payloads: Sequence[bytes]) -> Floats:
    """Masked scores from what packets hold, (packets,)."""
    return np.frombuffer(b"".join(payloads), "<f8").astype(np.float64)


def packet_bytes(cipher: PacketCipher) -> tuple[int, int]:
    """Bytes on the wire of one sealed score and one sealed bit."""
    return SCORE_BYTES + cipher.overhead, BIT_BYTES + cipher.overhead
