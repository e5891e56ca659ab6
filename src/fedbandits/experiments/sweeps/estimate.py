"""What a sweep will take, before it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from fedbandits.environments.needs import F64, Part
from fedbandits.experiments.estimate import Estimate, estimate
from fedbandits.experiments.sweeps.units import Unit
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Point, Sweep, in_words

#: Numbers that a result has of every party at every round: regret and reward.
_NUMBERS = 2
_RESULTS = "the number of swept values, environment.agents, checkpoints or replicates"
_LONGEST = 60


def sweep_estimate(
    sweep: Sweep, points: Sequence[Point], units: Sequence[Unit], jobs: int | None
) -> tuple[Experiment, Estimate]:
    """What a whole sweep takes, and an experiment of all its systems, to name them in messages.

    Parameters
    ----------
    sweep, points, units
        What is run.
    jobs
        Replicates played side by side; by default the number of processors.
    """
    each = [estimate(unit.experiment, (unit.plan,), jobs) for unit in units]
    workers = min(jobs or each[0].processors, len(units) * sweep.experiment.replicates)
    # Traces are kept until the dataset is made; each estimate counts both.
    results = _result_bytes(sweep, points) + sum(one.results.bytes for one in each) / 2
    found = Estimate(
        results=Part("results", results, _RESULTS),
        replicates=tuple(need for one in each for need in one.replicates),
        side_by_side=workers,
        seconds=tuple(one.seconds[0] for one in each),
        processors=each[0].processors,
    )
    return _named(sweep, points, units), found


def _result_bytes(sweep: Sweep, points: Sequence[Point]) -> float:
    """Of the dataset, in which all points have the parties and the rounds of all others."""
    experiments = [point.experiment for point in points]
    parties = max(each.environment.parties for each in experiments)
    horizons = {each.rounds for each in experiments}
    rounds = sum(min(sweep.experiment.checkpoints, horizon) for horizon in horizons)
    runs = math.prod(sweep.shape) * len(sweep.experiment.systems) * sweep.experiment.replicates
    return float(_NUMBERS * F64 * runs * parties * rounds)


def _named(sweep: Sweep, points: Sequence[Point], units: Sequence[Unit]) -> Experiment:
    systems, seen = [], set[str]()
    for unit in units:
        point, system = unit.first
        label = points[point].experiment.systems[system].label
        text = f"{label} ({in_words(points[point].values)})"[:_LONGEST].rstrip()
        text = text if text not in seen else unit.experiment.systems[0].label
        seen.add(text)
        systems.append(msgspec.structs.replace(unit.experiment.systems[0], label=text))
    return msgspec.structs.replace(sweep.experiment, systems=tuple(systems))
