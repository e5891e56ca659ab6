"""The search for the best settings of parties alone: how far they explore, and their ridge.

Settings lie on a grid of powers. The search climbs on it from the default, one setting at a time,
and goes on where the best one lies at an edge. All settings are played on the same replicates, so
they are compared replicate by replicate. Those that cannot be told from the best are played on
more replicates: a setting that is best on a few is not always good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from fedbandits._typing import Floats
from fedbandits.experiments.intervals import paired

#: Smallest and largest α, and λ, that are tried.
MOST_SCALE, LEAST_SCALE = 8.0, 1.0 / 32.0
MOST_RIDGE, LEAST_RIDGE = 1000.0, 0.01
#: Powers of 2 that α begins with: 1/4, 1/2, 1 and 2.
_FIRST_SCALES = (0, -2, -1, 1)
#: Most settings that are tried beside the default.
MOST_SETTINGS = 16
#: Replicates that the search may play in all, at least; and at most so many times the run's.
LEAST_PLAYED, OF_THE_RUN = 80, 2
#: Most settings that are played on more replicates, the best one among them.
_MOST_CONTESTED = 3
#: So many times the replicates of the first plays, at most, in all.
MORE = 4
#: A share of the loss that is not worth telling apart.
_NEXT_TO_NOTHING = 0.005
#: A setting that loses so much more in all of the first plays is played no further.
_HOPELESS = 1.1

Candidate = TypeVar("Candidate")


class Place(NamedTuple):
    """A place on the grid of settings, in steps from the default: (0, 0) is the default."""

    scale: int = 0
    ridge: int = 0

    @property
    def alpha(self) -> float:
        """α, which doubles at every step."""
        return 2.0**self.scale

    @property
    def ridge_factor(self) -> float:
        """λ in units of its default: 1, 3, 10, 30, … upwards, and 0.3, 0.1, … downwards."""
        decades, half = divmod(self.ridge, 2)
        return float(f"{3 if half else 1}e{decades}")


class Race(Generic[Candidate]):
    """Candidates that are compared on replicates they have in common.

    Those that are entered are played on batches 0 and 1, but for those that lose far more than the
    leader on batch 0. Of equal means the candidate that was entered first leads.

    Parameters
    ----------
    play
        Plays candidates on a batch of replicates, and returns what each loses, (candidates,
        replicates of the batch).
    sizes
        Number of replicates of each batch.
    first
        How many batches candidates are played on when they are entered: 1 or 2.
    most
        Most replicates that are played, of all candidates together.
    """

    def __init__(
        self,
        play: Callable[[Sequence[Candidate], int], Floats],
        sizes: Sequence[int],
        first: int,
        most: int,
    ) -> None:
        self._play, self._sizes, self._first = play, sizes, first
        self._left = most
        self._names: list[Candidate] = []
        self._losses: list[Floats] = []

    @property
    def room(self) -> int:
        """Number of candidates that may still be entered.

        What those at the top may be played on more is kept back, once.
        """
        kept = _MOST_CONTESTED * self._sizes[-1]
        return max(0, (self._left - kept) // sum(self._sizes[: self._first]))

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All that were entered, in order."""
        return tuple(self._names)

    def enter(self, candidates: Iterable[Candidate]) -> None:
        """Play candidates that were not entered yet."""
        new = [one for one in candidates if one not in self._names]
        if not new:
            return
        start = len(self._names)
        self._names += new
        self._losses += [np.zeros(0)] * len(new)
        self._extend(range(start, len(self._names)), 0)
        among = list(range(start, len(self._names)))
        for batch in range(1, self._first):
            leader = self._leader(len(self._losses[0]) if start else 0)
            self._extend([one for one in among if not self._is_hopeless(one, leader)], batch)

    def _is_hopeless(self, one: int, leader: int) -> bool:
        both = min(len(self._losses[one]), len(self._losses[leader]))
        mine, best = self._losses[one][:both], self._losses[leader][:both]
        return bool((mine > best).all() and mine.mean() > _HOPELESS * best.mean())

    def _extend(self, those: Sequence[int], batch: int) -> None:
        """Play candidates on one more batch of replicates."""
        if those:
            self._left -= self._sizes[batch] * len(those)
            more = self._play([self._names[one] for one in those], batch)
            for one, losses in zip(those, more, strict=True):
                self._losses[one] = np.append(self._losses[one], losses)

    def _leader(self, least: int = 0) -> int:
        """Return the number of the best candidate that was played on ``least`` replicates."""
        known = [i for i, losses in enumerate(self._losses) if len(losses) >= least]
        return min(known, key=lambda one: float(self._losses[one].mean()))

    @property
    def leader(self) -> Candidate:
        """The candidate with the smallest mean, of those that were played on most replicates."""
        return self._names[self._leader(max(map(len, self._losses)))]

    def settle(self) -> Candidate:
        """Play the leader and its close rivals on more batches; return the best candidate.

        Few are played on more replicates: the leader, and those with the smallest means. The first
        of them that was entered is always among them, if it cannot be told from the leader either.
        """
        for batch in range(self._first, len(self._sizes)):
            contested = self._contested()
            if len(contested) < 2 or self._left < len(contested) * self._sizes[batch]:
                break
            self._extend(contested, batch)
        return self.leader

    def _contested(self) -> list[int]:
        """Return the leader and its rivals, in the order in which they were entered."""
        most = max(map(len, self._losses))
        leader = self._leader(most)
        best = self._losses[leader]
        known = [i for i, losses in enumerate(self._losses) if len(losses) == most]
        rivals = [i for i in known if i != leader and _cannot_be_told(self._losses[i], best)]
        rivals.sort(key=lambda one: float(self._losses[one].mean()))
        kept = rivals[: _MOST_CONTESTED - 1]
        if rivals and min(rivals) == 0 and 0 not in kept:  # a tie is the default's
            kept[-1] = 0
        return sorted([leader, *kept])


