"""A quorum: nothing leaves a party before most of its peers have said what they have seen of it.

A party that was put back from an old backup does not know it. Whoever has seen more does, and says
so when it greets. One peer is not enough: it may be the one that has seen nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from fedbandits.deployment.delivery.exchange import Exchange


class Quorum:
    """Counts the peers that vouch for a party since it has started.

    More than half of them are enough. A half is, after ``patience`` seconds: with two neighbours,
    of which one is down, a party must be able to start.
    """

    def __init__(
        self,
        exchanges: Mapping[str, Exchange],
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._exchanges, self._patience, self._clock = exchanges, patience, clock
        self.begin()

    def begin(self) -> None:
        """Begin anew: what was said before counts no more."""
        self._since, self._reached = self._clock(), False
        for exchange in self._exchanges.values():
            exchange.vouches = False

    def missing(self, witnesses: Collection[str]) -> tuple[str, ...]:
        """Return the ``witnesses`` that are waited for; none once there were enough."""
        if not self._reached and witnesses:
            missing = tuple(peer for peer in witnesses if not self._exchanges[peer].vouches)
            vouching = 2 * (len(witnesses) - len(missing))
            late = self._clock() - self._since >= self._patience
            self._reached = vouching > len(witnesses) or (late and vouching == len(witnesses))
            return () if self._reached else missing
        return ()
