"""Which shared numbers are compared with which, until one is left.

Contenders stand in places. In every stage they are split into groups of neighbours, as equal in
size as can be, of at most ``arity``. In a group all are compared with all, and one goes on. Stages
are as few as ``arity`` allows, as each takes rounds between the servers. The sizes of their groups
are those that take the fewest comparisons: early groups are small, late ones large.

Results are open. As places are in a uniformly random order and all numbers differ, results have a
distribution that does not depend on the numbers: in every group, each order is equally likely.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Ints, Words64


@inlined
def _bound(group: int, groups: int, contenders: int) -> int:
    """Where a group begins; groups differ by one in size at most."""
    return group * contenders // groups


class _Course(NamedTuple):
    """A tournament from some stage on; of two the smaller tuple is the better one."""

    stages: int
    comparisons: int
    groups: int  # of the first of these stages


@functools.lru_cache(maxsize=4096)
def _best_course(contenders: int, arity: int) -> _Course:
    if contenders < 2:
        return _Course(0, 0, 0)
    found = []
    for size in range(2, min(arity, contenders) + 1):
        groups = -(-contenders // size)
        rest = _best_course(groups, arity)
        # So many groups have one contender more than the others.
        small, larger = divmod(contenders, groups)
        count = groups * (small * (small - 1) // 2) + larger * small
        found.append(_Course(1 + rest.stages, count + rest.comparisons, groups))
    return min(found)


def groups_of(contenders: int, arity: int) -> int:
    """Into how many groups so many contenders are split."""
    return _best_course(contenders, arity).groups


def stage_sizes(contenders: int, arity: int) -> tuple[int, ...]:
    """Contenders at the beginning of every stage."""
    sizes = []
    while contenders > 1:
        sizes.append(contenders)
        contenders = groups_of(contenders, arity)
    return tuple(sizes)


@functools.lru_cache(maxsize=256)
def pairs(contenders: int, arity: int) -> Ints:
    """The comparisons of one stage, (comparisons, 2): places of both, in the order of results."""
    groups, found = groups_of(contenders, arity), []
    for group in range(groups):
        begin, end = (_bound(g, groups, contenders) for g in (group, group + 1))
        found += [(i, j) for i in range(begin, end) for j in range(i + 1, end)]
    result = np.array(found, np.int64).reshape(-1, 2)
    result.setflags(write=False)
    return result


def comparisons(contenders: int, arity: int) -> int:
    """Comparisons of a whole tournament."""
    return _best_course(contenders, arity).comparisons


@compiled
def winners(places: Ints, contenders: int, groups: int, smaller: Words64) -> int:
    """Write the places of those who go on over ``places``.

    Parameters
    ----------
    places : (contenders or more,) int64
        Places of contenders; the winners' come first afterwards.
    contenders : int
        How many there are.
    groups : int
        How many groups they are split into, see :func:`groups_of`.
    smaller : (comparisons,) uint64
        The stage's results in the order of :func:`pairs`: 1 where the first one lost.

    Returns
    -------
    int
        How many go on; -1 if somewhere nobody has won all comparisons, which no numbers can cause.
    """
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