def _cannot_be_told(losses: Floats, best: Floats) -> bool:
    """Tell whether the losses of two candidates differ by chance alone, and noticeably."""
    if float(losses.mean() - best.mean()) <= _NEXT_TO_NOTHING * float(best.mean()):
        return False
    return paired(losses - best).sign is None


class Bounds(NamedTuple):
    """The places that may be tried around the default λ; None where there is no ridge."""

    ridge: float | None

    def allow(self, place: Place) -> bool:
        """Tell whether a place may be tried."""
        if not LEAST_SCALE <= place.alpha <= MOST_SCALE:
            return False
        if place.ridge == 0:
            return True
        if self.ridge is None:
            return False
        return LEAST_RIDGE <= self.ridge * place.ridge_factor <= MOST_RIDGE


def climb(race: Race[Any], bounds: Bounds, has_scale: bool = True) -> None:
    """Enter places: α first, then λ at the best α, then both, until no neighbour is better.

    Where there is no α to set, nothing is entered.
    """
    if not has_scale:
        return
    race.enter(Place(scale) for scale in _FIRST_SCALES)
    _climb_along(race, bounds, [Place(1, 0)])
    if bounds.ridge is not None:
        _climb_along(race, bounds, [Place(0, 1)])
        _climb_along(race, bounds, [Place(0, 1), Place(1, 0), Place(1, 1)])


def _climb_along(race: Race[Any], bounds: Bounds, steps: Sequence[Place]) -> None:
    """Enter the neighbours of the leader, both ways along each step, until it stays the leader."""
    while len(race.candidates) < MOST_SETTINGS and race.room:
        scale, ridge = race.leader
        around = [
            Place(scale + sign * step.scale, ridge + sign * step.ridge)
            for step in steps
            for sign in (1, -1)
        ]
        left = min(MOST_SETTINGS - len(race.candidates), race.room)
        new = [one for one in around if bounds.allow(one) and one not in race.candidates][:left]
        if not new:
            return
        race.enter(new)
        if race.leader == (scale, ridge):
            return
