"""Sizes of what is played by logistic regression: as much as takes a few seconds, and no more.

Sizes follow from the experiment alone, so that results are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.settings.experiment import Experiment

#: Most parties that learn alone by logistic regression, most replicates, and most of them pooled.
MOST_PARTIES, MOST_REPLICATES, MOST_POOLED = 200, 8, 4
#: Fewest of both: less would say nothing.
_FEWEST = 3
#: Seconds on one processor that it may take alone, and pooled: about, on whatever machine.
_MOST_ALONE, _MOST_OF_POOLED = 1.5, 1.0
#: Numbers of all contexts of a replicate, at most; 256 MB.
_MOST_NUMBERS = 2**26


class Size(NamedTuple):
    """The parties and replicates that are played by logistic regression."""

    parties: int
    replicates: int


def logistic_sizes(experiment: Experiment, world: ContextualEnvironment) -> tuple[Size, Size]:
    """Return how much is played alone, and pooled; 0 parties for what would take too long.

    Parties alone are few, since they are independent. Pooled all of them count.
    """
    every = world.parties
    most = _MOST_NUMBERS // (experiment.rounds * (world.dimension + world.arm_count))
    replicates = min(MOST_REPLICATES, experiment.replicates)
    alone = _bearable(min(MOST_PARTIES, every, most), replicates, _Cost.of(experiment, world).alone)
    cost = _Cost.of(experiment, world).pooled(every)
    replicates = min(replicates, MOST_POOLED, int(_MOST_OF_POOLED / cost))
    return alone, Size(every if every <= most and replicates else 0, replicates)


class _Cost(NamedTuple):
    """Seconds that logistic regression takes, about, from which all sizes follow."""

    rounds: int
    arms: int
    dimension: int

    @classmethod
    def of(cls, experiment: Experiment, world: ContextualEnvironment) -> _Cost:
        return cls(experiment.rounds, world.arm_count, world.dimension)

    def _rounds(self, parties: int) -> float:
        """Return the seconds in which so many parties are shown what they meet, and decide."""
        return self.rounds * (1e-4 + 2e-6 * parties)

    def alone(self, parties: int) -> float:
        """Return the seconds of one replicate of so many parties alone."""
        fits = parties * self.arms * min(25.0, 1.0 + self.rounds / self.arms)
        solving = fits * (1e-5 + 5e-10 * self.dimension**3)
        return self._rounds(parties) + solving + 2e-8 * self._squares(parties)

    def pooled(self, parties: int) -> float:
        """Return the seconds of one replicate of so many parties that share all."""
        return self._rounds(parties) + 8e-8 * self._squares(parties)

    def _squares(self, parties: int) -> float:
        """Return how many products of two numbers all contexts have."""
        return float(self.rounds * parties * self.dimension**2)


def _bearable(parties: int, replicates: int, seconds: Callable[[int], float]) -> Size:
    """Leave out parties, then replicates, until the work is bearable; at last all of it."""
    least = min(_FEWEST, parties)
    while parties > least and seconds(parties) * replicates > _MOST_ALONE:
        parties -= 1
    while replicates > _FEWEST and seconds(parties) * replicates > _MOST_ALONE:
        replicates -= 1
    bearable = parties and seconds(parties) * replicates <= 2.0 * _MOST_ALONE
    return Size(parties, replicates) if bearable else Size(0, 0)
