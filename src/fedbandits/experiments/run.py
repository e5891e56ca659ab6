"""Running an experiment: from checks through replicates, wherever they are played, to output."""

from __future__ import annotations

import os
import pathlib
from contextlib import AbstractContextManager, closing, nullcontext

import xarray as xr

from fedbandits.environments import kind_of
from fedbandits.environments import registry as environment_registry
from fedbandits.errors import ConfigError
from fedbandits.experiments.backends import Backend, choose_backend
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.estimate import (
    estimate,
    refuse_what_cannot_fit,
    warn_of_long_runs,
)
from fedbandits.experiments.files import locked
from fedbandits.experiments.output import check_output, holds_complete_run, write_output
from fedbandits.experiments.progress import Progress, SilentProgress
from fedbandits.experiments.replicate import Shared, Task, checkpoint_rounds
from fedbandits.experiments.result import ReplicateTrace, build_dataset
from fedbandits.experiments.stop import Stop
from fedbandits.settings.experiment import Experiment, load
from fedbandits.systems.registry import refuse_registered


def run(
    experiment: Experiment | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    scheduler: str | None = None,
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
        Folder for ``results.nc``, ``summary.csv``, plots, ``report.html`` and ``config.toml``, and
        for ``run.json``, without which they need not belong together. Nothing is written when not
        given.
    jobs
        Replicates played side by side; by default the number of processors, here or in the
        cluster.
    backend
        Who plays them: ``local``, the processors of this machine; ``dask`` or ``ray``, a cluster.
        Results are the same to the last bit.
    scheduler
        The cluster's address, ``tcp://HOST:8786`` for Dask, ``HOST:6379`` for Ray. Ray finds or
        starts one on this machine when not given.
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

    Warns
    -----
    LongRunWarning
        Of a run that will take long, as far as one can tell.

    Raises
    ------
    ConfigError, DataError, OutputExistsError
        Before anything runs.
    OutputBusyError
        Before anything runs, if another process is writing to ``out``.
    OutputError
        If the disk is full. Earlier results are as they were, and checkpoints are kept.
    ResourceError
        Before anything runs, if it needs more memory than there is.
    CheckpointError
        If a checkpoint is damaged, or belongs to another configuration or version.
    BackendError
        If a cluster cannot be reached, cannot play this experiment, or is lost.
    KeyboardInterrupt
        If interrupted before any replicate was finished.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise ConfigError(f"jobs: given {jobs!r}, allowed: a whole number ≥ 1")
    if resume and out is None:
        raise ConfigError("resume: needs out, the folder beside which checkpoints lie")
    chosen = choose_backend(backend, scheduler)
    if backend != "local":
        refuse_registered(entry.system for entry in experiment.systems)
        environment_registry.refuse_registered(kind_of(experiment.environment))
    plans = experiment.check()
    expected = estimate(experiment, plans, jobs)
    refuse_what_cannot_fit(experiment, expected, elsewhere=backend != "local")
    if backend == "local":
        warn_of_long_runs(experiment, expected)
    folder = pathlib.Path(out).resolve() if out is not None else None
    seen = progress or SilentProgress()
    with locked(folder) if folder is not None else nullcontext():
        if folder is not None:
            check_output(folder, experiment)
        checkpoints = CheckpointFolder(folder, experiment) if folder is not None else None
        shared = Shared(experiment, seen, Stop(), checkpoints, save_every, plans=plans)
        return _play_and_write(shared, chosen, folder, resume, jobs)


def _play_and_write(
    shared: Shared,
    chosen: AbstractContextManager[Backend],
    folder: pathlib.Path | None,
    resume: bool,
    jobs: int | None,
) -> xr.Dataset:
    experiment, checkpoints = shared.experiment, shared.checkpoints
    tasks = _tasks(experiment)
    with chosen as connected:
        # Only now: what cannot be played must not cost an earlier run its checkpoints.
        if checkpoints is not None:
            checkpoints.begin(resume)
        traces = _play_all(shared, connected, tasks, jobs)
    interrupted = len(traces) < len(tasks)
    if not traces:
        raise KeyboardInterrupt
    result = build_dataset(experiment, traces, interrupted)
    if folder is not None and not (interrupted and holds_complete_run(folder)):
        write_output(folder, experiment, result)
    if checkpoints is not None and not interrupted:
        checkpoints.remove()
    return result


def _tasks(experiment: Experiment) -> list[Task]:
    """Replicate by replicate, so that an interrupted run has compared all systems."""
    return [
        Task(system, replicate)
        for replicate in range(experiment.replicates)
        for system in range(len(experiment.systems))
    ]


def _play_all(
    shared: Shared, backend: Backend, tasks: list[Task], jobs: int | None
) -> list[ReplicateTrace]:
    """Play every replicate of every system; on Ctrl-C return those that are finished."""
    finished = _finished_before(shared, tasks)
    known = {(trace.system, trace.replicate) for trace in finished}
    with shared.progress.showing(shared.experiment):
        # Compiles first, where that is to do; Ctrl-C ends that at once.
        playing = backend.play(shared, [task for task in tasks if task not in known], jobs)
        with shared.stop.at_ctrl_c(), closing(playing):
            for trace in finished:
                shared.progress.advance(trace.system, shared.experiment.rounds)
            try:
                for trace in playing:
                    # One by one: what was finished before an interruption must be in the list.
                    finished.append(trace)
            except KeyboardInterrupt:  # where Ctrl-C is not ours to handle
                shared.stop.and_wait()
    return finished


def _finished_before(shared: Shared, tasks: list[Task]) -> list[ReplicateTrace]:
    """What an earlier run has finished, on whatever machines."""
    experiment, folder = shared.experiment, shared.checkpoints
    if folder is None:
        return []
    rounds = checkpoint_rounds(experiment.rounds, experiment.checkpoints)
    traces = (folder.finished(task.system, task.replicate, rounds) for task in tasks)
    return [trace for trace in traces if trace is not None]
