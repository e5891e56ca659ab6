"""Comparison of two shared numbers: both servers learn the larger number's place, nothing else.

The numbers x and y are int64 with |x - y| < 2⁶³, shared mod 2⁶⁴. A dealer has dealt a uniform r,
shared additively and, bit by bit, by exclusive or. Both servers open z = x - y + r, which is
uniform for all x and y. Then x < y exactly if z - r is negative: the sum mod 2 of bit 63 of z, of
bit 63 of r, and of the borrow of the lower 63 bits of z - r.

Borrows are a prefix computation. Bit i generates a borrow if g = ¬z ∧ r, and passes a borrow on if
p = ¬(z ⊕ r). Two neighbours are joined: (G, P) ∘ (G', P') = (G ⊕ P∧G', P∧P'), the more significant
first. Each ∧ of shared bits takes a dealt product of random bits (Beaver 1991), by which two
masked bits are opened. A single mask of P serves both products of a node.

Bits are in an order in which neighbours are always as far apart as possible: bit i has the place
with the six binary digits of i, reversed. Then a level joins the upper half of a word with the
lower half. The first level has factors of r alone. Its products r₂ⱼ₊₁ ∧ r₂ⱼ are dealt, so this
level opens nothing.

:func:`winners` is the end of a tournament's stage: results are open, and decide who goes on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Ints, Words64

#: Openings of one comparison: of z, of five levels, and of the result; and the bits of each.
OPENING_BITS = (64, 48, 24, 12, 6, 2, 1)
OPENINGS = len(OPENING_BITS)
#: Words of a seed for a comparison, of the first and of the second server.
FIRST_WORDS, SECOND_WORDS = 6, 3
#: Bytes from the dealer to the second server for a comparison: its bits of r, products of the
#: first level, and products of the others.
DEALT_BYTES = 20
_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_SIGN = np.uint64(63)
_BELOW_SIGN = np.uint64(0x7FFFFFFFFFFFFFFF)
#: To swap binary digits a and b of an index: the places with digit a only, and the distance.
_SWAP_05, _BY_05 = np.uint64(0x00000000AAAAAAAA), np.uint64(31)
_SWAP_14, _BY_14 = np.uint64(0x0000CCCC0000CCCC), np.uint64(14)
_SWAP_23, _BY_23 = np.uint64(0x00F000F000F000F0), np.uint64(4)
WORD_BITS = 64


class Correlation(NamedTuple):
    """Words dealt to a server for some comparisons; every array has a uint64 a comparison."""

    share: Words64  # of r, additive
    bits: Words64  # of r, in the order of places, by exclusive or
    products: Words64  # r₂ⱼ₊₁ ∧ r₂ⱼ: 32 bits
    masks: Words64  # of P in the lower half, of G' in the upper: a bit a node, 31 of them
    passed: Words64  # masks of P', lower half
    joined: Words64  # products of masks: of P and G' (lower half), of P and P' (upper half)


class Side(NamedTuple):
    """A server's side of comparisons under way; every array has a uint64 a comparison."""

    opened: Words64  # z
    borrow: Words64  # shares of G, a bit a node
    passes: Words64  # shares of P
    sent: Words64  # the last opening, own share


def new_side(comparisons: int) -> Side:
    """Make the arrays of one server for a number of comparisons."""
    return Side(*(np.zeros(comparisons, np.uint64) for _ in Side._fields))


@inlined
def swap_digits(word: np.uint64) -> np.uint64:
    """Put bits of a word in the order of places; a second call undoes the first."""
    word = np.uint64(word)
    moved = (word ^ (word >> _BY_05)) & _SWAP_05
    word ^= moved ^ (moved << _BY_05)
    moved = (word ^ (word >> _BY_14)) & _SWAP_14
    word ^= moved ^ (moved << _BY_14)
    moved = (word ^ (word >> _BY_23)) & _SWAP_23
    return word ^ moved ^ (moved << _BY_23)


@inlined
def first_level(
    opened: np.uint64, bits: np.uint64, products: np.uint64, first: bool
) -> tuple[np.uint64, np.uint64]:
    """Make shares of (G, P) of 32 pairs of neighbours, without an opening.

    Bit 63 takes no part: its pair passes on every borrow.
    """
    not_z = ~swap_digits(opened & _BELOW_SIGN)
    own = bits & _BELOW_SIGN
    upper, lower = not_z >> _HALF, not_z & _LOW
    own_upper, own_lower = own >> _HALF, own & _LOW
    borrow = (upper & own_upper) ^ (lower & upper & own_lower) ^ (lower & products)
    passes = (upper & own_lower) ^ (lower & own_upper) ^ products
    if first:
        passes ^= upper & lower
    return borrow, passes


