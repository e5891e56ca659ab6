"""Estimate how long the rest of an audit takes, from its parts so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from fedbandits.experiments.events import PartKind


class Clock:
    """Times the parts of an audit. Parts of one kind take about as long as each other.

    Parameters
    ----------
    kinds
        Kinds of all parts, in order.
    now
        Seconds of some clock.
    """

    def __init__(
        self, kinds: Sequence[PartKind], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._kinds, self._now = kinds, now
        self._took: list[float] = []
        self._began = 0.0

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self._kinds)

    def begin(self) -> None:
        """The next part begins."""
        self._began = self._now()

    def end(self) -> None:
        """That part is done."""
        self._took.append(self._now() - self._began)

    def left(self, share: float | None = None) -> float | None:
        """Seconds that are left.

        Parameters
        ----------
        share
            How much of the part that goes on is done; None between two parts.

        Returns
        -------
        float or None
            None if nothing is known yet.
        """
        took, rest = list(self._took), 0.0
        if share is not None:
            if not share > 0.0:
                return None
            elapsed = self._now() - self._began
            took.append(elapsed / share)
            rest = took[-1] - elapsed
        if not took:
            return None
        return rest + sum(self._guess(kind, took) for kind in self._kinds[len(took) :])

    def _guess(self, kind: PartKind, took: list[float]) -> float:
        """How long a part will take: as long as others of its kind, or as any if there are none."""
        alike = [
            seconds for other, seconds in zip(self._kinds, took, strict=False) if other == kind
        ]
        chosen = alike or took
        return sum(chosen) / len(chosen)
