"""Openings as bytes: as many bits a comparison as it takes, one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Words64
from fedbandits.crypto.shares.comparison import OPENING_BITS

_WORD_BITS = 64


def opening_bytes(number: int, comparisons: int) -> int:
    """Bytes of one opening of so many comparisons."""
    return -(-OPENING_BITS[number] * comparisons // 8)


def pack_opening(number: int, words: Words64) -> bytes:
    """One server's shares of an opening: of every word the lowest bits, the others being 0.

    Parameters
    ----------
    number : int
        Which opening, 0 … 6: it says how many bits there are.
    words : (comparisons,) uint64
    """
    return np.packbits(_bits(words)[:, : OPENING_BITS[number]], bitorder="little").tobytes()


def unpack_opening(number: int, packed: bytes, comparisons: int) -> Words64:
    """The words of an opening, (comparisons,) uint64.

    Raises
    ------
    ValueError
        If there are not as many bytes as that opening has, or bits after its end are not 0.
    """
    if len(packed) != opening_bytes(number, comparisons):
        raise ValueError(f"{len(packed)} bytes, expected {opening_bytes(number, comparisons)}")
    width = OPENING_BITS[number]
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")
    if bits[comparisons * width :].any():
        raise ValueError("bits after the end are not 0")
    wide = np.zeros((comparisons, _WORD_BITS), np.uint8)
    wide[:, :width] = bits[: comparisons * width].reshape(comparisons, width)
    words = np.packbits(wide, axis=1, bitorder="little").view("<u8")[:, 0]
    return words.astype(np.uint64)


def _bits(words: Words64) -> NDArray[np.uint8]:
    """The bits of every word, (words, 64), lowest first."""
    raw = np.ascontiguousarray(words.astype("<u8")).view(np.uint8).reshape(-1, 8)
    return np.unpackbits(raw, axis=1, bitorder="little")
