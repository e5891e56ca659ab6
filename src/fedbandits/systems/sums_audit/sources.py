"""Sources of noise for members of an audit: under the name of secure ones, and known to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import Purpose, normals
from fedbandits.systems.games import audit_key

#: The run that draws of an audit's members are named by.
_RUN = 2**22


class Drawn(SecureNoise):
    """Draws by a seed, and keeps what each release is with its noise.

    Parameters
    ----------
    place
        The member's place, which names its draws.
    """

    __slots__ = ("covered", "place")

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place
        #: Values and their noise, by the number of the release.
        self.covered: dict[int, Floats] = {}

    def draw_ahead(self, count: int) -> None:
        """Draw nothing: noise follows from the seed."""

    def draw_whole_ahead(self, deviations: Floats) -> None:
        """Draw nothing: noise follows from the seed."""

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Add noise, rounded to whole numbers; ``step`` names its draw."""
        drawn = normals(values.size, audit_key(_RUN), self.place, step, Purpose.PRIVACY_NOISE)
        covered: Floats = values + np.rint(drawn * deviations)
        self.covered[step] = covered
        return covered


class Moved(Drawn):
    """Gives what another source gave in another run, moved.

    Parameters
    ----------
    covered
        Values and their noise in that run, by the number of the release.
    moves
        Whole numbers by which each of them is moved.
    """

    __slots__ = ("_moves", "_was")

    def __init__(self, covered: Mapping[int, Floats], moves: Mapping[int, Floats]) -> None:
        super().__init__(0)
        self._was, self._moves = covered, moves

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Return what was given for a release, moved, whatever the values are."""
        del values, deviations
        moved: Floats = self._was[step] + self._moves[step]
        return moved

    def __reduce__(self) -> tuple[Any, ...]:
        return Moved, (self._was, self._moves)
