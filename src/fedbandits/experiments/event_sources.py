"""Sources of events: a run and a sweep tell of the replicates that are played for them."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterator, Sequence

import xarray as xr

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
from fedbandits.experiments.result import Finished, dataset_of
from fedbandits.experiments.signals import Listener
from fedbandits.experiments.trace import Task
from fedbandits.experiments.workload import Unit, Workload

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
        """Make the events of the last one of the replicates that are finished."""
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

        A replicate of a unit is told of as one of the first point that has it.
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
