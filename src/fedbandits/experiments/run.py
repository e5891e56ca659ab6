"""Running an experiment: replicates side by side, progress, interruption."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import joblib
import msgspec
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fedbandits.errors import ConfigError
from fedbandits.experiments.checkpoint import CheckpointFolder, Progressed
from fedbandits.experiments.config import Experiment, System, load
from fedbandits.experiments.output import check_output, holds_complete_run, write_output
from fedbandits.experiments.progress import Progress, SilentProgress
from fedbandits.experiments.result import ReplicateTrace, build_dataset
from fedbandits.systems import FAMILIES

#: Aimed-at seconds between two reports of progress, and between two looks at the stop signal.
_PULSE = 0.25


class _Stop:
    """Tells workers to leave, and waits until they have: they may be saving a checkpoint."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._idle = threading.Condition()
        self._working = 0

    def __bool__(self) -> bool:
        return self._told.is_set()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Around all that a worker does."""
        with self._idle:
            self._working += 1
        try:
            yield
        finally:
            with self._idle:
                self._working -= 1
                self._idle.notify_all()

    @contextmanager
    def at_ctrl_c(self) -> Iterator[None]:
        """Let Ctrl-C tell workers to leave; more of them do not disturb the leaving."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may handle signals; whoever started this one does
            return
        before = signal.getsignal(signal.SIGINT)

        def tell(*_: object) -> None:
            self._told.set()

        signal.signal(signal.SIGINT, tell)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def and_wait(self) -> None:
        """Tell workers to leave and wait for the last one."""
        self._told.set()
        with self._idle:
            self._idle.wait_for(lambda: self._working == 0)


class _Saving(NamedTuple):
    """Where checkpoints go, if anywhere, and how often."""

    folder: CheckpointFolder | None
    every: float


class _Task(NamedTuple):
    """One replicate of one system."""

    system_index: int
    system: System
    replicate: int


