"""The runner of runs and sweeps: checks, checkpoints, events, replicates and output."""

from __future__ import annotations

import os
import pathlib
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
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
from fedbandits.experiments.trace import ReplicateTrace, Task
from fedbandits.experiments.workload import Unit, Workload
from fedbandits.settings.sweeps import Sweep
from fedbandits.systems.registry import refuse_registered

Known = Sequence[tuple[Unit, Task]]


class RunEvents:
    """The events of a run.

    Parameters
    ----------
    work
        The run.
    out
        Its output folder, if it has one.
    """

    def __init__(self, work: Workload, out: pathlib.Path | None) -> None:
        self._work, self._out = work, None if out is None else str(out)

    def heard_by(self, listener: Listener) -> Listener:
        """Return the function that brings an event to a listener."""
        return listener

    def started(self, known: Known) -> Event:
        """Make the first event, of a run that has these replicates already."""
        experiment, labels = self._work.sweep.experiment, self._work.labels
        return RunStarted(
            experiment=experiment.name,
            systems=labels,
            rounds=experiment.rounds,
            replicates=experiment.replicates,
            acting=experiment.environment.acting,
            finished=tuple(Replicate(labels[task.system], task.replicate) for _, task in known),
        )

    def finished(self, finished: list[Finished]) -> Iterator[Event]:
        """Make the events of the replicate that was finished last."""
        last = finished[-1].trace
        is_known = self._work.sweep.experiment.environment.regret_is_known
        yield ReplicateFinished(
            system=self._work.labels[last.system],
            replicate=last.replicate,
            finished=len(finished),
            total=self._work.total,
            rows=tuple(last.row(place, is_known) for place in range(len(last.rounds))),
            results=_ResultsSoFar(self._work, finished),
        )

    def ended(self, finished: int) -> Event:
        """Make the last event, after so many replicates."""
        total = self._work.total
        if finished < total:
            return RunInterrupted(finished=finished, total=total, out=self._out)
        return RunFinished(total=total, out=self._out)


class _ResultsSoFar:
    """Results so far: a dataset of the replicates that are finished by now."""

    def __init__(self, work: Workload, finished: list[Finished]) -> None:
        # The list grows later. It is not copied: there may be very many replicates.
        self._work, self._finished, self._count = work, finished, len(finished)

    def __call__(self) -> xr.Dataset:
        known = self._finished[: self._count]
        return dataset_of(self._work, known, self._count < self._work.total)

    def __repr__(self) -> str:
        return f"<results of {self._count} of {self._work.total} replicates>"


class SweepEvents:
    """The events of a sweep.

    Parameters
    ----------
    work
        The sweep.
    out
        Its output folder, if it has one.
    """

    def __init__(self, work: Workload, out: pathlib.Path | None) -> None:
        self._work, self._out = work, None if out is None else str(out)
        self._units = {unit.experiment.systems[0].label: unit for unit in work.units}
        self._replicates = work.sweep.experiment.replicates
        #: Replicates of each unit that are finished, and units of each point that are not.
        self._finished = Counter[str]()
        self._left = Counter(point for unit in work.units for point in unit.points)
        self._finished_points = 0
        #: Rounds of each replicate that are played, and of all together.
        self._done = Counter[tuple[str, int]]()
        self._rounds = 0
        self._all_rounds = float(
            sum(unit.experiment.rounds for unit in work.units) * self._replicates
        )

    def heard_by(self, listener: Listener) -> Listener:
        """Return the function that brings an event to a listener.

        A replicate of a unit counts for the first point that has the unit.
        """

        def hear(event: Event) -> None:
            listener(self._of_point(event) if isinstance(event, ReplicateAdvanced) else event)

        return hear

    def _of_point(self, event: ReplicateAdvanced) -> Event:
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

    def started(self, known: Known) -> Event:
        """Make the first event, of a sweep that has these replicates already."""
        for unit, _ in known:
            self._rounds += unit.experiment.rounds
            self._count(unit)
        points, labels = self._work.points, self._work.labels
        return SweepStarted(
            experiment=self._work.sweep.experiment.name,
            systems=labels,
            points=tuple(point.values for point in points),
            replicates=self._work.total,
            asked=len(points) * len(labels) * self._replicates,
            finished=len(known),
        )

    def finished(self, finished: list[Finished]) -> Iterator[Event]:
        """Make the events of the points that the last replicate has finished."""
        before = self._finished_points
        for count, point in enumerate(self._count(finished[-1].unit), before + 1):
            yield PointFinished(
                point=point,
                values=self._work.points[point].values,
                finished=count,
                total=len(self._work.points),
            )

    def _count(self, unit: Unit) -> list[int]:
        """Count a finished replicate, and return the points that it finishes."""
        self._finished[unit.digest] += 1
        if self._finished[unit.digest] < self._replicates:
            return []
        self._left.subtract(unit.points)
        points = [point for point in sorted(unit.points) if not self._left[point]]
        self._finished_points += len(points)
        return points

    def ended(self, finished: int) -> Event:
        """Make the last event, after so many replicates."""
        total = len(self._work.points)
        if finished < self._work.total:
            points = self._finished_points
            return SweepInterrupted(finished=points, total=total, out=self._out)
        return SweepFinished(total=total, out=self._out)


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
        self._events = (SweepEvents if work.sweep.axes else RunEvents)(work, self.out)
        listener = options.on_event
        self._stream = Stream(None if listener is None else self._events.heard_by(listener))
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
            self._stream,
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
        self._stream.tell(self._events.started([(unit, t.task) for unit, t in self._finished]))

    def _discard(self) -> None:
        if self.home is not None and self.home.exists():
            shutil.rmtree(self.home)

    def _play(self, backend: Backend) -> None:
        """Play the replicates that are left; return at once after a stop."""
        known = {(unit.digest, trace.task) for unit, trace in self._finished}
        left = [
            Job(shared, task)
            for unit, shared in zip(self.work.units, self._shared, strict=True)
            for task in unit.tasks()
            if (unit.digest, task) not in known
        ]
        try:
            with self._stream.with_compilations():
                # Compiles first, where that is to do; Ctrl-C ends that at once.
                with ended_by_ctrl_c():
                    playing = backend.play(left, self._stream, self._stop, self._options.jobs)
                with self._stop.at_ctrl_c(), closing(playing):
                    for job, trace in playing:
                        # One by one: replicates from before an interruption must be kept.
                        self._take(job, trace)
        except KeyboardInterrupt:  # while it compiles, or where Ctrl-C is not ours to handle
            self._stop.set()

    def _take(self, job: Job, trace: ReplicateTrace) -> None:
        self._finished.append(Finished(self._units[id(job.shared.experiment)], trace))
        for event in self._events.finished(self._finished):
            self._stream.tell(event)

    def _end(self) -> xr.Dataset | None:
        """Write the result, unless it would replace a complete one by less."""
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
        self._stream.tell(self._events.ended(len(self._finished)))
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
        self._stream.tell(self._events.started(everything))
        self._stream.tell(self._events.ended(len(everything)))
        return result


def _finished_before(unit: Unit, checkpoints: CheckpointFolder) -> list[Finished]:
    """Load the replicates that an earlier run has finished, on any machines."""
    rounds = checkpoint_rounds(unit.experiment.rounds, unit.experiment.checkpoints)
    traces = (checkpoints.finished(*task, rounds) for task in unit.tasks())
    return [Finished(unit, trace) for trace in traces if trace is not None]
