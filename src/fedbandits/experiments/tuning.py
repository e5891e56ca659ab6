"""The search for the best settings of parties alone: their exploration scale and their ridge.

Settings lie on a grid of powers. The search climbs the grid from the default, one setting at a
time, and goes on if the best setting lies at an edge. All settings are played on the same
replicates, and compared replicate by replicate. Settings that cannot be distinguished from the best
are played on more replicates, because the best setting of a few replicates is not always good.
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
#: First powers of 2 for α: 1/4, 1/2, 1 and 2.
_FIRST_SCALES = (0, -2, -1, 1)
#: Most settings beside the default.
MOST_SETTINGS = 16
#: Replicates that the search may play: at least so many, or so many times those of the run.
LEAST_PLAYED, OF_THE_RUN = 80, 2
#: Most settings that are played on more replicates, with the best setting.
_MOST_CONTESTED = 3
#: Most replicates of a setting, in units of those of the first plays.
MORE = 4
#: A share of the loss that is too small to matter.
_NEXT_TO_NOTHING = 0.005
#: A setting whose loss is larger by this factor in all first plays is dropped.
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
    """Race of candidates that are compared on common replicates.

    New candidates are played on batches 0 and 1, except candidates that lose far more than the
    leader on batch 0. Of equal means the earliest candidate leads.

    Parameters
    ----------
    play
        A function that plays candidates on a batch of replicates, and returns the loss of each,
        (candidates, replicates of the batch).
    sizes
        Number of replicates of each batch.
    first
        Number of first batches of a new candidate: 1 or 2.
    most
        Most replicates of all candidates together.
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

        A batch of further replicates for the top candidates is reserved.
        """
        kept = _MOST_CONTESTED * self._sizes[-1]
        return max(0, (self._left - kept) // sum(self._sizes[: self._first]))

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates, in the order of entry."""
        return tuple(self._names)

    def enter(self, candidates: Iterable[Candidate]) -> None:
        """Play new candidates."""
        new = [name for name in candidates if name not in self._names]
        if not new:
            return
        start = len(self._names)
        self._names += new
        self._losses += [np.zeros(0)] * len(new)
        self._extend(range(start, len(self._names)), 0)
        entered = list(range(start, len(self._names)))
        for batch in range(1, self._first):
            leader = self._leader(len(self._losses[0]) if start else 0)
            self._extend([n for n in entered if not self._is_hopeless(n, leader)], batch)

    def _is_hopeless(self, number: int, leader: int) -> bool:
        both = min(len(self._losses[number]), len(self._losses[leader]))
        mine, best = self._losses[number][:both], self._losses[leader][:both]
        return bool((mine > best).all() and mine.mean() > _HOPELESS * best.mean())

    def _extend(self, numbers: Sequence[int], batch: int) -> None:
        """Play candidates on a further batch of replicates."""
        if numbers:
            self._left -= self._sizes[batch] * len(numbers)
            more = self._play([self._names[number] for number in numbers], batch)
            for number, losses in zip(numbers, more, strict=True):
                self._losses[number] = np.append(self._losses[number], losses)

    def _leader(self, least: int = 0) -> int:
        """Return the number of the best candidate with at least ``least`` replicates."""
        known = [i for i, losses in enumerate(self._losses) if len(losses) >= least]
        return min(known, key=lambda number: float(self._losses[number].mean()))

    @property
    def leader(self) -> Candidate:
        """The candidate with the smallest mean, among candidates with most replicates."""
        return self._names[self._leader(max(map(len, self._losses)))]

    def settle(self) -> Candidate:
        """Play the leader and its close rivals on more batches; return the best candidate.

        Few candidates are played on more replicates: the leader, and rivals with the smallest
        means. The first candidate is always among the rivals if it cannot be told from the leader.
        """
        for batch in range(self._first, len(self._sizes)):
            contested = self._contested()
            if len(contested) < 2 or self._left < len(contested) * self._sizes[batch]:
                break
            self._extend(contested, batch)
        return self.leader

    def _contested(self) -> list[int]:
        """Return the leader and its rivals, in the order of entry."""
        most = max(map(len, self._losses))
        leader = self._leader(most)
        best = self._losses[leader]
        known = [i for i, losses in enumerate(self._losses) if len(losses) == most]
        rivals = [i for i in known if i != leader and _cannot_be_told(self._losses[i], best)]
        rivals.sort(key=lambda number: float(self._losses[number].mean()))
        kept = rivals[: _MOST_CONTESTED - 1]
        if rivals and min(rivals) == 0 and 0 not in kept:  # the default wins ties
            kept[-1] = 0
        return sorted([leader, *kept])


def _cannot_be_told(losses: Floats, best: Floats) -> bool:
    """Tell whether two candidates differ by more than a negligible share, and not significantly."""
    if float(losses.mean() - best.mean()) <= _NEXT_TO_NOTHING * float(best.mean()):
        return False
    return paired(losses - best).sign is None


class Bounds(NamedTuple):
    """The places to try around the default λ, which is None without a ridge."""

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

    Without α, nothing is entered.
    """
    if not has_scale:
        return
    race.enter(Place(scale) for scale in _FIRST_SCALES)
    _climb_along(race, bounds, [Place(1, 0)])
    if bounds.ridge is not None:
        _climb_along(race, bounds, [Place(0, 1)])
        _climb_along(race, bounds, [Place(0, 1), Place(1, 0), Place(1, 1)])


def _climb_along(race: Race[Any], bounds: Bounds, steps: Sequence[Place]) -> None:
    """Enter the neighbours of the leader, both ways along each step, until the leader stays."""
    while len(race.candidates) < MOST_SETTINGS and race.room:
        scale, ridge = race.leader
        around = [
            Place(scale + sign * step.scale, ridge + sign * step.ridge)
            for step in steps
            for sign in (1, -1)
        ]
        left = min(MOST_SETTINGS - len(race.candidates), race.room)
        new = [p for p in around if bounds.allow(p) and p not in race.candidates][:left]
        if not new:
            return
        race.enter(new)
        if race.leader == (scale, ridge):
            return
