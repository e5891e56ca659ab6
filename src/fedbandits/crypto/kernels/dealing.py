"""Shared numbers in an order that neither server knows alone (Chase, Ghosh & Poburinnaya 2020).

One server knows a permutation π. The other server has dealt vectors A and B, uniform and used once;
the first was dealt Δ = π(A) - B. The other sends m = x¹ - A, which is uniform to parties without A.
The first takes π(x⁰ + m) + Δ = π(x) - B as its new share, the other takes B. After two such
shuffles, by each server's permutation, neither knows the order.

A permutation is an array of places: entry i goes to ``places[i]``. A permutation is drawn from
random words, a word an entry, see :func:`permute`.

A dealer makes the random words of a selection, correlated, independent of all data. Most words both
servers expand from seeds of their own. Only corrections travel: for the first server the
corrections of two permutations, for the second server the correction of a single permutation, and
20 bytes a comparison.

==================  ==========================================================================
words of the first  π₀; A', B' of the second shuffle; six words a comparison
words of the second A, B of the first shuffle; A'', B'' of the way back; π₁; three a comparison
==================  ==========================================================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import (
    DEALT_BYTES,
    FIRST_WORDS,
    SECOND_WORDS,
    Correlation,
    swap_digits,
)

_WORD_BYTES = 8
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_BELOW_SIGN = np.uint64(0x7FFFFFFFFFFFFFFF)


@compiled
def word_to_unit(word: np.uint64) -> float:
    """Turn a word into a float64 in [0, 1), 53 bits."""
    return np.float64(word >> np.uint64(11)) * (1.0 / (1 << 53))


@compiled
def word_below(word: np.uint64, bound: int) -> int:
    """Turn a word into an integer in [0, bound), bound < 2**32; bias below bound / 2**64."""
    n = np.uint64(bound)
    low, high = word & np.uint64(0xFFFFFFFF), word >> np.uint64(32)
    return int(np.int64((high * n + ((low * n) >> np.uint64(32))) >> np.uint64(32)))


@compiled
def permute(words: Words64, places: Ints) -> None:
    """Write a random permutation of 0 … size-1, from a word an entry (Fisher-Yates)."""
    for i in range(places.size):
        places[i] = i
    for i in range(places.size - 1, 0, -1):
        j = word_below(words[i], i + 1)
        places[i], places[j] = places[j], places[i]


@compiled
def masked_share(share: Words64, mask: Words64, out: Words64) -> None:
    """Mask a share for the server that knows the permutation: m = x¹ - A."""
    for i in range(share.size):
        out[i] = share[i] - mask[i]


@compiled
def permuted_share(
    share: Words64, sent: Words64, places: Ints, correction: Words64, out: Words64
) -> None:
    """Make π(x⁰ + m) + Δ, the new share of the server that knows the permutation."""
    for i in range(share.size):
        place = places[i]
        out[place] = share[i] + sent[i] + correction[place]


@compiled
def returned_share(sent: Words64, places: Ints, correction: Words64, out: Words64) -> None:
    """Make π⁻¹(m) + Δ: the permutation undone, of a vector of the other server."""
    for i in range(sent.size):
        out[i] = sent[places[i]] + correction[i]


@compiled
def unit_vector(place: int, out: Words64) -> None:
    """Write 1 at a place, 0 elsewhere."""
    out[:] = np.uint64(0)
    out[place] = np.uint64(1)


class ForFirst(NamedTuple):
    """The dealer's corrections for the first server, of a selection."""

    shuffled: Words64  # (entries,) Δ of π₀
    returned: Words64  # (entries,) Δ of π₀ undone


class ForSecond(NamedTuple):
    """The dealer's corrections for the second server, of a selection."""

    shuffled: Words64  # (entries,) Δ of π₁
    bits: Words64  # (comparisons,)
    products: NDArray[np.uint32]  # (comparisons,)
    joined: Words64  # (comparisons,)


class First(NamedTuple):
    """Words of the first server for a selection."""

    places: Ints  # (entries,) π₀
    mask: Words64  # (entries,) A'
    share: Words64  # (entries,) B'
    shuffled: Words64  # Δ of π₀
    returned: Words64  # Δ of π₀ undone
    comparisons: Correlation


class Second(NamedTuple):
    """Words of the second server for a selection."""

    mask: Words64  # (entries,) A
    share: Words64  # (entries,) B
    returned_mask: Words64  # (entries,) A''
    returned_share: Words64  # (entries,) B''
    places: Ints  # (entries,) π₁
    shuffled: Words64  # Δ of π₁
    comparisons: Correlation


def first_width(entries: int, comparisons: int) -> int:
    """Count the words of the first server's seed for a selection."""
    return 3 * entries + FIRST_WORDS * comparisons


def second_width(entries: int, comparisons: int) -> int:
    """Count the words of the second server's seed for a selection."""
    return 5 * entries + SECOND_WORDS * comparisons


