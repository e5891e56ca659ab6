"""The runner of runs and sweeps: checks, checkpoints, events, replicates and output."""

from __future__ import annotations

import os
import pathlib
import shutil
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import xarray as xr

from fedbandits.environments import kind_of
from fedbandits.environments import registry as environment_registry
from fedbandits.errors import ConfigError, OutputExistsError, ResumeWarning, StoppedError
from fedbandits.experiments.backends.backend import Backend, choose_backend
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.estimate import (
    estimate_workload,
    refuse_what_cannot_fit,
    warn_of_long_runs,
)
from fedbandits.experiments.events import (
    Event,
    PointFinished,
    Replicate,
    ReplicateAdvanced,
    ReplicateFinished,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SweepAdvanced,
    SweepFinished,
    SweepInterrupted,
    SweepStarted,
)
from fedbandits.experiments.files import locked, refuse_links
from fedbandits.experiments.folder import check_output, holds_complete_run, read_result
from fedbandits.experiments.output import write_output, write_sweep
from fedbandits.experiments.replicate import Job, Shared, checkpoint_rounds
from fedbandits.experiments.result import Finished, dataset_of
from fedbandits.experiments.signals import Leaving, Listener, Stop, Stream, ended_by_ctrl_c
from fedbandits.experiments.trace import Task
from fedbandits.experiments.workload import Unit, Workload
from fedbandits.settings.sweeps import Sweep
from fedbandits.systems.registry import refuse_registered

Known = Sequence[tuple[Unit, Task]]


class Announcements:
    """The events of a run or a sweep: counts what is finished, and tells a listener.

    Parameters
    ----------
    work
        The run or the sweep.
    out
        Its output folder, if it has one.
    listener
        The function that is called with every event, if there is one.
    """

    def __init__(self, work: Workload, out: pathlib.Path | None, listener: Listener | None) -> None:
        self._work, self._out = work, None if out is None else str(out)
        self._is_sweep = bool(work.sweep.axes)
        #: Brings events to the listener, in the thread of the run.
        self.stream = Stream(None if listener is None else partial(self._hear, listener))
        self._units = {unit.experiment.systems[0].label: unit for unit in work.units}
        #: Replicates of each point that are not finished, and number of finished points.
        self._left = Counter[int]()
        for unit in work.units:
            self._left.update(dict.fromkeys(unit.points, len(unit.tasks())))
        self._points = 0
        #: Rounds of each replicate of a sweep that are played, of all together, and in all.
        self._done = Counter[tuple[str, int]]()
        self._rounds = 0
        self._all_rounds = sum(unit.experiment.rounds * len(unit.tasks()) for unit in work.units)

    def _hear(self, listener: Listener, event: Event) -> None:
        if self._is_sweep and isinstance(event, ReplicateAdvanced):
            event = self._advanced(event)
        listener(event)

    def _advanced(self, event: ReplicateAdvanced) -> Event:
        """Name the point of a replicate: the first one that has its unit."""
        ((number, system), *_) = self._units[event.system].places[0]
        point = self._work.points[number]
        self._rounds += event.done - self._done[event.system, event.replicate]
        self._done[event.system, event.replicate] = event.done
        return SweepAdvanced(
            point=number,
            values=point.values,
            system=point.experiment.systems[system].label,
            replicate=event.replicate,
            done=event.done,
            rounds=event.rounds,
            share=self._rounds / self._all_rounds,
        )

    def start(self, known: Known) -> None:
        """Tell the first event, of a run or a sweep with replicates that are finished already."""
        work, experiment = self._work, self._work.sweep.experiment
        for unit, _ in known:
            self._rounds += unit.experiment.rounds
            self._points += len(self._count(unit))
        if self._is_sweep:
            self.stream.tell(
                SweepStarted(
                    experiment=experiment.name,
                    systems=work.labels,
                    points=tuple(point.values for point in work.points),
                    replicates=work.total,
                    asked=len(work.points) * len(work.labels) * experiment.replicates,
                    finished=len(known),
                )
            )
            return
        replicates = (Replicate(work.labels[task.system], task.replicate) for _, task in known)
        self.stream.tell(
            RunStarted(
                experiment=experiment.name,
                systems=work.labels,
                rounds=experiment.rounds,
                replicates=experiment.replicates,
                acting=experiment.environment.acting,
                finished=tuple(replicates),
            )
        )

    def advance(self, finished: list[Finished]) -> None:
        """Tell that the last replicate in ``finished`` is done, or the points that it completes."""
        work, (unit, trace) = self._work, finished[-1]
        for point in self._count(unit):
            self._points += 1
            if self._is_sweep:
                values, total = work.points[point].values, len(work.points)
                self.stream.tell(
                    PointFinished(point=point, values=values, finished=self._points, total=total)
                )
        if not self._is_sweep:
            is_known = work.sweep.experiment.environment.regret_is_known
            self.stream.tell(
                ReplicateFinished(
                    system=work.labels[trace.system],
                    replicate=trace.replicate,
                    finished=len(finished),
                    total=work.total,
                    rows=tuple(trace.row(place, is_known) for place in range(len(trace.rounds))),
                    results=_ResultsSoFar(work, finished),
                )
            )

    def _count(self, unit: Unit) -> list[int]:
        """Count a finished replicate of ``unit``, and return the points that are complete now."""
        self._left.subtract(unit.points)
        return [point for point in sorted(unit.points) if not self._left[point]]

    def end(self, finished: int) -> None:
        """Tell the last event, after so many finished replicates."""
        work = self._work
        done, total = finished, work.total
        if self._is_sweep:
            done, total = self._points, len(work.points)
        last: Event
        if finished == work.total:
            last = (SweepFinished if self._is_sweep else RunFinished)(total=total, out=self._out)
        else:
            early = SweepInterrupted if self._is_sweep else RunInterrupted
            last = early(finished=done, total=total, out=self._out)
        self.stream.tell(last)


