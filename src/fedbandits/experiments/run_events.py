"""Events of a run and of a sweep; :mod:`fedbandits.experiments.events` says when they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:  # whoever only reads events need not wait for it
    import xarray as xr


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower):
    """Base class of events."""

    def to_table(self) -> dict[str, Any]:
        """Return the event as plain values for JSON; ``"event"`` is the name of its type."""
        table: dict[str, Any] = msgspec.to_builtins(self, enc_hook=lambda _: None)
        return {key: value for key, value in table.items() if key != "results"}


class Replicate(msgspec.Struct, frozen=True):
    """One replicate of one system.

    Parameters
    ----------
    system, replicate
        Label of the system, and number of the replicate, from 0.
    """

    system: str
    replicate: int


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """A run begins.

    Parameters
    ----------
    experiment
        Name of the experiment.
    systems
        Labels of its systems, in order.
    rounds
        Rounds of every replicate.
    replicates
        Replicates of every system.
    acting
        Number of parties that act in a round. Rounds times this number is the number of steps.
    finished
        Replicates that an earlier run has finished. They are not played again.
    """

    experiment: str
    systems: tuple[str, ...]
    rounds: int
    replicates: int
    acting: int
    finished: tuple[Replicate, ...] = ()

    @property
    def total(self) -> int:
        """Number of replicates of all systems together."""
        return len(self.systems) * self.replicates


class Compiling(Event, frozen=True, kw_only=True, tag="compiling"):
    """A kernel is being compiled.

    The result is stored, so later runs need not compile it.

    Parameters
    ----------
    kernel
        Name of the kernel, with its module.
    count
        Number of kernels in this run or audit so far, including this one.
    """

    kernel: str
    count: int


class ReplicateAdvanced(Event, frozen=True, kw_only=True, tag="replicate_advanced"):
    """More rounds of a replicate have been played.

    The event comes at every round that the result records, and about four times a second in
    between. The first event of a replicate has its first round: 0, or the round of its checkpoint.
    A cluster sends one event for each replicate, at its end.

    Parameters
    ----------
    system, replicate
        Label of the system, and number of the replicate, from 0.
    done
        Number of rounds that have been played, including those before an interruption.
    rounds
        Number of all rounds.
    """

    system: str
    replicate: int
    done: int
    rounds: int


class ReplicateFinished(Event, frozen=True, kw_only=True, tag="replicate_finished"):
    """A replicate is finished.

    With ``out`` it has been saved, so an interruption cannot destroy it.

    Parameters
    ----------
    system, replicate
        Label of the system, and number of the replicate, from 0.
    finished
        Number of replicates that are finished, including those of an earlier run.
    total
        Number of all replicates.
    results
        A function that returns the results so far. They are a dataset like that of ``run``, with
        all replicates that are finished at this event, and NaN for others. The dataset is made only
        when the function is called. It may be called later, and from any thread. It is not part of
        :meth:`~Event.to_table`.
    """

    system: str
    replicate: int
    finished: int
    total: int
    results: Callable[[], xr.Dataset]


class Ended(Event, frozen=True, kw_only=True):
    """Base class of the last event, if everything is finished, and all files are written.

    Parameters
    ----------
    total
        Number of replicates of a run, or of points of a sweep.
    out
        Folder of the files; None if no files are written.
    """

    total: int
    out: str | None


class EndedEarly(Event, frozen=True, kw_only=True):
    """Base class of the last event after Ctrl-C or a :class:`.Stop`.

    Parameters
    ----------
    finished
        Number of replicates of a run, or of points of a sweep, that are finished. If a run has
        none, there is no result.
    total, out
        See :class:`Ended`.
    """

    finished: int
    total: int
    out: str | None


class RunFinished(Ended, frozen=True, kw_only=True, tag="run_finished"):
    """Every replicate is finished; the parameters are those of :class:`Ended`."""


class RunInterrupted(EndedEarly, frozen=True, kw_only=True, tag="run_interrupted"):
    """The run ended early; the parameters are those of :class:`EndedEarly`."""


class SweepStarted(Event, frozen=True, kw_only=True, tag="sweep_started"):
    """A sweep begins.

    Parameters
    ----------
    experiment
        Name of the experiment.
    systems
        Labels of its systems, in order.
    points
        The values of each point, by the names of the swept keys, in the order of the points.
    replicates
        Number of replicates that this sweep needs. Those that several points share count once.
    asked
        Number of replicates that the points have: points times systems times replicates.
    finished
        Number of replicates that an earlier run has finished. They are not played again.
    """

    experiment: str
    systems: tuple[str, ...]
    points: tuple[dict[str, Any], ...]
    replicates: int
    asked: int
    finished: int = 0


class SweepAdvanced(Event, frozen=True, kw_only=True, tag="sweep_advanced"):
    """More rounds of a replicate have been played.

    It comes as often as :class:`~fedbandits.experiments.events.ReplicateAdvanced` does in a run.

    Parameters
    ----------
    point
        Number of the point, from 0. A replicate that several points share counts for the first.
    values
        Values of the point, by the names of the swept keys.
    system, replicate
        Label of the system, and number of the replicate, from 0.
    done
        Number of rounds that have been played, including those before an interruption.
    rounds
        Number of all rounds.
    share
        Share of the whole sweep that is done, from 0 to 1: rounds played, over all rounds.
    """

    point: int
    values: dict[str, Any]
    system: str
    replicate: int
    done: int
    rounds: int
    share: float


class PointFinished(Event, frozen=True, kw_only=True, tag="point_finished"):
    """All replicates of a point are finished.

    Parameters
    ----------
    point
        Number of the point, from 0.
    values
        Values of the point, by the names of the swept keys.
    finished
        Number of points that are finished, including those of an earlier run.
    total
        Number of all points.
    """

    point: int
    values: dict[str, Any]
    finished: int
    total: int


class SweepFinished(Ended, frozen=True, kw_only=True, tag="sweep_finished"):
    """Every point is finished; the parameters are those of :class:`Ended`."""


class SweepInterrupted(EndedEarly, frozen=True, kw_only=True, tag="sweep_interrupted"):
    """The sweep ended early; the parameters are those of :class:`EndedEarly`."""
