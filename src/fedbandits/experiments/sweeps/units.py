"""What a sweep plays: every replicate once, however many points have it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from fedbandits.errors import ConfigError, DataError
from fedbandits.settings.experiment import Experiment, Variant
from fedbandits.settings.sweeps import Point, in_words
from fedbandits.systems import Plan, find_system
from fedbandits.systems.effective import effective

#: Letters of a digest that tell units apart: 80 bits.
_LETTERS = 20
_NAME = "unit"


class Unit(NamedTuple):
    """One system in one environment: what is played once, and shared by all points that have it.

    Parameters
    ----------
    digest
        Names all that its results depend on: environment, rounds, seed, replicates, checkpoints,
        and the settings of the system that change anything.
    experiment
        An experiment with this system alone.
    plan
        The system's plan.
    places
        The points and systems whose results these are: number of the point, number of the system.
    """

    digest: str
    experiment: Experiment
    plan: Plan
    places: tuple[tuple[int, int], ...]

    @property
    def first(self) -> tuple[int, int]:
        """The first point that has it, and the number of its system there."""
        return self.places[0]


def units_of(points: Iterable[Point]) -> tuple[Unit, ...]:
    """What is to be played for all points of a sweep, in their order.

    Two systems are one unit if all that their simulations depend on is equal. Systems that add no
    noise, for instance, do not depend on a budget.

    Raises
    ------
    ConfigError, DataError
        If a point cannot be run, with its values and the key.
    """
    found: dict[str, Unit] = {}
    for number, point in enumerate(points):
        try:
            plans = point.experiment.check()
        except (ConfigError, DataError) as error:
            raise type(error)(f"sweep, at {in_words(point.values)}: {error}") from None
        for index, (variant, plan) in enumerate(zip(point.experiment.systems, plans, strict=True)):
            unit = _unit(point.experiment, variant, plan, (number, index))
            before = found.get(unit.digest)
            places = (*before.places, *unit.places) if before else unit.places
            found[unit.digest] = (before or unit)._replace(places=places)
    return tuple(found.values())


def _unit(experiment: Experiment, variant: Variant, plan: Plan, place: tuple[int, int]) -> Unit:
    config = effective(variant.config)
    played = Variant(variant.preset, _NAME, variant.system, config)
    alone = msgspec.structs.replace(experiment, name=_NAME, systems=(played,))
    digest = hashlib.sha256(alone.to_toml().encode()).hexdigest()[:_LETTERS]
    # Events and errors name a replicate by its label.
    named = msgspec.structs.replace(played, label=f"{variant.preset[:38]}-{digest}")
    alone = msgspec.structs.replace(alone, systems=(named,))
    if config != variant.config:
        found = find_system(variant.system)
        plan = found.plan(config, experiment.environment.facts, experiment.rounds)
    return Unit(digest, alone, plan, (place,))
