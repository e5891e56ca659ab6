"""One server's shares of the borrow of a subtraction, level after level; see :mod:`.comparison`."""

from __future__ import annotations

import numpy as np

from fedbandits._compile import inlined

_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_SIGN = np.uint64(63)
_BELOW_SIGN = np.uint64(0x7FFFFFFFFFFFFFFF)
#: Places of binary digits a and b of an index are swapped: those with digit a only, how far.
_SWAP_05, _BY_05 = np.uint64(0x00000000AAAAAAAA), np.uint64(31)
_SWAP_14, _BY_14 = np.uint64(0x0000CCCC0000CCCC), np.uint64(14)
_SWAP_23, _BY_23 = np.uint64(0x00F000F000F000F0), np.uint64(4)


@inlined
def swap_digits(word: np.uint64) -> np.uint64:
    """Bits of a word in the order of places; done twice it is undone."""
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
    """Shares of (G, P) of 32 pairs of neighbours; nothing is opened for it.

    Bit 63 takes no part: it is made one that passes on every borrow.
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
    """Nodes of level 1 … 5, the place of their masks, and a word with a bit a node."""
    nodes = np.uint64(32) >> np.uint64(number)
    place = np.uint64(32) - (nodes << _ONE)
    return nodes, place, (_ONE << nodes) - _ONE


@inlined
def masked(
    number: int, borrow: np.uint64, passes: np.uint64, masks: np.uint64, passed: np.uint64
) -> np.uint64:
    """A share of what a level opens: P, G' and (but for the last level) P', each masked."""
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
    """Shares of (G, P) one level up, given what was opened."""
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
    """A share of whether the first number is the smaller one."""
    bit = (borrow & _ONE) ^ (bits >> _SIGN)
    return bit ^ (opened >> _SIGN) if first else bit
