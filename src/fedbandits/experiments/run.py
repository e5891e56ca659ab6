"""Running an experiment: checks, replicates and output."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

import xarray as xr

from fedbandits.environments import kind_of
from fedbandits.environments import registry as environment_registry
from fedbandits.errors import ConfigError, ResumeWarning, StoppedError
from fedbandits.experiments.backends import Backend, choose_backend
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.estimate import (
    estimate,
    refuse_what_cannot_fit,
    warn_of_long_runs,
)
from fedbandits.experiments.events import (
    Replicate,
    ReplicateFinished,
    RunFinished,
    RunInterrupted,
    RunStarted,
)
from fedbandits.experiments.files import locked
from fedbandits.experiments.output import (
    check_output,
    holds_complete_run,
    read_result,
    write_output,
)
from fedbandits.experiments.playing import play_jobs
from fedbandits.experiments.replicate import Job, Shared, Task, checkpoint_rounds
from fedbandits.experiments.result import build_dataset
from fedbandits.experiments.stop import Leaving, Stop
from fedbandits.experiments.stream import Listener, Stream
from fedbandits.experiments.trace import ReplicateTrace
from fedbandits.settings.experiment import Experiment, load
from fedbandits.systems.registry import refuse_registered


def run(
    experiment: Experiment | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    scheduler: str | None = None,
    resume: bool = False,
    save_every: float = 5.0,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> xr.Dataset:
    """Run an experiment.

    Parameters
    ----------
    experiment
        An :class:`Experiment`, or the path of a TOML file.
    out
        Folder for ``results.nc``, ``summary.csv``, plots, ``report.html`` and ``config.toml``.
        ``run.json`` is written last: if it is missing, these files may be of different runs.
        Without ``out`` no files are written.
    jobs
        Number of replicates that run at the same time. By default the number of processors of this
        machine or of the cluster.
    backend
        Where replicates run. ``local``: on this machine. ``dask`` or ``ray``: on a cluster. Results
        are the same bit for bit.
    scheduler
        Address of the cluster: ``tcp://HOST:8786`` for Dask, ``HOST:6379`` for Ray. Without an
        address Ray finds or starts a cluster on this machine.
    resume
        Whether to continue from the checkpoints of an interrupted or killed run with the same
        ``out``. If that run is complete, its result is returned, and nothing is played. If there
        are no checkpoints, the run starts from the beginning. In both cases there is a warning.
    save_every
        Time between two checkpoints of a replicate, in seconds. Without ``out`` there are no
        checkpoints. When the run is complete, they are deleted.
    on_event
        A function that is called with every event of the run: its progress and the results so far.
        :mod:`fedbandits.experiments.events` lists the events and what the function may do.
    stop
        A :class:`.Stop`. When it is set, the run ends early, as with Ctrl-C.

    Returns
    -------
    xarray.Dataset
        Dimensions ``system``, ``replicate``, ``party``, ``round``. After an interruption (Ctrl-C or
        ``stop``) it has the finished replicates, NaN for all others, and ``attrs["interrupted"]``
        is 1. A complete run that was in ``out`` before is then not changed.

    Warns
    -----
    LongRunWarning
        If the run is expected to take long.
    ResumeWarning
        With ``resume``, if there is nothing to resume, or if the run is complete already.

    Raises
    ------
    ConfigError, DataError, OutputExistsError
        Before anything runs.
    OutputBusyError
        Before anything runs, if another process is writing to ``out``.
    OutputError
        If the disk is full. Earlier results are not changed, and checkpoints are kept.
    ResourceError
        Before anything runs, if it needs more memory than the machine has.
    CheckpointError
        If a checkpoint is damaged, or belongs to another configuration or version.
    BackendError
        If a cluster cannot be reached, cannot play this experiment, or is lost.
    StoppedError
        If ``stop`` ended the run before any replicate was finished. Checkpoints are kept beside
        ``out``, for ``resume``.
    KeyboardInterrupt
        If Ctrl-C ended the run before any replicate was finished.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise ConfigError(f"jobs: given {jobs!r}, allowed: a whole number ≥ 1")
    if resume and out is None:
        raise ConfigError(
            "resume: needs out, because checkpoints are kept beside that folder; give out"
        )
    chosen = choose_backend(backend, scheduler)
    if backend != "local":
        refuse_registered(entry.system for entry in experiment.systems)
        environment_registry.refuse_registered(kind_of(experiment.environment))
        experiment.environment.refuse_elsewhere()
    plans = experiment.check()
    expected = estimate(experiment, plans, jobs)
    refuse_what_cannot_fit(experiment, expected, elsewhere=backend != "local")
    folder = pathlib.Path(out).resolve() if out is not None else None
    with locked(folder) if folder is not None else nullcontext():
        if folder is not None:
            check_output(folder, experiment)
        checkpoints = CheckpointFolder(folder, experiment) if folder is not None else None
        shared = Shared(
            experiment, Stream(on_event), Leaving(stop), checkpoints, save_every, plans=plans
        )
        if resume and checkpoints is not None and checkpoints.empty:
            if holds_complete_run(checkpoints.out):
                return _complete_already(shared, checkpoints.out)
            _say_that_nothing_is_there(checkpoints)
        if backend == "local":
            warn_of_long_runs(experiment, expected)
        result = _play_and_write(shared, chosen, folder, resume, jobs)
    if result is not None:
        return result
    if stop:
        raise StoppedError("run: it was stopped before any replicate was finished")
    raise KeyboardInterrupt


