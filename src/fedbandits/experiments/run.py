"""Running an experiment: replicates side by side, progress, interruption."""

from __future__ import annotations

import os
import pathlib
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import joblib
import msgspec
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fedbandits.experiments.config import Experiment, System, load
from fedbandits.experiments.output import check_output, write_output
from fedbandits.experiments.progress import Progress, SilentProgress
from fedbandits.experiments.result import ReplicateTrace, build_dataset
from fedbandits.systems import FAMILIES

#: Aimed-at seconds between two reports of progress, and between two looks at the stop signal.
_PULSE = 0.25


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

    Returns
    -------
    xarray.Dataset
        Dimensions ``system``, ``replicate``, ``party``, ``round``. After an interruption (Ctrl-C)
        it holds the replicates that were finished, NaN elsewhere, and ``attrs["interrupted"]``
        is 1.

    Raises
    ------
    ConfigError, DataError, OutputExistsError
        Before anything runs.
    KeyboardInterrupt
        If interrupted before any replicate was finished.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    experiment.check()
    if out is not None:
        check_output(pathlib.Path(out), experiment)
    traces, interrupted = _play_all(experiment, jobs or os.cpu_count() or 1, progress)
    if not traces:
        raise KeyboardInterrupt
    result = build_dataset(experiment, traces, interrupted)
    if out is not None:
        write_output(pathlib.Path(out), experiment, result)
    return result


def checkpoint_rounds(rounds: int, count: int) -> NDArray[np.int64]:
    """About ``count`` rounds in [1, rounds], log-spaced, the last one included."""
    spaced = np.geomspace(1, rounds, num=min(count, rounds))
    return np.unique(np.append(np.rint(spaced).astype(np.int64), rounds))


def _play_all(
    experiment: Experiment, jobs: int, progress: Progress | None
) -> tuple[list[ReplicateTrace], bool]:
    """Play every replicate of every system; on Ctrl-C return those that are finished."""
    tasks = [
        _Task(index, system, replicate)
        for replicate in range(experiment.replicates)
        for index, system in enumerate(experiment.systems)
    ]
    _compile(experiment)
    shown = progress or SilentProgress()
    stop = threading.Event()
    finished: list[ReplicateTrace] = []
    threads = max(1, jobs // len(tasks))
    with shown.showing(experiment):
        try:
            for trace in _play_tasks(experiment, tasks, jobs, threads, shown, stop):
                # One by one: what was finished before an interruption must be in the list.
                finished.extend([trace] if trace is not None else [])
        except KeyboardInterrupt:
            stop.set()
    complete = len(finished) == len(tasks)
    return finished, not complete


def _play_tasks(
    experiment: Experiment,
    tasks: list[_Task],
    jobs: int,
    threads: int,
    progress: Progress,
    stop: threading.Event,
) -> Iterator[ReplicateTrace | None]:
    """Threads suffice: the compiled loops hold no interpreter lock."""
    pool = joblib.Parallel(
        n_jobs=min(jobs, len(tasks)), prefer="threads", return_as="generator_unordered"
    )
    results = pool(
        joblib.delayed(_play_replicate)(experiment, task, threads, progress, stop) for task in tasks
    )
    try:
        yield from results
    finally:
        stop.set()  # whatever ends the loop early, workers leave at their next look
        results.close()


def _play_replicate(
    experiment: Experiment, task: _Task, threads: int, progress: Progress, stop: threading.Event
) -> ReplicateTrace | None:
    """Play one replicate, or return None if told to stop."""
    if stop.is_set():
        return None
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
    pace = _Pace()
    for position, checkpoint in enumerate(rounds):
        while simulation.done < checkpoint:
            before = simulation.done
            simulation.advance(min(int(checkpoint), before + pace.rounds))
            pace.note(simulation.done - before)
            progress.advance(task.system_index, simulation.done - before)
            if stop.is_set():
                return None
        trace.record(position, simulation)
    return msgspec.structs.replace(trace, began=began, ended=time.perf_counter())


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
