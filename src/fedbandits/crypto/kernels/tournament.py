"""A stage of a tournament: both servers' comparisons at once, and the winners."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import (
    OPENING_BITS,
    OPENINGS,
    Correlation,
    Side,
    begin_side,
    join_side,
    mask_side,
    new_side,
    result,
)

#: Words of key stream that seal a server's openings of a comparison, and in which of them, from
#: which bit on, those of an opening are.
SEAL_WORDS = 3
_SEAL_WORD = (0, 1, 2, 2, 2, 2, 2)
_SEAL_FROM = (0, 0, 0, 24, 36, 42, 44)
_ONE, _EVERY = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def group_begin(group: int, groups: int, contenders: int) -> int:
    """Return where a group begins; groups differ by one in size at most."""
    return group * contenders // groups


@compiled
def winners(places: Ints, contenders: int, groups: int, smaller: Words64) -> int:
    """Write the places of those who go on over ``places``, and return how many do.

    The ``contenders`` come first in ``places``. They are split into ``groups``, see
    :func:`.shares.groups_of`. ``smaller`` (comparisons,) are the stage's results in the order of
    :func:`.shares.pairs`: 1 where the first one lost. Returns -1 if somewhere nobody has won all
    comparisons, which no numbers can cause.
    """
    read = 0
    for group in range(groups):
        begin, end = (
            group_begin(group, groups, contenders),
            group_begin(group + 1, groups, contenders),
        )
        # Whoever is not beaten by any later one has only to be beaten by no earlier one either.
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


class Both(NamedTuple):
    """Buffers of both servers' comparisons in a simulation."""

    to_second: Words64  # (OPENINGS, comparisons) the first server's openings, sealed
    to_first: Words64  # (OPENINGS, comparisons) the second server's, sealed
    opened: Words64  # (comparisons,)
    mine: Side
    theirs: Side


def new_both(comparisons: int) -> Both:
    """Make arrays for so many comparisons."""
    first, second = np.zeros((2, OPENINGS, comparisons), np.uint64)
    opened = np.zeros(comparisons, np.uint64)
    return Both(first, second, opened, new_side(comparisons), new_side(comparisons))


@compiled
def _exchange(
    number: int, seal_second: Words64, seal_first: Words64, at: int, n: int, both: Both
) -> None:
    """Exchange both servers' shares of an opening, sealed, and open them."""
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
    """Play both sides at once, as :func:`open_next` and :func:`take_opening` do.

    ``mine`` and ``theirs`` were dealt to the first and the second server; ``n`` of these
    comparisons are used up, from ``at`` on. ``seal_second`` and ``seal_first`` (SEAL_WORDS,
    comparisons) are the key stream of what the first server sends the second, and of what comes
    back; zeros where nothing is sealed. ``sent`` of either side has its shares of x - y.
    Afterwards ``both.opened`` has the results, 1 where x < y, and ``to_second`` and ``to_first``
    what was sent.
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
    begin_side(both.opened, mine, own, True, n)
    begin_side(both.opened, theirs, others, False, n)
    for number in range(1, OPENINGS - 1):
        mask_side(number, mine, own, n)
        mask_side(number, theirs, others, n)
        _exchange(number, seal_second, seal_first, at, n, both)
        join_side(number, both.opened, mine, own, True, n)
        join_side(number, both.opened, theirs, others, False, n)
    for k in range(n):
        own.sent[k] = result(own.opened[k], mine.bits[k], own.borrow[k], True)
    for k in range(n):
        others.sent[k] = result(own.opened[k], theirs.bits[k], others.borrow[k], False)
    _exchange(OPENINGS - 1, seal_second, seal_first, at, n, both)