def _complete_already(shared: Shared, folder: pathlib.Path) -> xr.Dataset:
    """The result in a folder; nothing is left to play."""
    warnings.warn(
        f"resume: {folder} holds a complete run already; nothing is played. To play it again, run "
        "it without resume",
        ResumeWarning,
        stacklevel=3,
    )
    tasks = _tasks(shared.experiment)
    shared.stream.tell(_started(shared.experiment, tasks))
    result = read_result(folder)
    shared.stream.tell(RunFinished(total=len(tasks), out=str(folder)))
    return result


def _say_that_nothing_is_there(checkpoints: CheckpointFolder) -> None:
    warnings.warn(
        f"resume: there is nothing to resume: no checkpoints in {checkpoints.path}, and no "
        f"complete run in {checkpoints.out}. The run starts from the beginning",
        ResumeWarning,
        stacklevel=3,
    )


def _play_and_write(
    shared: Shared,
    chosen: AbstractContextManager[Backend],
    folder: pathlib.Path | None,
    resume: bool,
    jobs: int | None,
) -> xr.Dataset | None:
    """The result, as it is written; None if nothing was finished."""
    experiment, checkpoints = shared.experiment, shared.checkpoints
    tasks = _tasks(experiment)
    with chosen as connected:
        # Only now: what cannot be played must not cost an earlier run its checkpoints.
        if checkpoints is not None:
            checkpoints.begin(resume)
        traces = _play_all(shared, connected, tasks, jobs)
    interrupted = len(traces) < len(tasks)
    result = build_dataset(experiment, traces, interrupted) if traces else None
    kept = folder is not None and interrupted and holds_complete_run(folder)
    if folder is not None and result is not None and not kept:
        write_output(folder, experiment, result)
    if checkpoints is not None and not interrupted:
        checkpoints.remove()
    total, place = len(tasks), None if folder is None else str(folder)
    if interrupted:
        shared.stream.tell(RunInterrupted(finished=len(traces), total=total, out=place))
    else:
        shared.stream.tell(RunFinished(total=total, out=place))
    return result


def _tasks(experiment: Experiment) -> list[Task]:
    """Replicate by replicate, so that an interrupted run has compared all systems."""
    return [
        Task(system, replicate)
        for replicate in range(experiment.replicates)
        for system in range(len(experiment.systems))
    ]


def _started(experiment: Experiment, finished: Iterable[Task]) -> RunStarted:
    labels = tuple(entry.label for entry in experiment.systems)
    return RunStarted(
        experiment=experiment.name,
        systems=labels,
        rounds=experiment.rounds,
        replicates=experiment.replicates,
        acting=experiment.environment.acting,
        finished=tuple(Replicate(labels[task.system], task.replicate) for task in finished),
    )


def _play_all(
    shared: Shared, backend: Backend, tasks: list[Task], jobs: int | None
) -> list[ReplicateTrace]:
    """Play every replicate of every system; when told to stop return those that are finished."""
    finished = _finished_before(shared, tasks)
    known = [Task(trace.system, trace.replicate) for trace in finished]
    shared.stream.tell(_started(shared.experiment, known))
    left = [Job(shared, task) for task in tasks if task not in set(known)]

    def take(_: Job, trace: ReplicateTrace) -> None:
        finished.append(trace)
        shared.stream.tell(_finished(shared.experiment, finished, len(tasks)))

    play_jobs(backend, left, shared.stream, shared.stop, jobs, take)
    return finished


class _ResultsSoFar:
    """Makes a dataset of those replicates that are finished by now, when it is asked."""

    def __init__(self, experiment: Experiment, traces: list[ReplicateTrace], total: int) -> None:
        self._experiment, self._total = experiment, total
        # The list grows later. It is not copied: there may be very many replicates.
        self._traces, self._count = traces, len(traces)

    def __call__(self) -> xr.Dataset:
        traces = self._traces[: self._count]
        return build_dataset(self._experiment, traces, self._count < self._total)

    def __repr__(self) -> str:
        return f"<results of {self._count} of {self._total} replicates>"


def _finished(
    experiment: Experiment, traces: list[ReplicateTrace], total: int
) -> ReplicateFinished:
    """The event for the last of these."""
    return ReplicateFinished(
        system=experiment.systems[traces[-1].system].label,
        replicate=traces[-1].replicate,
        finished=len(traces),
        total=total,
        results=_ResultsSoFar(experiment, traces, total),
    )


def _finished_before(shared: Shared, tasks: list[Task]) -> list[ReplicateTrace]:
    """What an earlier run has finished, on whatever machines."""
    experiment, folder = shared.experiment, shared.checkpoints
    if folder is None:
        return []
    rounds = checkpoint_rounds(experiment.rounds, experiment.checkpoints)
    traces = (folder.finished(task.system, task.replicate, rounds) for task in tasks)
    return [trace for trace in traces if trace is not None]
