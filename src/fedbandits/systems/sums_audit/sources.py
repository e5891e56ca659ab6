"""Sources of noise for members of an audit: under the name of secure ones, and known to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.memory import Route
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import Purpose, normals, replicate_key
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import audit_key
from fedbandits.systems.party_games import SmallWorld

#: The run that draws of an audit's members are named by.
_RUN = 2**22


def begin(
    small: SmallWorld,
    source: Callable[[int], Drawn],
    route: Route | None = None,
    brought: Callable[[str, int, Any], Any] = lambda role, place, own: own,
) -> PartiesReplicate:
    """Make parties of a small world, always the same ones but for their noise.

    Parameters
    ----------
    source
        From a member's place to its source of noise.
    route
        See :class:`.MemoryNetwork`. With one, whatever a party refuses is counted.
    brought
        From role, place and what a party brings to what it brings in its place.
    """
    system, plan, environment = small
    world = environment.stage(replicate_key(0, 0)).world
    simulated = system.simulated_supplies(plan, world, 0, 0)

    def supply(role: str, place: int) -> Any:
        own = brought(role, place, simulated(role, place))
        return own._replace(noise=source(place)) if hasattr(own, "noise") else own

    lenient = route is not None
    return PartiesReplicate(
        system, plan, environment, 0, 0, route=route, supplies=supply, lenient=lenient
    )


class Drawn(SecureNoise):
    """Draws by a seed, and keeps what each release is with its noise.

    Parameters
    ----------
    place
        The member's place, which names its draws.
    """

    __slots__ = ("covered", "draws", "place")

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place
        #: Values and their noise, by the number of the release.
        self.covered: dict[int, Floats] = {}
        #: The draws alone, in the same way.
        self.draws: dict[int, Floats] = {}

    def draw_ahead(self, count: int) -> None:
        """Draw nothing: noise follows from the seed."""

    def draw_whole_ahead(self, deviations: Floats) -> None:
        """Draw nothing: noise follows from the seed."""

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Add noise, rounded to whole numbers; ``step`` names its draw."""
        drawn = normals(values.size, audit_key(_RUN), self.place, step, Purpose.PRIVACY_NOISE)
        self.draws[step] = np.rint(drawn * deviations)
        covered: Floats = values + self.draws[step]
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
