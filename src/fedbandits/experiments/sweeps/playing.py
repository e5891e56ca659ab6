"""One sweep while it is played: its checkpoints, its events, and what is left to play."""

from __future__ import annotations

import pathlib
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator

import xarray as xr

from fedbandits.errors import OutputExistsError, ResumeWarning
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.events import Event, ReplicateAdvanced
from fedbandits.experiments.output import holds_complete_run, read_result
from fedbandits.experiments.replicate import Job, Shared, Task, checkpoint_rounds
from fedbandits.experiments.stop import Leaving
from fedbandits.experiments.stream import Listener, Stream
from fedbandits.experiments.sweeps.events import (
    PointFinished,
    SweepAdvanced,
    SweepFinished,
    SweepInterrupted,
    SweepStarted,
)
from fedbandits.experiments.sweeps.output import write_sweep
from fedbandits.experiments.sweeps.result import SweepParts
from fedbandits.experiments.sweeps.units import Unit
from fedbandits.experiments.trace import ReplicateTrace


class Playing:
    """One sweep while it is played.

    Parameters
    ----------
    parts
        What its result is made of.
    folder
        Its output folder, if it has one. The checkpoints of each unit lie beside it.
    stop, listener, save_every
        As ``sweep`` takes them.
    """

    def __init__(
        self,
        parts: SweepParts,
        folder: pathlib.Path | None,
        stop: Leaving,
        listener: Listener | None,
        save_every: float,
    ) -> None:
        self.parts, self.stop = parts, stop
        self.stream = Stream(None if listener is None else self._translate)
        self.room = None if folder is None else folder.parent / f".{folder.name}.points"
        self._listener, self._out = listener, None if folder is None else str(folder)
        self._units = {unit.experiment.systems[0].label: unit for unit in parts.units}
        self._shared = {unit.digest: self._shared_of(unit, save_every) for unit in parts.units}
        self._work = float(sum(unit.experiment.rounds for unit in parts.units))
        self._work *= parts.sweep.experiment.replicates
        self._done = Counter[tuple[str, int]]()
        self._rounds = 0

    def _shared_of(self, unit: Unit, save_every: float) -> Shared:
        folder = None
        if self.room is not None:
            folder = CheckpointFolder(self.room / unit.digest, unit.experiment)
        return Shared(
            unit.experiment, self.stream, self.stop, folder, save_every, plans=(unit.plan,)
        )

    @property
    def has_checkpoints(self) -> bool:
        """Whether there is anything to resume, of whatever sweep."""
        return self.room is not None and any(self.room.glob("*/*.checkpoint"))

    def begin(self, resume: bool) -> None:
        """Make the folders of checkpoints; take up what is finished, or discard it."""
        if self.room is not None and not resume and self.room.exists():
            shutil.rmtree(self.room)
        known = list(self._finished_before(resume))
        self._tell(self._started(len(known)))
        for unit, trace in known:
            self._rounds += unit.experiment.rounds
            self.parts.add(unit.digest, trace)

    def _started(self, finished: int) -> SweepStarted:
        experiment, points = self.parts.sweep.experiment, self.parts.points
        labels = tuple(entry.label for entry in experiment.systems)
        return SweepStarted(
            experiment=experiment.name,
            systems=labels,
            points=tuple(point.values for point in points),
            replicates=len(self.parts.units) * experiment.replicates,
            asked=len(points) * len(labels) * experiment.replicates,
            finished=finished,
        )

    def _finished_before(self, resume: bool) -> Iterator[tuple[Unit, ReplicateTrace]]:
        """What an earlier sweep has finished, whatever its other points were."""
        for unit in self.parts.units:
            checkpoints = self._shared[unit.digest].checkpoints
            if checkpoints is None:
                continue
            checkpoints.begin(resume)
            rounds = checkpoint_rounds(unit.experiment.rounds, unit.experiment.checkpoints)
            for replicate in range(unit.experiment.replicates):
                trace = checkpoints.finished(0, replicate, rounds)
                if trace is not None:
                    yield unit, trace

    def left(self) -> list[Job]:
        """What is to be played, point by point, so that an interrupted sweep has whole points."""
        jobs = []
        for unit in self.parts.units:
            known = {trace.replicate for trace in self.parts.traces[unit.digest]}
            jobs += [
                Job(self._shared[unit.digest], Task(0, replicate))
                for replicate in range(unit.experiment.replicates)
                if replicate not in known
            ]
        return jobs

    def take(self, job: Job, trace: ReplicateTrace) -> None:
        """Take up a replicate that is finished."""
        unit = self._units[job.shared.experiment.systems[0].label]
        before = self.parts.finished_points
        for count, point in enumerate(self.parts.add(unit.digest, trace), before + 1):
            self._tell(
                PointFinished(
                    point=point,
                    values=self.parts.points[point].values,
                    finished=count,
                    total=len(self.parts.points),
                )
            )

    def finish(self, folder: pathlib.Path | None) -> xr.Dataset | None:
        """The result, as it is written; None if no replicate was finished."""
        parts, total = self.parts, len(self.parts.points)
        finished = parts.finished_points
        interrupted = finished < total
        result = parts.dataset(interrupted) if any(parts.traces.values()) else None
        kept = folder is not None and interrupted and holds_complete_run(folder)
        if folder is not None and result is not None and not kept:
            write_sweep(folder, parts, result)
        if self.room is not None and not interrupted:
            shutil.rmtree(self.room)
        if interrupted:
            self._tell(SweepInterrupted(finished=finished, total=total, out=self._out))
        else:
            self._tell(SweepFinished(total=total, out=self._out))
        return result

    def complete_already(self, folder: pathlib.Path) -> xr.Dataset:
        """The result in a folder; nothing is left to play.

        Raises
        ------
        OutputExistsError
            If it is of other data.
        """
        result = read_result(folder)
        if result.attrs.get("units") != self.parts.named:
            raise OutputExistsError(
                f"{folder}: holds a sweep of other data; delete it or choose another --out"
            )
        warnings.warn(
            f"resume: {folder} holds a complete sweep already; nothing is played. To play it "
            "again, run it without resume",
            ResumeWarning,
            stacklevel=3,
        )
        self._tell(self._started(len(self.parts.units) * self.parts.sweep.experiment.replicates))
        self._tell(SweepFinished(total=len(self.parts.points), out=self._out))
        return result

    def _tell(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)

    def _translate(self, event: Event) -> None:
        """A replicate of a unit is one of the first point that has it."""
        if not isinstance(event, ReplicateAdvanced):
            self._tell(event)
            return
        number, system = self._units[event.system].first
        point = self.parts.points[number]
        self._rounds += event.done - self._done[event.system, event.replicate]
        self._done[event.system, event.replicate] = event.done
        self._tell(
            SweepAdvanced(
                point=number,
                values=point.values,
                system=point.experiment.systems[system].label,
                replicate=event.replicate,
                done=event.done,
                rounds=event.rounds,
                share=self._rounds / self._work,
            )
        )
