"""Which shared numbers are compared with which, until one is left.

Contenders stand in places. In every stage they are split into groups of neighbours, as few as
``arity`` allows and as equal in size as can be. In a group all are compared with all, and one goes
on. Larger groups take fewer stages, so fewer rounds between the servers, and more comparisons.

Results are open. As places are in a uniformly random order and all numbers differ, results have a
distribution that does not depend on the numbers: in every group, each order is equally likely.
"""

from __future__ import annotations

import functools

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Ints, Words64


@inlined
def _bound(group: int, groups: int, contenders: int) -> int:
    """Where a group begins; groups differ by one in size at most."""
    return group * contenders // groups


def stage_sizes(contenders: int, arity: int) -> tuple[int, ...]:
    """Contenders at the beginning of every stage."""
    sizes = []
    while contenders > 1:
        sizes.append(contenders)
        contenders = -(-contenders // arity)
    return tuple(sizes)


@functools.lru_cache(maxsize=256)
def pairs(contenders: int, arity: int) -> Ints:
    """The comparisons of one stage, (comparisons, 2): places of both, in the order of results."""
    groups, found = -(-contenders // arity), []
    for group in range(groups):
        begin = group * contenders // groups
        end = (group + 1) * contenders // groups
        found += [(i, j) for i in range(begin, end) for j in range(i + 1, end)]
    result = np.array(found, np.int64).reshape(-1, 2)
    result.setflags(write=False)
    return result


@functools.lru_cache(maxsize=256)
def comparisons(contenders: int, arity: int) -> int:
    """Comparisons of a whole tournament."""
    return sum(len(pairs(size, arity)) for size in stage_sizes(contenders, arity))


@compiled
def winners(places: Ints, contenders: int, arity: int, smaller: Words64) -> int:
    """Write the places of those who go on over ``places``.

    Parameters
    ----------
    places : (contenders or more,) int64
        Places of contenders; the winners' come first afterwards.
    contenders : int
        How many there are.
    arity : int
        Contenders of a group at most.
    smaller : (comparisons,) uint64
        The stage's results in the order of :func:`pairs`: 1 where the first one lost.

    Returns
    -------
    int
        How many go on; -1 if somewhere nobody has won all comparisons, which no numbers can cause.
    """
    groups = -(-contenders // arity)
    read = 0
    for group in range(groups):
        begin, end = _bound(group, groups, contenders), _bound(group + 1, groups, contenders)
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