def run(
    experiment: Experiment | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    resume: bool = False,
    save_every: float = 5.0,
) -> xr.Dataset:
    """Run an experiment.

    Parameters
    ----------
    experiment
        An :class:`Experiment`, or the path of a TOML file.
    out
        Folder for ``results.nc``, ``summary.csv``, plots, ``report.html`` and ``config.toml``.
        Nothing is written when not given.
    jobs
        Replicates played side by side; the number of processors by default.
    progress
        Receives reports while it runs; silent by default.
    resume
        Continue from the checkpoints that an interrupted or killed run with the same ``out`` left.
    save_every
        Seconds of work on a replicate between two of its checkpoints. None are kept without
        ``out``, nor once the run is complete.

    Returns
    -------
    xarray.Dataset
        Dimensions ``system``, ``replicate``, ``party``, ``round``. After an interruption (Ctrl-C)
        it holds the replicates that were finished, NaN elsewhere, and ``attrs["interrupted"]``
        is 1; a complete run that ``out`` held before is then left as it was.

    Raises
    ------
    ConfigError, DataError, OutputExistsError
        Before anything runs.
    CheckpointError
        If a checkpoint is damaged, or belongs to another configuration or version.
    KeyboardInterrupt
        If interrupted before any replicate was finished.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise ConfigError(f"jobs: given {jobs!r}, allowed: a whole number ≥ 1")
    if resume and out is None:
        raise ConfigError("resume: needs out, the folder beside which checkpoints lie")
    experiment.check()
    folder = pathlib.Path(out).resolve() if out is not None else None
    if folder is not None:
        check_output(folder, experiment)
    checkpoints = CheckpointFolder(folder, experiment) if folder is not None else None
    if checkpoints is not None:
        checkpoints.begin(resume)
    saving = _Saving(checkpoints, save_every)
    traces, interrupted = _play_all(experiment, jobs or os.cpu_count() or 1, progress, saving)
    if not traces:
        raise KeyboardInterrupt
    result = build_dataset(experiment, traces, interrupted)
    if folder is not None and not (interrupted and holds_complete_run(folder)):
        write_output(folder, experiment, result)
    if checkpoints is not None and not interrupted:
        checkpoints.remove()
    return result


def checkpoint_rounds(rounds: int, count: int) -> NDArray[np.int64]:
    """About ``count`` rounds in [1, rounds], log-spaced, the last one included."""
    spaced = np.geomspace(1, rounds, num=min(count, rounds))
    return np.unique(np.append(np.rint(spaced).astype(np.int64), rounds))


def _play_all(
    experiment: Experiment, jobs: int, progress: Progress | None, saving: _Saving
) -> tuple[list[ReplicateTrace], bool]:
    """Play every replicate of every system; on Ctrl-C return those that are finished."""
    tasks = [
        _Task(index, system, replicate)
        for replicate in range(experiment.replicates)
        for index, system in enumerate(experiment.systems)
    ]
    _compile(experiment)
    shown = progress or SilentProgress()
    stop = _Stop()
    finished: list[ReplicateTrace] = []
    threads = max(1, jobs // len(tasks))
    with shown.showing(experiment), stop.at_ctrl_c():
        try:
            for trace in _play_tasks(experiment, tasks, jobs, threads, shown, stop, saving):
                # One by one: what was finished before an interruption must be in the list.
                finished.extend([trace] if trace is not None else [])
        except KeyboardInterrupt:
            stop.and_wait()
    complete = len(finished) == len(tasks)
    return finished, not complete


def _play_tasks(
    experiment: Experiment,
    tasks: list[_Task],
    jobs: int,
    threads: int,
    progress: Progress,
    stop: _Stop,
    saving: _Saving,
) -> Iterator[ReplicateTrace | None]:
    """Threads suffice: the compiled loops hold no interpreter lock."""
    pool = joblib.Parallel(
        n_jobs=min(jobs, len(tasks)), prefer="threads", return_as="generator_unordered"
    )
    results = pool(
        joblib.delayed(_play_replicate)(experiment, task, threads, progress, stop, saving)
        for task in tasks
    )
    try:
        yield from results
    finally:
        stop.and_wait()  # whatever ends the loop early, workers leave at their next look
        results.close()


def _play_replicate(
    experiment: Experiment,
    task: _Task,
    threads: int,
    progress: Progress,
    stop: _Stop,
    saving: _Saving,
) -> ReplicateTrace | None:
    """Play one replicate, or return None if told to stop."""
    with stop.working():
        return None if stop else _play_watched(experiment, task, threads, progress, stop, saving)


def _play_watched(
    experiment: Experiment,
    task: _Task,
    threads: int,
    progress: Progress,
    stop: _Stop,
    saving: _Saving,
) -> ReplicateTrace | None:
    began = time.perf_counter()
    simulate = FAMILIES[task.system.family].simulate
    simulation = simulate(
        task.system.config,
        experiment.environment,
        experiment.rounds,
        experiment.seed,
        task.replicate,
        threads,
    )
    rounds = checkpoint_rounds(experiment.rounds, experiment.checkpoints)
    trace = ReplicateTrace.empty(task.system_index, task.replicate, rounds, len(simulation.regret))
    stood = saving.folder.load(trace, simulation) if saving.folder else None
    stood = stood or Progressed(0, 0.0)
    began -= stood.seconds
    progress.advance(task.system_index, simulation.done)
    pace, saved = _Pace(), time.perf_counter()
    for position in range(stood.position, len(rounds)):
        while simulation.done < rounds[position]:
            before = simulation.done
            simulation.advance(min(int(rounds[position]), before + pace.rounds))
            pace.note(simulation.done - before)
            progress.advance(task.system_index, simulation.done - before)
            now, leaving = time.perf_counter(), bool(stop)  # looked at once: it may change
            if saving.folder and (now - saved >= saving.every or leaving):
                saving.folder.save(trace, simulation, Progressed(position, now - began))
                saved = now
            if leaving:
                return None
        trace.record(position, simulation)
    ended = time.perf_counter()
    if saving.folder and stood.position < len(rounds):
        saving.folder.save(trace, simulation, Progressed(len(rounds), ended - began))
    return msgspec.structs.replace(trace, began=began, ended=ended)


class _Pace:
    """How many rounds fit between two reports."""

    def __init__(self) -> None:
        self.rounds = 64
        self._last = time.perf_counter()

    def note(self, played: int) -> None:
        now = time.perf_counter()
        elapsed, self._last = now - self._last, now
        if played == self.rounds and elapsed < _PULSE:
            self.rounds *= 2
        elif elapsed > 2.0 * _PULSE:
            self.rounds = max(1, self.rounds // 2)


def _compile(experiment: Experiment) -> None:
    """Compile, or load from the cache, what the run needs, so that timings leave it out."""
    done: set[tuple[str, Any]] = set()
    for system in experiment.systems:
        kind = (system.family, type(experiment.environment))
        if kind not in done:
            done.add(kind)
            simulate = FAMILIES[system.family].simulate
            simulate(system.config, experiment.environment, 2, 0, 0, 1).advance(1)
