"""What an experiment will take, before it runs: refused where it cannot fit, warned of if long.

Memory is what systems and environments declare that they keep, and the results; it is a little
less than a run takes. Work is known within an order of magnitude.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from fedbandits.environments.joins import decisions_of
from fedbandits.environments.needs import F64, Needs, Part
from fedbandits.errors import LongRunWarning, ResourceError
from fedbandits.experiments.memory import available_memory
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import Plan, find_system

#: Multiplications a second of one processor in compiled loops, as measured in
#: ``benchmarks/estimates.py``; a few times more or fewer, depending on the system.
RATE = 2e9
#: Seconds from which on a run is warned of.
LONG = 600.0
#: Numbers that a trace has of every party at every checkpoint: regret and reward.
_TRACED = 2
#: Traces, and the dataset that they are laid out in.
_COPIES = 2
_RESULTS = "environment.agents, checkpoints or replicates"
#: Multiplications that one decision of a party takes beside its system's own: messages are encoded
#: in Python. Delayed rewards are played by parties.
_BY_PARTIES = 1e5
_UNITS = (("year", 31_557_600.0), ("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0))


class Estimate(NamedTuple):
    """Of one experiment.

    Parameters
    ----------
    results
        What all replicates leave.
    replicates
        For each system, what one replicate and its world keep while they are played.
    side_by_side
        How many replicates are played at once.
    seconds
        For each system, how long all of its replicates take, where they have ``processors``.
    processors
        How many there are.
    """

    results: Part
    replicates: tuple[Needs, ...]
    side_by_side: int
    seconds: tuple[float, ...]
    processors: int

    @property
    def bytes(self) -> float:
        """In all, at the worst moment: the largest systems are played together."""
        return self.results.bytes + self.side_by_side * max(need.bytes for need in self.replicates)


def estimate(experiment: Experiment, plans: Sequence[Plan], jobs: int | None = None) -> Estimate:
    """What an experiment takes; systems that declare nothing count as nothing.

    Parameters
    ----------
    experiment, plans
        What is run, and what each system goes by: :meth:`Experiment.check` gives them.
    jobs
        Replicates played side by side; by default the number of processors.
    """
    processors = os.cpu_count() or 1
    tasks = len(plans) * experiment.replicates
    side_by_side = min(jobs or processors, tasks)
    environment = experiment.environment
    world = environment.needs(experiment.rounds)
    if environment.delay is not None:
        slower = _BY_PARTIES * decisions_of(environment, experiment.rounds).total
        world = Needs(world.parts, world.operations + slower)
    replicates = []
    for entry, plan in zip(experiment.systems, plans, strict=True):
        own = find_system(entry.system).needs(plan)
        replicates.append(Needs((*own.parts, *world.parts), own.operations + world.operations))
    rate = RATE * min(jobs or processors, processors)
    kept = min(experiment.checkpoints, experiment.rounds) * experiment.environment.parties
    return Estimate(
        results=Part("results", float(_COPIES * _TRACED * F64 * tasks * kept), _RESULTS),
        replicates=tuple(replicates),
        side_by_side=side_by_side,
        seconds=tuple(need.operations * experiment.replicates / rate for need in replicates),
        processors=processors,
    )


def refuse_what_cannot_fit(experiment: Experiment, found: Estimate, elsewhere: bool) -> None:
    """Refuse an experiment that needs more memory than there is.

    Parameters
    ----------
    experiment, found
        What is run, and what it takes.
    elsewhere
        Other machines play: this one keeps the results alone.

    Raises
    ------
    ResourceError
        With the numbers, and the keys to lower.
    """
    there = available_memory()
    total = found.results.bytes if elsewhere else found.bytes
    if there is None or total <= there[0]:
        return
    numbers = f"needs at least {_size(total)}, {_size(there[0])} are {there[1]}"
    largest = max(range(len(found.replicates)), key=lambda i: found.replicates[i].bytes)
    need = found.replicates[largest]
    if elsewhere or found.results.bytes >= found.side_by_side * need.bytes:
        part, whose = found.results, "the results"
    else:
        part = max(need.parts, key=lambda p: p.bytes)
        whose = f"{experiment.systems[largest].label}: {part.what}"
    each = " in each replicate" if part is not found.results else ""
    fewer = ""
    if not elsewhere and found.side_by_side > 1:
        fewer = f", or play fewer than {found.side_by_side} replicates side by side (jobs)"
    raise ResourceError(
        f"{experiment.name}: {numbers}. The most go to {whose}, {_size(part.bytes)}{each}; lower "
        f"{part.keys}{fewer}"
    )


def warn_of_long_runs(experiment: Experiment, found: Estimate) -> None:
    """Warn of a run that takes long, as far as one can tell; say nothing of others.

    Warns
    -----
    LongRunWarning
        With the order of the time, and the system that takes most of it.
    """
    total = sum(found.seconds)
    if total < LONG:
        return
    longest = experiment.systems[max(range(len(found.seconds)), key=found.seconds.__getitem__)]
    warnings.warn(
        f"{experiment.name}: this may take {_duration(total)} (a rough estimate from its size, for "
        f"{found.processors} processors), most of it {longest.label}; fewer rounds, replicates, "
        "agents, arms or dimensions take less",
        LongRunWarning,
        stacklevel=3,
    )


def _size(count: float) -> str:
    return f"{count / 2**30:,.1f} GiB" if count >= 2**28 else f"{count / 2**20:,.0f} MiB"


def _duration(seconds: float) -> str:
    name, unit = next((u for u in _UNITS if seconds >= u[1]), _UNITS[-1])
    count = seconds / unit
    if count >= 1_000:
        return f"thousands of {name}s"
    return f"about {count:.0f} {name}{'s' if round(count) != 1 else ''}"
