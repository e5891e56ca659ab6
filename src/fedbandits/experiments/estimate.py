"""Estimates of memory and time: too much memory is refused, and long runs give a warning.

Memory is the sum that systems and environments declare, and the results; a run takes a little more.
Time is known within an order of magnitude.
"""

from __future__ import annotations

import math
import os
import pathlib
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from fedbandits.environments.base import F64, Memory, Needs, decisions_of
from fedbandits.errors import LongRunWarning, ResourceError
from fedbandits.experiments.workload import Workload
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import in_words
from fedbandits.systems import Plan, find_system

#: Multiplications a second of one processor in compiled loops, measured in
#: ``benchmarks/estimates.py``; a few times more or fewer for some systems.
RATE = 2e9
#: Least seconds of a run with a warning.
LONG = 600.0
#: Numbers of a trace for every party at every checkpoint: regret and reward.
_TRACED = 2
#: Copies of the results: the traces, and the dataset.
_COPIES = 2
_LONGEST = 60
_RESULTS = "environment.agents, checkpoints or replicates"
#: Multiplications of a decision by parties, beside those of the system, since messages are encoded
#: in Python. Delayed rewards are played by parties.
_BY_PARTIES = 1e5
_UNITS = (("year", 31_557_600.0), ("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0))


class Estimate(NamedTuple):
    """The needs of one experiment."""

    results: Memory  # of all replicates
    #: Needs of a replicate and its world during play, for each system.
    replicates: tuple[Needs, ...]
    side_by_side: int  # number of replicates at once
    #: Seconds of all replicates of each system on these ``processors``.
    seconds: tuple[float, ...]
    processors: int  # number of processors

    @property
    def bytes(self) -> float:
        """Bytes at the worst moment, when replicates of the largest system are played together."""
        return self.results.bytes + self.side_by_side * max(need.bytes for need in self.replicates)


def estimate(experiment: Experiment, plans: Sequence[Plan], jobs: int | None = None) -> Estimate:
    """Estimate the needs of an experiment; systems without a declaration count as 0.

    ``jobs`` replicates are played side by side; by default one on each processor.
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
        needs = find_system(entry.system).needs(plan)
        replicates.append(Needs((*needs.parts, *world.parts), needs.operations + world.operations))
    rate = RATE * min(jobs or processors, processors)
    kept = min(experiment.checkpoints, experiment.rounds) * experiment.environment.parties
    return Estimate(
        results=Memory("results", float(_COPIES * _TRACED * F64 * tasks * kept), _RESULTS),
        replicates=tuple(replicates),
        side_by_side=side_by_side,
        seconds=tuple(need.operations * experiment.replicates / rate for need in replicates),
        processors=processors,
    )


def estimate_workload(work: Workload, jobs: int | None = None) -> tuple[Experiment, Estimate]:
    """Estimate the needs of a run or a sweep.

    Returns
    -------
    tuple
        An experiment of all systems, with the labels for messages; and the estimate.
    """
    units = [estimate(unit.experiment, unit.plans, jobs) for unit in work.units]
    estimated = Estimate(
        # Traces are kept until the dataset is made; the estimate of a unit counts both.
        results=Memory(
            "results",
            _dataset_bytes(work) + sum(unit.results.bytes for unit in units) / _COPIES,
            f"the number of swept values, {_RESULTS}" if work.sweep.axes else _RESULTS,
        ),
        replicates=tuple(need for unit in units for need in unit.replicates),
        side_by_side=min(jobs or units[0].processors, work.total),
        seconds=tuple(seconds for unit in units for seconds in unit.seconds),
        processors=units[0].processors,
    )
    return _named(work) if work.sweep.axes else work.sweep.experiment, estimated


def _dataset_bytes(work: Workload) -> float:
    """Return the size of the dataset, in which all points have the largest sizes."""
    experiments = [point.experiment for point in work.points]
    parties = max(experiment.environment.parties for experiment in experiments)
    horizons = {experiment.rounds for experiment in experiments}
    rounds = sum(min(work.sweep.experiment.checkpoints, horizon) for horizon in horizons)
    runs = math.prod(work.sweep.shape) * len(work.labels) * work.sweep.experiment.replicates
    return float(_TRACED * F64 * runs * parties * rounds)


def _named(work: Workload) -> Experiment:
    """Make an experiment of the systems of all units, named by their points."""
    systems, seen = [], set[str]()
    for unit in work.units:
        point, system = unit.places[0][0]
        label = work.points[point].experiment.systems[system].label
        text = f"{label} ({in_words(work.points[point].values)})"[:_LONGEST].rstrip()
        text = text if text not in seen else unit.experiment.systems[0].label
        seen.add(text)
        systems.append(msgspec.structs.replace(unit.experiment.systems[0], label=text))
    return msgspec.structs.replace(work.sweep.experiment, systems=tuple(systems), best_alone="")


def refuse_what_cannot_fit(experiment: Experiment, estimated: Estimate, elsewhere: bool) -> None:
    """Refuse an experiment that needs more memory than the machine has; name the keys to lower.

    If the experiment is played ``elsewhere``, this machine keeps the results alone. Raises
    ResourceError.
    """
    memory = available_memory()
    total = estimated.results.bytes if elsewhere else estimated.bytes
    if memory is None or total <= memory[0]:
        return
    numbers = f"needs at least {_size(total)}, {_size(memory[0])} are {memory[1]}"
    largest = max(range(len(estimated.replicates)), key=lambda i: estimated.replicates[i].bytes)
    need = estimated.replicates[largest]
    if elsewhere or estimated.results.bytes >= estimated.side_by_side * need.bytes:
        part, name = estimated.results, "the results"
    else:
        part = max(need.parts, key=lambda p: p.bytes)
        name = f"{experiment.systems[largest].label}: {part.what}"
    in_each = " in each replicate" if part is not estimated.results else ""
    fewer = ""
    if not elsewhere and estimated.side_by_side > 1:
        fewer = f", or play fewer than {estimated.side_by_side} replicates side by side (jobs)"
    raise ResourceError(
        f"{experiment.name}: {numbers}. The most go to {name}, {_size(part.bytes)}{in_each}; lower "
        f"{part.keys}{fewer}"
    )


def warn_of_long_runs(experiment: Experiment, cost: Estimate) -> None:
    """Warn of a long run, with the order of its time."""
    total = sum(cost.seconds)
    if total < LONG:
        return
    longest = experiment.systems[max(range(len(cost.seconds)), key=cost.seconds.__getitem__)]
    warnings.warn(
        f"{experiment.name}: this may take {_duration(total)} (a rough estimate from its size, for "
        f"{cost.processors} processors), most of it {longest.label}; fewer rounds, replicates, "
        "agents, arms or dimensions take less",
        LongRunWarning,
        stacklevel=4,
    )


def _size(count: float) -> str:
    return f"{count / 2**30:,.1f} GiB" if count >= 2**28 else f"{count / 2**20:,.0f} MiB"


def _duration(seconds: float) -> str:
    name, unit = next((u for u in _UNITS if seconds >= u[1]), _UNITS[-1])
    count = seconds / unit
    if count >= 1_000:
        return f"thousands of {name}s"
    return f"about {count:.0f} {name}{'s' if round(count) != 1 else ''}"


_PROC, _CGROUPS = pathlib.Path("/proc"), pathlib.Path("/sys/fs/cgroup")


def available_memory(
    proc: pathlib.Path = _PROC, cgroups: pathlib.Path = _CGROUPS
) -> tuple[int, str] | None:
    """Return the available bytes, and their bound in words; None if both are not known.

    The bound is the machine, or a control group of this process, such as a container. Pages of
    files count as available, because the kernel gives them up.
    """
    machine = (
        (int(line.split()[1]) * 1024, "available on this machine")
        for line in _lines(proc / "meminfo")
        if line.startswith("MemAvailable:")
    )
    return min([*_control_groups(proc, cgroups), *machine], default=None)


def _control_groups(proc: pathlib.Path, cgroups: pathlib.Path) -> Iterator[tuple[int, str]]:
    """List the free bytes of this process's control groups and their parents, of both versions."""
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        old = "memory" in controllers.split(",")
        if controllers and not old:
            continue
        root = cgroups / "memory" if old else cgroups
        group = root / path.lstrip("/")
        # Inside a container the path may be that outside: then the own group lies at the root.
        for folder in (group, *(p for p in group.parents if p.is_relative_to(root))):
            left = _left(folder, *_FILES[old])
            if left is not None:
                yield left, "left to this container or control group"


#: Files of a group: its limit, its usage, and the name of its inactive pages of files.
_FILES = {
    False: ("memory.max", "memory.current", "inactive_file"),
    True: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def _left(folder: pathlib.Path, limit: str, used: str, reclaimable: str) -> int | None:
    values = [next(iter(_lines(folder / name)), "") for name in (limit, used)]
    if not all(value.isdigit() for value in values):  # no such group, or "max"
        return None
    stat = dict(line.partition(" ")[::2] for line in _lines(folder / "memory.stat"))
    return max(0, int(values[0]) - int(values[1]) + int(stat.get(reclaimable, "0")))


def _lines(file: pathlib.Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
