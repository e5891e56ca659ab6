"""Decisions whose outcomes are not observed yet."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from fedbandits.federation.events import Decision


class Late(NamedTuple):
    """An outcome on its way to the player at ``place`` that made the ``decision``."""

    place: int
    decision: Decision
    outcome: Any


class Pending:
    """Outcomes on their way, by the round in which each is observed.

    There are never more of them than decisions within the longest delay.
    """

    def __init__(self) -> None:
        self._by_round: defaultdict[int, list[Late]] = defaultdict(list)

    def __len__(self) -> int:
        return sum(map(len, self._by_round.values()))

    def add(self, wait: int, round_: int, late: Late) -> None:
        """Keep an outcome for ``wait`` rounds after ``round_``."""
        self._by_round[round_ + wait].append(late)

    def due(self, round_: int) -> list[Late]:
        """Take out what is observed at the beginning of ``round_``, in order of decisions."""
        return self._by_round.pop(round_, [])
