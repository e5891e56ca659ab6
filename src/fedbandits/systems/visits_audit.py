"""A check that a person's visits count up to the number that is charged, and no further.

The person comes more often than is charged for, one visit after the other. Each of the first k
visits must move what is released by its own record, and no later one by anything: also not once the
party has gone on from what it had kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.protocol_check import ProtocolCheck

#: Visits that are charged for and played, at most, and how many more there are.
MOST_VISITS, MORE_VISITS = 60, 3
#: Records are rounded to a grid.
_ROUNDED = 1e-6


class Visited(NamedTuple):
    """A party to which one person comes again and again.

    Parameters
    ----------
    party
        The party.
    released
        Returns the sum that the party releases, without noise, (size,).
    comes
        Lets the person come, from the number of the visit, from 1, and returns the record of the
        visit, (size,).
    """

    party: Any
    released: Callable[[], Floats]
    comes: Callable[[int], Floats]


def visits_check(who: str, most: int, begin: Callable[[], Visited]) -> ProtocolCheck:
    """Return a check that the first ``most`` visits of a person count, and no more.

    ``who`` is the party in words; ``begin`` makes it.
    """
    looks_at = f"a person who comes {most + MORE_VISITS} times to {who}, of which {most} count"
    return ProtocolCheck(looks_at, lambda: _counted(most, begin()))


def _counted(most: int, visited: Visited) -> tuple[str, tuple[str, ...]]:
    moved, wrong = list[bool](), list[str]()
    for visit in range(1, most + MORE_VISITS + 1):
        if visit == most + MORE_VISITS:
            visited.party.load(visited.party.dump())  # visits that counted are kept
        before = visited.released().copy()
        record = visited.comes(visit)
        change = visited.released() - before
        moved.append(bool(change.any()))
        if moved[-1] and np.abs(change - record).max() > _ROUNDED * np.abs(record).max():
            wrong.append(f"visit {visit} moves what is released by more than its record")
    if moved != [visit <= most for visit in range(1, len(moved) + 1)]:
        wrong.append(f"{sum(moved)} of {len(moved)} visits count, {most} are charged for")
    return f"{sum(moved)} of {len(moved)} visits of a person count", tuple(wrong)