class _ResultsSoFar:
    """A function that makes a dataset of the replicates that are finished by now."""

    def __init__(self, work: Workload, finished: list[Finished]) -> None:
        # The list grows later. It is not copied: there may be very many replicates.
        self._work, self._finished, self._count = work, finished, len(finished)

    def __call__(self) -> xr.Dataset:
        known = self._finished[: self._count]
        return dataset_of(self._work, known, self._count < self._work.total)

    def __repr__(self) -> str:
        return f"<results of {self._count} of {self._work.total} replicates>"


class Options(NamedTuple):
    """The options of :func:`fedbandits.run` and :func:`fedbandits.sweep`, which explain them."""

    out: str | os.PathLike[str] | None = None
    jobs: int | None = None
    backend: str = "local"
    scheduler: str | None = None
    resume: bool = False
    save_every: float = 5.0
    on_event: Listener | None = None
    stop: Stop | None = None
    noted: Mapping[str, Any] = MappingProxyType({})  # further attributes of the result


def play(sweep: Sweep, options: Options) -> xr.Dataset:
    """Play a sweep, or a run if no key is swept; see :func:`fedbandits.run`."""
    jobs, resume = options.jobs, options.resume
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise ConfigError(f"jobs: given {jobs!r}, allowed: a whole number ≥ 1")
    if resume and options.out is None:
        raise ConfigError(
            "resume: needs out, because checkpoints are kept beside that folder; give out"
        )
    chosen = choose_backend(options.backend, options.scheduler)
    elsewhere = options.backend != "local"
    if elsewhere:
        environment = sweep.experiment.environment
        refuse_registered(entry.system for entry in sweep.experiment.systems)
        environment_registry.refuse_registered(kind_of(environment))
        environment.refuse_elsewhere()
    work = Workload.of(sweep)
    named, expected = estimate_workload(work, jobs)
    refuse_what_cannot_fit(named, expected, elsewhere)
    runner = _Runner(work, options)
    with locked(runner.out) if runner.out is not None else nullcontext():
        if runner.out is not None:
            again = resume and runner.has_checkpoints
            check_output(runner.out, sweep, ("sweep",) if again else ())
            if resume and not again:
                if holds_complete_run(runner.out):
                    return runner.complete_already(runner.out)
                _say_that_nothing_is_there(runner, runner.out)
        if not elsewhere:
            warn_of_long_runs(named, expected)
        result = runner.run(chosen)
    if result is not None:
        return result
    if options.stop:
        raise StoppedError(f"{work.word}: it was stopped before any replicate was finished")
    raise KeyboardInterrupt


def _place_of(out: str | os.PathLike[str]) -> pathlib.Path:
    """Return the whole path of an output folder; raises OutputExistsError if it is a link."""
    place = pathlib.Path(os.path.abspath(pathlib.Path(out).expanduser()))
    refuse_links(place)
    return place.resolve()


def _say_that_nothing_is_there(runner: _Runner, out: pathlib.Path) -> None:
    word = runner.work.word
    warnings.warn(
        f"resume: there is nothing to resume: no checkpoints in {runner.home}, and no complete "
        f"{word} in {out}. The {word} starts from the beginning",
        ResumeWarning,
        stacklevel=4,
    )


