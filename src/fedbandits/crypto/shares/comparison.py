"""Which of two shared numbers is larger: both servers learn that one bit, and nothing else.

The numbers x and y are int64 with |x - y| < 2⁶³, shared mod 2⁶⁴. A dealer has dealt a uniform r,
shared additively and, bit by bit, by exclusive or. Both servers open z = x - y + r, which is
uniform whatever x and y are. Then x < y exactly if z - r is negative: that is bit 63 of z, of r,
and the borrow that the lower 63 bits of z - r take, all added mod 2.

Borrows are a prefix computation. Bit i generates one if g = ¬z ∧ r, and passes one on if
p = ¬(z ⊕ r). Two neighbours become one: (G, P) ∘ (G', P') = (G ⊕ P∧G', P∧P'), the more significant
one first. Each ∧ of shared bits takes a dealt product of random bits (Beaver 1991), by which two
masked bits are opened. One mask of P serves both products of a node.

Bits are in an order in which neighbours are always as far apart as possible: bit i at the place
whose six binary digits are those of i, reversed. Then a level joins the upper half of a word with
the lower half. The first level has factors of r alone. Its products r₂ⱼ₊₁ ∧ r₂ⱼ are dealt, so that
nothing is opened for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Words64
from fedbandits.crypto.shares.borrow import first_level, joined, masked, result

#: Openings of one comparison: of z, of five levels, and of the result; and the bits of each.
OPENING_BITS = (64, 48, 24, 12, 6, 2, 1)
OPENINGS = len(OPENING_BITS)
#: Words of key stream that seal a server's openings of a comparison, and in which of them, from
#: which bit on, those of an opening are.
SEAL_WORDS = 3
_SEAL_WORD = (0, 1, 2, 2, 2, 2, 2)
_SEAL_FROM = (0, 0, 0, 24, 36, 42, 44)
#: Words that a server makes of its seed for a comparison: whoever is first, and the other one.
FIRST_WORDS, SECOND_WORDS = 6, 3
#: Bytes that the dealer sends the second server for a comparison: its bits of r, products of the
#: first level, and products of the others.
DEALT_BYTES = 20

_ONE, _EVERY = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


class Correlation(NamedTuple):
    """What one server has been dealt for some comparisons, each an array of so many uint64."""

    share: Words64  # of r, additive
    bits: Words64  # of r, in the order of places, by exclusive or
    products: Words64  # r₂ⱼ₊₁ ∧ r₂ⱼ: 32 bits
    masks: Words64  # of P in the lower half, of G' in the upper: a bit a node, 31 of them
    passed: Words64  # masks of P', lower half
    joined: Words64  # products of the masks of P with those of G' (lower half) and of P' (upper)


class Held(NamedTuple):
    """What one server holds of comparisons under way, each an array of so many uint64."""

    opened: Words64  # z
    borrow: Words64  # shares of G, a bit a node
    passes: Words64  # shares of P
    sent: Words64  # the last opening, own share


def new_held(comparisons: int) -> Held:
    """Arrays for so many comparisons."""
    return Held(*(np.zeros(comparisons, np.uint64) for _ in Held._fields))


@compiled
def open_next(number: int, dealt: Correlation, held: Held, first: bool) -> None:
    """Write a server's shares of one opening into ``held.sent``.

    Parameters
    ----------
    number : int
        Which opening, 0 … 6. Before the first, ``held.sent`` has shares of x - y.
    dealt : Correlation
        What the server was dealt for these comparisons.
    held : Held
        What it holds of them.
    first : bool
        Whether it is the first server: one of both adds what is public.
    """
    for k in range(held.sent.size):
        if number == 0:
            held.sent[k] += dealt.share[k]
        elif number < OPENINGS - 1:
            held.sent[k] = masked(
                number, held.borrow[k], held.passes[k], dealt.masks[k], dealt.passed[k]
            )
        else:
            held.sent[k] = result(held.opened[k], dealt.bits[k], held.borrow[k], first)


@compiled
def take_opening(number: int, others: Words64, dealt: Correlation, held: Held, first: bool) -> None:
    """Go on from the other server's shares of the opening that ``held.sent`` has own shares of.

    Parameters
    ----------
    number, dealt, held, first
        See :func:`open_next`. After the last opening ``held.opened`` has the results: 1 where the
        first number is the smaller one.
    others : (comparisons,) uint64
        The other server's shares.
    """
    for k in range(others.size):
        if number == 0:
            opened = held.sent[k] + others[k]
            held.opened[k] = opened
            held.borrow[k], held.passes[k] = first_level(
                opened, dealt.bits[k], dealt.products[k], first
            )
        elif number < OPENINGS - 1:
            held.borrow[k], held.passes[k] = joined(
                number, held.sent[k] ^ others[k], held.borrow[k], held.passes[k], dealt.masks[k],
                dealt.passed[k], dealt.joined[k], first,
            )  # fmt: skip
        else:
            held.opened[k] = held.sent[k] ^ others[k]


class Both(NamedTuple):
    """Buffers of both servers' comparisons in a simulation."""

    to_second: Words64  # (OPENINGS, comparisons) the first server's openings, sealed
    to_first: Words64  # (OPENINGS, comparisons) the second server's, sealed
    opened: Words64  # (comparisons,)
    mine: Held
    theirs: Held


