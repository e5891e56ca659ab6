"""Tournaments of shared numbers: the comparisons of every stage, and the packing of openings.

Contenders stand in places. In every stage they are split into groups of neighbours, as equal in
size as can be, of at most ``arity``. In a group all are compared with all, and the winner goes on.
Stages are as few as ``arity`` allows, as each takes rounds between the servers. The sizes of groups
take the fewest comparisons: early groups are small, late groups large.

Results are open. As places are in a uniformly random order and all numbers differ, results have a
distribution that does not depend on the numbers: in every group, each order is equally likely.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import OPENING_BITS, WORD_BITS, group_begin


class _Course(NamedTuple):
    """A tournament from some stage on; a smaller tuple is better."""

    stages: int
    comparisons: int
    groups: int  # of the first of these stages


@functools.lru_cache(maxsize=4096)
def _best_course(contenders: int, arity: int) -> _Course:
    if contenders < 2:
        return _Course(0, 0, 0)
    courses = []
    for size in range(2, min(arity, contenders) + 1):
        groups = -(-contenders // size)
        rest = _best_course(groups, arity)
        # ``larger`` groups have a contender more than the others.
        small, larger = divmod(contenders, groups)
        count = groups * (small * (small - 1) // 2) + larger * small
        courses.append(_Course(1 + rest.stages, count + rest.comparisons, groups))
    return min(courses)


def groups_of(contenders: int, arity: int) -> int:
    """Return the number of groups of so many contenders."""
    return _best_course(contenders, arity).groups


def stage_sizes(contenders: int, arity: int) -> tuple[int, ...]:
    """Return the contenders at the beginning of every stage."""
    sizes = []
    while contenders > 1:
        sizes.append(contenders)
        contenders = groups_of(contenders, arity)
    return tuple(sizes)


@functools.lru_cache(maxsize=256)
def pairs(contenders: int, arity: int) -> Ints:
    """Return the comparisons of a stage, (comparisons, 2): places, in the order of results."""
    groups, listed = groups_of(contenders, arity), []
    for group in range(groups):
        begin, end = (group_begin(g, groups, contenders) for g in (group, group + 1))
        listed += [(i, j) for i in range(begin, end) for j in range(i + 1, end)]
    result = np.array(listed, np.int64).reshape(-1, 2)
    result.setflags(write=False)
    return result


def comparisons(contenders: int, arity: int) -> int:
    """Count the comparisons of a whole tournament."""
    return _best_course(contenders, arity).comparisons


def opening_bytes(number: int, comparisons: int) -> int:
    """Count the bytes of an opening of so many comparisons."""
    return -(-OPENING_BITS[number] * comparisons // 8)


def pack_opening(number: int, words: Words64) -> bytes:
    """Pack a server's shares of an opening: the lowest bits of every word, as the others are 0.

    The ``number``, 0 … 6, decides on the number of bits. ``words`` are (comparisons,).
    """
    return np.packbits(_bits(words)[:, : OPENING_BITS[number]], bitorder="little").tobytes()


def unpack_opening(number: int, packed: bytes, comparisons: int) -> Words64:
    """Read the words of an opening, (comparisons,) uint64.

    Raises ValueError at a wrong number of bytes, or if bits after the end are not 0.
    """
    if len(packed) != opening_bytes(number, comparisons):
        raise ValueError(f"{len(packed)} bytes, expected {opening_bytes(number, comparisons)}")
    width = OPENING_BITS[number]
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")
    if bits[comparisons * width :].any():
        raise ValueError("bits after the end are not 0")
    wide = np.zeros((comparisons, WORD_BITS), np.uint8)
    wide[:, :width] = bits[: comparisons * width].reshape(comparisons, width)
    words = np.packbits(wide, axis=1, bitorder="little").view("<u8")[:, 0]
    return words.astype(np.uint64)


def _bits(words: Words64) -> NDArray[np.uint8]:
    """Return the bits of every word, (words, 64), lowest first."""
    raw = np.ascontiguousarray(words.astype("<u8")).view(np.uint8).reshape(-1, 8)
    return np.unpackbits(raw, axis=1, bitorder="little")
