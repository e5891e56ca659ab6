"""Sources of noise that keep the draws that they give, for a check of noise.

A party is given a source, so nothing of the party changes when its source is kept. Draws are kept
in deviations: a sound source gives independent standard normals.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from fedbandits._typing import Floats


class KeptNoise:
    """A source of noise that keeps what it gave, by the step that it was asked for.

    Attributes
    ----------
    given
        By the name of each step, in order: the draws of each request, (n,) each, in deviations.
    """

    def __init__(self) -> None:
        self.given: defaultdict[tuple[int, ...], list[Floats]] = defaultdict(list)

    @property
    def again(self) -> int:
        """Number of requests for a step that had been asked for."""
        return sum(len(asked) - 1 for asked in self.given.values())

    def draws(self, size: int) -> Floats:
        """Return the draws by step, (steps, size); a step that has fewer is filled with NaN."""
        found = np.full((len(self.given), size), np.nan)
        for row, (_, asked) in zip(found, sorted(self.given.items()), strict=True):
            used = asked[0][:size]
            row[: used.size] = used
        return found

    def _keep(self, name: tuple[int, ...], draws: Floats) -> None:
        self.given[name].append(np.array(draws, dtype=np.float64).reshape(-1))


class KeptSimulated(KeptNoise):
    """Keeps what a simulated source gives."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source

    def __call__(self, *name: int) -> Floats:
        """Return the draws of a step."""
        drawn: Floats = self._source(*name)
        self._keep(name, drawn)
        return drawn


class KeptSecure(KeptNoise):
    """Keeps what a source adds to values; its methods are those of :class:`.SecureNoise`."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source

    def draw_ahead(self, count: int) -> None:
        """Let the source draw in advance."""
        self._source.draw_ahead(count)

    def draw_whole_ahead(self, deviations: Floats) -> None:
        """Let the source draw whole noise in advance."""
        self._source.draw_whole_ahead(deviations)

    def cover(self, step: int, values: Floats) -> Floats:
        """Add noise of deviation 1, and keep it."""
        covered: Floats = self._source.cover(step, values)
        self._keep((step,), covered - values)
        return covered

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Add whole noise, and keep it in the deviations that were asked for."""
        covered: Floats = self._source.cover_whole(step, values, deviations)
        self._keep((step,), (covered - values) / deviations)
        return covered


def kept(source: Any) -> KeptNoise:
    """Return a source of the same kind that keeps what ``source`` gives."""
    return KeptSecure(source) if hasattr(source, "cover") else KeptSimulated(source)