def new_both(comparisons: int) -> Both:
    """Arrays for so many comparisons."""
    first, second = np.zeros((2, OPENINGS, comparisons), np.uint64)
    opened = np.zeros(comparisons, np.uint64)
    return Both(first, second, opened, new_held(comparisons), new_held(comparisons))


@compiled
def _exchange(
    number: int, seal_second: Words64, seal_first: Words64, at: int, n: int, both: Both
) -> None:
    """Both send their shares of an opening, sealed, and open what they are sent."""
    word, start = _SEAL_WORD[number], np.uint64(_SEAL_FROM[number])
    every = _EVERY if number == 0 else (_ONE << np.uint64(OPENING_BITS[number])) - _ONE
    own, others = both.mine.sent, both.theirs.sent
    to_second, to_first, opened = both.to_second[number], both.to_first[number], both.opened
    pad, other_pad = seal_second[word][at : at + n], seal_first[word][at : at + n]
    for k in range(n):
        to_second[k] = own[k] ^ ((pad[k] >> start) & every)
    for k in range(n):
        to_first[k] = others[k] ^ ((other_pad[k] >> start) & every)
    if number == 0:
        for k in range(n):
            opened[k] = (to_second[k] ^ pad[k]) + (to_first[k] ^ other_pad[k])
        return
    for k in range(n):
        opened[k] = to_second[k] ^ to_first[k] ^ (((pad[k] ^ other_pad[k]) >> start) & every)


@inlined
def _begin_side(opened: Words64, dealt: Correlation, held: Held, first: bool, n: int) -> None:
    """One server's first level, for all comparisons."""
    for k in range(n):
        held.borrow[k] = first_level(opened[k], dealt.bits[k], dealt.products[k], first)[0]
    for k in range(n):
        held.passes[k] = first_level(opened[k], dealt.bits[k], dealt.products[k], first)[1]


@inlined
def _mask_side(number: int, dealt: Correlation, held: Held, n: int) -> None:
    """One server's shares of what a level opens, for all comparisons."""
    for k in range(n):
        held.sent[k] = masked(
            number, held.borrow[k], held.passes[k], dealt.masks[k], dealt.passed[k]
        )


@inlined
def _join_side(
    number: int, opened: Words64, dealt: Correlation, held: Held, first: bool, n: int
) -> None:
    """One server's way one level up, for all comparisons."""
    for k in range(n):
        held.borrow[k] = joined(
            number, opened[k], held.borrow[k], held.passes[k], dealt.masks[k], dealt.passed[k],
            dealt.joined[k], first,
        )[0]  # fmt: skip
    for k in range(n):
        held.passes[k] = joined(
            number, opened[k], held.borrow[k], held.passes[k], dealt.masks[k], dealt.passed[k],
            dealt.joined[k], first,
        )[1]  # fmt: skip


@compiled
def _some(dealt: Correlation, at: int, n: int) -> Correlation:
    end = at + n
    return Correlation(
        dealt.share[at:end], dealt.bits[at:end], dealt.products[at:end], dealt.masks[at:end],
        dealt.passed[at:end], dealt.joined[at:end],
    )  # fmt: skip


@compiled
def compare_both(
    mine: Correlation, theirs: Correlation, seal_second: Words64, seal_first: Words64, at: int,
    n: int, both: Both,
) -> None:  # fmt: skip
    """Both sides at once, for a simulation: what :func:`open_next` and :func:`take_opening` do.

    Parameters
    ----------
    mine, theirs : Correlation
        What the first and the second server were dealt.
    seal_second, seal_first : (SEAL_WORDS, comparisons) uint64
        Key stream of what the first server sends the second, and of what comes back; zeros where
        nothing is sealed.
    at, n : int
        Which of the dealt comparisons is used up first, and how many are.
    both : Both
        ``sent`` of either side has its shares of x - y. Afterwards ``opened`` has the results, 1
        where x < y, and ``to_second`` and ``to_first`` what was sent.
    """
    # Every loop writes one array only, so that it vectorises.
    mine, theirs = _some(mine, at, n), _some(theirs, at, n)
    own, others = both.mine, both.theirs
    for k in range(n):
        own.sent[k] += mine.share[k]
    for k in range(n):
        others.sent[k] += theirs.share[k]
    _exchange(0, seal_second, seal_first, at, n, both)
    own.opened[:n] = both.opened[:n]
    _begin_side(both.opened, mine, own, True, n)
    _begin_side(both.opened, theirs, others, False, n)
    for number in range(1, OPENINGS - 1):
        _mask_side(number, mine, own, n)
        _mask_side(number, theirs, others, n)
        _exchange(number, seal_second, seal_first, at, n, both)
        _join_side(number, both.opened, mine, own, True, n)
        _join_side(number, both.opened, theirs, others, False, n)
    for k in range(n):
        own.sent[k] = result(own.opened[k], mine.bits[k], own.borrow[k], True)
    for k in range(n):
        others.sent[k] = result(own.opened[k], theirs.bits[k], others.borrow[k], False)
    _exchange(OPENINGS - 1, seal_second, seal_first, at, n, both)