def dealt_bytes(entries: int, comparisons: int) -> tuple[int, int]:
    """Count the bytes from the dealer to either server for a selection."""
    return 2 * _WORD_BYTES * entries, _WORD_BYTES * entries + DEALT_BYTES * comparisons


def new_first(entries: int, comparisons: int) -> First:
    """Make arrays for a selection."""
    mask, share, shuffled, returned = np.zeros((4, entries), np.uint64)
    places = np.zeros(entries, np.int64)
    return First(places, mask, share, shuffled, returned, _new_correlation(comparisons))


def new_second(entries: int, comparisons: int) -> Second:
    """Make arrays for a selection."""
    mask, share, returned_mask, returned_share, shuffled = np.zeros((5, entries), np.uint64)
    return Second(
        mask, share, returned_mask, returned_share, np.zeros(entries, np.int64), shuffled,
        _new_correlation(comparisons),
    )  # fmt: skip


def new_for_first(entries: int) -> ForFirst:
    """Make arrays for a selection."""
    return ForFirst(np.zeros(entries, np.uint64), np.zeros(entries, np.uint64))


def new_for_second(entries: int, comparisons: int) -> ForSecond:
    """Make arrays for a selection."""
    words = [np.zeros(comparisons, np.uint64) for _ in range(2)]
    products = np.zeros(comparisons, np.uint32)
    return ForSecond(np.zeros(entries, np.uint64), words[0], products, words[1])


def _new_correlation(comparisons: int) -> Correlation:
    return Correlation(*(np.zeros(comparisons, np.uint64) for _ in Correlation._fields))


@compiled
def expand_first(words: Words64, dealt: ForFirst, out: First) -> None:
    """Expand the first server's words into ``out``, from its seed's words and the corrections.

    ``words`` (first_width,) are of this selection alone; ``dealt`` is copied.
    """
    n = out.mask.size
    permute(words[:n], out.places)
    out.mask[:] = words[n : 2 * n]
    out.share[:] = words[2 * n : 3 * n]
    out.shuffled[:] = dealt.shuffled
    out.returned[:] = dealt.returned
    correlation, at = out.comparisons, 3 * n
    for k in range(correlation.share.size):
        correlation.share[k] = words[at]
        correlation.bits[k] = words[at + 1]
        correlation.products[k] = words[at + 2] & _LOW
        correlation.masks[k] = words[at + 3]
        correlation.passed[k] = words[at + 4]
        correlation.joined[k] = words[at + 5]
        at += FIRST_WORDS


@compiled
def expand_second(words: Words64, dealt: ForSecond, out: Second) -> None:
    """Expand the second server's words; parameters as of :func:`expand_first`."""
    n = out.mask.size
    out.mask[:] = words[:n]
    out.share[:] = words[n : 2 * n]
    out.returned_mask[:] = words[2 * n : 3 * n]
    out.returned_share[:] = words[3 * n : 4 * n]
    permute(words[4 * n : 5 * n], out.places)
    out.shuffled[:] = dealt.shuffled
    correlation, at = out.comparisons, 5 * n
    for k in range(correlation.share.size):
        correlation.share[k] = words[at]
        correlation.masks[k] = words[at + 1]
        correlation.passed[k] = words[at + 2]
        correlation.bits[k] = dealt.bits[k]
        correlation.products[k] = np.uint64(dealt.products[k])
        correlation.joined[k] = dealt.joined[k]
        at += SECOND_WORDS


@compiled
def deal(
    first: Words64, second: Words64, places: Ints, for_first: ForFirst, for_second: ForSecond
) -> None:
    """Make the corrections that tie both servers' words together, for a selection.

    ``first`` (first_width,) and ``second`` (second_width,) are words of either server's seed.
    ``places`` (entries,) is a buffer. ``for_first`` and ``for_second`` receive the corrections.
    """
    n = places.size
    permute(first[:n], places)
    for i in range(n):
        place = places[i]
        for_first.shuffled[place] = second[i] - second[n + place]
        for_first.returned[i] = second[2 * n + place] - second[3 * n + i]
    permute(second[4 * n : 5 * n], places)
    for i in range(n):
        for_second.shuffled[places[i]] = first[n + i] - first[2 * n + places[i]]
    one, two = 3 * n, 5 * n
    for k in range(for_second.bits.size):
        bits = swap_digits(first[one] + second[two])
        below = bits & _BELOW_SIGN  # bit 63 takes no part in borrows
        for_second.bits[k] = bits ^ first[one + 1]
        products = (below >> _HALF) & below & _LOW
        for_second.products[k] = np.uint32(products ^ (first[one + 2] & _LOW))
        masks, passed = first[one + 3] ^ second[two + 1], first[one + 4] ^ second[two + 2]
        from_below = masks & (masks >> _HALF) & _LOW
        through = masks & passed & _LOW
        for_second.joined[k] = (from_below | (through << _HALF)) ^ first[one + 5]
        one += FIRST_WORDS
        two += SECOND_WORDS