class _Runner:
    """One run or sweep while it is played."""

    def __init__(self, work: Workload, options: Options) -> None:
        self.work, self._options = work, options
        self.out = None if options.out is None else _place_of(options.out)
        self.home = self._home()
        self._announcements = Announcements(work, self.out, options.on_event)
        self._stop = Leaving(options.stop)
        self._shared = [self._shared_of(unit) for unit in work.units]
        self._units = {id(unit.experiment): unit for unit in work.units}
        self._finished: list[Finished] = []

    def _home(self) -> pathlib.Path | None:
        """Find the folder of all checkpoints, beside the output folder."""
        if self.out is None:
            return None
        ending = "points" if self.work.sweep.axes else "checkpoint"
        return self.out.parent / f".{self.out.name}.{ending}"

    def _shared_of(self, unit: Unit) -> Shared:
        checkpoints = None
        if self.out is not None and self.home is not None:
            # A run has its files in the home itself, a sweep a folder below for each unit.
            place = self.home / unit.digest if unit.digest else self.out
            checkpoints = CheckpointFolder(place, unit.experiment)
        return Shared(
            unit.experiment,
            self._announcements.stream,
            self._stop,
            checkpoints,
            self._options.save_every,
            plans=unit.plans,
        )

    @property
    def has_checkpoints(self) -> bool:
        """True if there is anything to resume, also of a sweep over other values."""
        files = "*/*.checkpoint" if self.work.sweep.axes else "*.checkpoint"
        return self.home is not None and any(self.home.glob(files))

    def run(self, chosen: AbstractContextManager[Backend]) -> xr.Dataset | None:
        """Play the replicates that are left, and return the result as it is written.

        Returns None if no replicate was finished.
        """
        with chosen as backend:
            # Only now: a run that cannot be played must not cost an earlier run its checkpoints.
            self._begin()
            self._play(backend)
        return self._end()

    def _begin(self) -> None:
        """Make the folders of checkpoints; take up finished replicates, or discard them."""
        if not self._options.resume:
            self._discard()
        for unit, shared in zip(self.work.units, self._shared, strict=True):
            if shared.checkpoints is not None:
                shared.checkpoints.begin(self._options.resume)
                self._finished += _finished_before(unit, shared.checkpoints)
        self._announcements.start([(unit, trace.task) for unit, trace in self._finished])

    def _discard(self) -> None:
        if self.home is not None and self.home.exists():
            shutil.rmtree(self.home)

    def _play(self, backend: Backend) -> None:
        """Play the replicates that are left; return at once after a stop."""
        known = {(unit.digest, trace.task) for unit, trace in self._finished}
        stream = self._announcements.stream
        left = [
            Job(shared, task)
            for unit, shared in zip(self.work.units, self._shared, strict=True)
            for task in unit.tasks()
            if (unit.digest, task) not in known
        ]
        try:
            with stream.with_compilations():
                # Kernels are compiled first; Ctrl-C ends the compilation at once.
                with ended_by_ctrl_c():
                    playing = backend.play(left, stream, self._stop, self._options.jobs)
                with self._stop.at_ctrl_c(), closing(playing):
                    for job, trace in playing:
                        # One by one: replicates from before an interruption must be kept.
                        unit = self._units[id(job.shared.experiment)]
                        self._finished.append(Finished(unit, trace))
                        self._announcements.advance(self._finished)
        except KeyboardInterrupt:  # during compilation, or in a thread without signals
            self._stop.set()

    def _end(self) -> xr.Dataset | None:
        """Write the result, unless an interrupted result would replace a complete one."""
        interrupted = len(self._finished) < self.work.total
        result = None
        if self._finished:
            result = dataset_of(self.work, self._finished, interrupted)
            result = result.assign_attrs(self._options.noted)
        kept = self.out is not None and interrupted and holds_complete_run(self.out)
        if self.out is not None and result is not None and not kept:
            if self.work.sweep.axes:
                write_sweep(self.out, self.work.sweep, self.work.points, result)
            else:
                write_output(self.out, self.work.sweep.experiment, result)
        if not interrupted:
            self._discard()
        self._announcements.end(len(self._finished))
        return result

    def complete_already(self, out: pathlib.Path) -> xr.Dataset:
        """Return the result in a folder; nothing is left to play.

        Raises
        ------
        OutputExistsError
            If it is of other data.
        """
        result, word = read_result(out), self.work.word
        if self.work.sweep.axes and result.attrs.get("units") != self.work.named:
            raise OutputExistsError(
                f"{out}: holds a sweep of other data; delete it or choose another --out"
            )
        warnings.warn(
            f"resume: {out} holds a complete {word} already; nothing is played. To play it again, "
            "run it without resume",
            ResumeWarning,
            stacklevel=4,
        )
        everything = [(unit, task) for unit in self.work.units for task in unit.tasks()]
        self._announcements.start(everything)
        self._announcements.end(len(everything))
        return result


def _finished_before(unit: Unit, checkpoints: CheckpointFolder) -> list[Finished]:
    """Load the replicates that an earlier run has finished, on any machines."""
    rounds = checkpoint_rounds(unit.experiment.rounds, unit.experiment.checkpoints)
    traces = (checkpoints.finished(*task, rounds) for task in unit.tasks())
    return [Finished(unit, trace) for trace in traces if trace is not None]
