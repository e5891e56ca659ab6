"""The work of a run or a sweep: its points, and the units that are played for them.

A run is a sweep of one point, and has one unit. A sweep plays a system once for all points with the
same system in the same environment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from fedbandits.errors import ConfigError, DataError
from fedbandits.experiments.trace import Task
from fedbandits.settings.experiment import Experiment, Variant
from fedbandits.settings.sweeps import Point, Sweep, in_words
from fedbandits.systems import Plan, find_system
from fedbandits.systems.variants import effective

#: Letters of the digest of a unit: 80 bits.
_LETTERS = 20
_NAME = "unit"

#: Number of a point, and number of a system there.
Place = tuple[int, int]


class Unit(NamedTuple):
    """Systems that are played with one configuration, and share a folder of checkpoints."""

    #: Digest of everything that determines the results of a sweep's unit: environment, rounds,
    #: seed, replicates, checkpoints, and the effective settings of the system. Empty for the unit
    #: of a run.
    digest: str
    experiment: Experiment  # with these systems alone
    plans: tuple[Plan, ...]  # the plan of each system
    #: For each system, the points and systems with these results.
    places: tuple[tuple[Place, ...], ...]

    @property
    def points(self) -> set[int]:
        """Numbers of the points that have results from this unit."""
        return {point for of_system in self.places for point, _ in of_system}

    def tasks(self) -> list[Task]:
        """Return all replicates, ordered so that an interrupted run compares all systems."""
        return [
            Task(system, replicate)
            for replicate in range(self.experiment.replicates)
            for system in range(len(self.experiment.systems))
        ]


class Workload(NamedTuple):
    """The workload of a run or a sweep."""

    sweep: Sweep  # the experiment and its swept keys; a run has none
    points: tuple[Point, ...]  # the experiments, one for each combination of values
    units: tuple[Unit, ...]  # the units that are played for the points

    @classmethod
    def of_run(cls, experiment: Experiment, plans: tuple[Plan, ...] = ()) -> Workload:
        """Make the workload of a run, from the plan of each system.

        Plans may be left out if the run is not played.
        """
        places = tuple(((0, system),) for system in range(len(experiment.systems)))
        unit = Unit("", experiment, plans, places)
        return cls(Sweep(experiment, ()), (Point((), {}, experiment),), (unit,))

    @classmethod
    def of(cls, sweep: Sweep) -> Workload:
        """Make the workload of a sweep, or of a run if no key is swept.

        Raises
        ------
        ConfigError, DataError
            If a point cannot be run; the message has its values and the key.
        """
        if not sweep.axes:
            return cls.of_run(sweep.experiment, tuple(sweep.experiment.check()))
        points = sweep.points()
        return cls(sweep, points, units_of(points))

    @property
    def word(self) -> str:
        """The noun that messages use: ``run`` or ``sweep``."""
        return "sweep" if self.sweep.axes else "run"

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the systems, in order."""
        return tuple(entry.label for entry in self.sweep.experiment.systems)

    @property
    def total(self) -> int:
        """Number of replicates of all units."""
        replicates = self.sweep.experiment.replicates
        return replicates * sum(len(unit.experiment.systems) for unit in self.units)

    @property
    def named(self) -> str:
        """The digests of all units, as text, which is different for other data."""
        return " ".join(unit.digest for unit in self.units)


def units_of(points: Iterable[Point]) -> tuple[Unit, ...]:
    """Find the units of a sweep's points, in their order.

    Two systems are one unit if their simulations depend on equal settings. Systems without noise,
    for instance, do not depend on a budget.

    Raises
    ------
    ConfigError, DataError
        If a point cannot be run; the message has its values and the key.
    """
    units: dict[str, Unit] = {}
    for number, point in enumerate(points):
        try:
            plans = point.experiment.check()
        except (ConfigError, DataError) as error:
            raise type(error)(f"sweep, at {in_words(point.values)}: {error}") from None
        for index, (variant, plan) in enumerate(zip(point.experiment.systems, plans, strict=True)):
            unit = _unit(point.experiment, variant, plan)
            before = units.get(unit.digest, unit)
            places = (*before.places[0], (number, index)) if before.places else ((number, index),)
            units[unit.digest] = before._replace(places=(places,))
    return tuple(units.values())


def _unit(experiment: Experiment, variant: Variant, plan: Plan) -> Unit:
    """Make the unit of one system, without places."""
    config = effective(variant.config)
    played = Variant(variant.preset, _NAME, variant.system, config)
    alone = msgspec.structs.replace(experiment, name=_NAME, systems=(played,), best_alone="")
    digest = hashlib.sha256(alone.to_toml().encode()).hexdigest()[:_LETTERS]
    # Events and errors name a replicate by its label.
    named = msgspec.structs.replace(played, label=f"{variant.preset[:38]}-{digest}")
    alone = msgspec.structs.replace(alone, systems=(named,))
    if config != variant.config:
        declared = find_system(variant.system)
        plan = declared.plan(config, experiment.environment.facts, experiment.rounds)
    return Unit(digest, alone, (plan,), ())
