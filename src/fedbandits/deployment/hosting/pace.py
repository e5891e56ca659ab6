"""The pace of commits: whether they are short enough for the event loop."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence

#: Seconds of a commit that is short: handing a commit over to the thread takes as long.
_SHORT = 0.0005
#: Seconds for which the thread has the commits after long ones, at first and at most.
_FIRST_REST, _LONGEST_REST = 1.0, 60.0
#: Commits on the loop without a rest, after which the next rest is as short as the first one.
_CALM = 256


class CommitPace:
    """Tells whether commits are short enough for the event loop, by the time that they take.

    ``seconds`` are the times of some commits while nothing else is done. If these are long, the
    thread has the commits for good. Commits on the loop are timed, too. If their mean becomes long,
    the thread has the commits for a rest, and then the loop tries again.
    """

    def __init__(
        self, seconds: Sequence[float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._mean, self._clock = statistics.median(seconds), clock
        self._rests_until, self._rest = -math.inf, _FIRST_REST
        #: Commits on the loop since the last rest.
        self._calm = 0

    @property
    def is_short(self) -> bool:
        """True if the next commit may be made on the event loop."""
        return self._mean <= _SHORT and self._clock() >= self._rests_until

    def took(self, seconds: float) -> None:
        """Note the time of a commit on the loop."""
        self._mean += (seconds - self._mean) / 16
        if self._mean > _SHORT:
            self._rests_until, self._mean = self._clock() + self._rest, _SHORT / 2
            self._rest, self._calm = min(2.0 * self._rest, _LONGEST_REST), 0
            return
        self._calm += 1
        if self._calm == _CALM:
            self._rest = _FIRST_REST