@inlined
def level(number: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the nodes of level 1 … 5, the place of their masks, and a word with a bit a node."""
    nodes = np.uint64(32) >> np.uint64(number)
    place = np.uint64(32) - (nodes << _ONE)
    return nodes, place, (_ONE << nodes) - _ONE


@inlined
def masked(
    number: int, borrow: np.uint64, passes: np.uint64, masks: np.uint64, passed: np.uint64
) -> np.uint64:
    """Make a share of a level's opening: P, G' and (but for the last level) P', each masked."""
    nodes, place, every = level(number)
    word = (passes >> nodes) ^ (masks >> place) & every
    word |= ((borrow ^ (masks >> _HALF >> place)) & every) << nodes
    if number < 5:
        word |= ((passes ^ (passed >> place)) & every) << (nodes + nodes)
    return word


@inlined
def joined(
    number: int, opened: np.uint64, borrow: np.uint64, passes: np.uint64, masks: np.uint64,
    passed: np.uint64, joined: np.uint64, first: bool,
) -> tuple[np.uint64, np.uint64]:  # fmt: skip
    """Make shares of (G, P) a level up, from the opened bits."""
    nodes, place, every = level(number)
    d, e, f = opened & every, (opened >> nodes) & every, (opened >> (nodes + nodes)) & every
    a, b = (masks >> place) & every, (masks >> _HALF >> place) & every
    c = (passed >> place) & every
    from_below = (d & b) ^ (e & a) ^ (joined >> place) & every
    through = (d & c) ^ (f & a) ^ (joined >> _HALF >> place) & every
    if first:
        from_below ^= d & e
        through ^= d & f
    return (borrow >> nodes) ^ from_below, through


@inlined
def result(opened: np.uint64, bits: np.uint64, borrow: np.uint64, first: bool) -> np.uint64:
    """Make a share of the result: 1 if the first number is smaller."""
    bit = (borrow & _ONE) ^ (bits >> _SIGN)
    return bit ^ (opened >> _SIGN) if first else bit


@compiled
def open_next(number: int, dealt: Correlation, side: Side, first: bool) -> None:
    """Write a server's shares of an opening, ``number`` 0 … 6, into ``side.sent``.

    Before opening 0, ``side.sent`` has shares of x - y. ``dealt`` is for these comparisons. The
    ``first`` server alone adds public bits.
    """
    if number == 0:
        for k in range(side.sent.size):
            side.sent[k] += dealt.share[k]
    elif number < OPENINGS - 1:
        for k in range(side.sent.size):
            side.sent[k] = masked(
                number, side.borrow[k], side.passes[k], dealt.masks[k], dealt.passed[k]
            )
    else:
        for k in range(side.sent.size):
            side.sent[k] = result(side.opened[k], dealt.bits[k], side.borrow[k], first)


@compiled
def take_opening(number: int, others: Words64, dealt: Correlation, side: Side, first: bool) -> None:
    """Complete an opening, of which ``side.sent`` has the server's own shares.

    ``others`` (comparisons,) are the other server's shares; all other parameters are as of
    :func:`open_next`. After the last opening ``side.opened`` has the results: 1 where the first
    number is smaller.
    """
    if number == 0:
        for k in range(others.size):
            side.opened[k] = side.sent[k] + others[k]
            side.borrow[k], side.passes[k] = first_level(
                side.opened[k], dealt.bits[k], dealt.products[k], first
            )
        return
    opened = side.sent ^ others
    if number == OPENINGS - 1:
        side.opened[:] = opened
        return
    for k in range(others.size):
        side.borrow[k], side.passes[k] = joined(
            number, opened[k], side.borrow[k], side.passes[k], dealt.masks[k], dealt.passed[k],
            dealt.joined[k], first,
        )  # fmt: skip


@inlined
def group_begin(group: int, groups: int, contenders: int) -> int:
    """Return the beginning of a group; sizes of groups differ by at most 1."""
    return group * contenders // groups


@compiled
def winners(places: Ints, contenders: int, groups: int, smaller: Words64) -> int:
    """Write the places of the winners over ``places``, and return the number of winners.

    The ``contenders`` come first in ``places``. They are split into ``groups``, see
    :func:`.shares.groups_of`. ``smaller`` (comparisons,) are the stage's results in the order of
    :func:`.shares.pairs`: 1 where the first contender lost. Returns -1 if a group has no winner of
    all comparisons, which no numbers can cause.
    """
    read = 0
    for group in range(groups):
        begin, end = (
            group_begin(group, groups, contenders),
            group_begin(group + 1, groups, contenders),
        )
        # A contender goes on after beating all others of its group.
        best, won, size = -1, 0, end - begin
        for i in range(size):
            wins = 0
            for j in range(size):
                if i == j:
                    continue
                lower, upper = min(i, j), max(i, j)
                at = read + lower * size - lower * (lower + 1) // 2 + upper - lower - 1
                lost = smaller[at] != 0
                wins += lost != (i < j)
            if wins == size - 1:
                best, won = begin + i, won + 1
        if won != 1:
            return -1
        read += size * (size - 1) // 2
        places[group] = places[best]  # group <= begin: nothing is overwritten before it is read
    return groups
