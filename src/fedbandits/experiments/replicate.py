"""The play of a replicate: resume, progress, checkpoints, and an early end after a stop."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits.errors import FedbanditsError
from fedbandits.experiments.checkpoint import CheckpointFolder, Progressed
from fedbandits.experiments.events import ReplicateAdvanced, Row
from fedbandits.experiments.signals import Leaving, Stream
from fedbandits.experiments.trace import ReplicateTrace, Task
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import Plan, Simulation, find_system
from fedbandits.systems.simulated import simulation_in

#: Seconds to aim at between two reports of progress, and between two looks at the stop switch.
PULSE = 0.25


class Shared(NamedTuple):
    """The common settings of all replicates of a run."""

    experiment: Experiment
    stream: Stream
    stop: Leaving
    checkpoints: CheckpointFolder | None
    save_every: float  # seconds
    threads: int = 1  # for each replicate
    plans: tuple[Plan, ...] = ()  # of all systems; without plans, each replicate makes its own

    def tell(self, task: Task, done: int, row: Row | None = None) -> None:
        """Tell the number of played rounds of a replicate, and the recorded row, if any."""
        label, rounds = self.experiment.systems[task.system].label, self.experiment.rounds
        self.stream.tell(
            ReplicateAdvanced(
                system=label, replicate=task.replicate, done=done, rounds=rounds, row=row
            )
        )

    def start(self, task: Task) -> Simulation:
        """Make a replicate before its first round."""
        experiment = self.experiment
        world, variant = experiment.environment, experiment.systems[task.system]
        plan = self.plans[task.system] if self.plans else variant.plan(world, experiment.rounds)
        return simulation_in(
            find_system(variant.system), plan, world, experiment.seed, task.replicate, self.threads
        )


class Job(NamedTuple):
    """One replicate of one of several experiments."""

    shared: Shared
    task: Task


def several(jobs: Iterable[Job]) -> list[Shared]:
    """Return the common settings of each experiment, once."""
    return list({id(job.shared.experiment): job.shared for job in jobs}.values())


def checkpoint_rounds(rounds: int, count: int) -> NDArray[np.int64]:
    """Return about ``count`` rounds in [1, rounds], log-spaced, the last one included."""
    spaced = np.geomspace(1, rounds, num=min(count, rounds))
    return np.unique(np.append(np.rint(spaced).astype(np.int64), rounds))


def compile_kernels(shared: Shared) -> None:
    """Compile the kernels of a run, or load them from the cache, so that timings exclude both.

    After a stop, the compilation ends before the next system.
    """
    for index in range(len(shared.experiment.systems)):
        if shared.stop:
            return
        shared.start(Task(index, 0)).advance(1)


def play_replicate(shared: Shared, task: Task) -> ReplicateTrace | None:
    """Play a replicate from its checkpoint, if there is one, and save further checkpoints.

    Returns
    -------
    ReplicateTrace or None
        None after a stop before the last round.
    """
    began, simulation = time.time(), shared.start(task)
    rounds = checkpoint_rounds(shared.experiment.rounds, shared.experiment.checkpoints)
    trace = ReplicateTrace.empty(
        task.system, task.replicate, rounds, len(simulation.regret), simulation.metrics
    )
    folder = shared.checkpoints
    loaded = folder.load(trace, simulation) if folder else None
    begun = loaded or Progressed(0, ())
    if begun.position == len(rounds):
        shared.tell(task, shared.experiment.rounds)
        return msgspec.structs.replace(trace, spells=begun.spells)
    shared.tell(task, simulation.done)
    pace, saved = _Pace(), began
    for position in range(begun.position, len(rounds)):
        if simulation.done == rounds[position]:  # its state was saved there
            trace.record(position, simulation)
        while simulation.done < rounds[position]:
            before = simulation.done
            simulation.advance(min(int(rounds[position]), before + pace.rounds))
            if simulation.done == before:
                raise FedbanditsError(
                    f"{shared.experiment.systems[task.system].label}: nothing happens after round "
                    f"{before:,}: all parties wait for one another"
                )
            pace.note(simulation.done - before)
            row = None
            if simulation.done == rounds[position]:
                trace.record(position, simulation)
                row = trace.row(position, shared.experiment.environment.regret_is_known)
            shared.tell(task, simulation.done, row)
            now, leaving = time.time(), bool(shared.stop)  # a single look, since the switch changes
            if folder and (now - saved >= shared.save_every or leaving):
                folder.save(trace, simulation, Progressed(position, (*begun.spells, (began, now))))
                saved = now
            if leaving:
                return None
    trace = msgspec.structs.replace(trace, spells=(*begun.spells, (began, time.time())))
    if folder:
        folder.save_finished(trace)
    return trace


class _Pace:
    """The number of rounds between two reports."""

    def __init__(self) -> None:
        self.rounds = 64
        self._last = time.perf_counter()

    def note(self, played: int) -> None:
        now = time.perf_counter()
        elapsed, self._last = now - self._last, now
        if played == self.rounds and elapsed < PULSE:
            self.rounds *= 2
        elif elapsed > 2.0 * PULSE:
            self.rounds = max(1, self.rounds // 2)
