"""Openings as bytes: as many bits a comparison as it takes, one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Words64
from fedbandits.crypto.shares.comparison import OPENING_BITS

_WORD_BITS, _WORD_BYTES = 64, 8
_BYTE = np.uint64(0xFF)


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


@compiled
def write_opening(
    number: int, words: Words64, comparisons: int, out: NDArray[np.uint8], at: int
) -> int:
    """:func:`pack_opening` for compiled code: write the bytes from ``at`` on.

    Returns
    -------
    int
        Where the next bytes go.
    """
    width, filled, bits = OPENING_BITS[number], 0, np.uint64(0)
    # Whole words first; where they begin is no multiple of eight bytes.
    for k in range(comparisons):
        bits |= words[k] << np.uint64(filled)
        filled += width
        if filled >= _WORD_BITS:
            _write_word(bits, out, at)
            at += _WORD_BYTES
            filled -= _WORD_BITS
            bits = words[k] >> np.uint64(width - filled) if filled > 0 else np.uint64(0)
    return _write_bytes(bits, (filled + 7) // 8, out, at)


@inlined
def _write_word(word: np.uint64, out: NDArray[np.uint8], at: int) -> None:
    """Eight bytes; numbers without a sign let the compiler make it one move to memory."""
    start = np.uint64(at)
    out[start] = word & _BYTE
    out[start + np.uint64(1)] = (word >> np.uint64(8)) & _BYTE
    out[start + np.uint64(2)] = (word >> np.uint64(16)) & _BYTE
    out[start + np.uint64(3)] = (word >> np.uint64(24)) & _BYTE
    out[start + np.uint64(4)] = (word >> np.uint64(32)) & _BYTE
    out[start + np.uint64(5)] = (word >> np.uint64(40)) & _BYTE
    out[start + np.uint64(6)] = (word >> np.uint64(48)) & _BYTE
    out[start + np.uint64(7)] = (word >> np.uint64(56)) & _BYTE


@compiled
def _write_bytes(bits: np.uint64, count: int, out: NDArray[np.uint8], at: int) -> int:
    for b in range(count):
        out[at + b] = (bits >> np.uint64(8 * b)) & _BYTE
    return at + count


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
