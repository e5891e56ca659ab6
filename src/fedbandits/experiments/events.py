"""Events of a run, an audit or a sweep: its progress, and its results so far.

``fb.run(..., on_event=f)``, ``fb.audit`` and ``fb.sweep`` call ``f`` with each event. The progress
bars in a terminal are drawn from these events, and a web page can use them too.

The events of a run, in this order:

1. :class:`RunStarted`, once.
2. :class:`Compiling`, for every kernel that is not in the cache. A few may come later.
3. For every replicate that is not finished yet: :class:`ReplicateAdvanced`, several times, then
   :class:`ReplicateFinished`, once. Events of different replicates may come in any order.
4. :class:`RunFinished`, or :class:`RunInterrupted`, once. It is the last event.

An audit starts with :class:`AuditStarted`. Then each part has :class:`PartStarted`, any number of
:class:`PartAdvanced`, and :class:`PartFinished`. Parts come one after the other. The last event is
:class:`AuditFinished` or :class:`AuditInterrupted`. :class:`Compiling` may come at any time in
between.

A sweep starts with :class:`SweepStarted`. Then come :class:`SweepAdvanced`, many times, and
:class:`PointFinished`, once for each point that is not finished yet. The last event is
:class:`SweepFinished` or :class:`SweepInterrupted`. :class:`Compiling` may come in between.

If one of them raises an error, there is no last event.

Events come one at a time, in the thread that made the call. Replicates wait until
``f`` returns, so a slow ``f`` makes a run slow. ``f`` may set a :class:`.Stop`, draw, write files,
ask for results so far, or start another run. While it handles :class:`Compiling`, it must not call
compiled code. An exception in ``f`` ends the run: replicates save their checkpoints and stop, and
then ``run`` raises the exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fedbandits.experiments.event import Event, Row

if TYPE_CHECKING:  # whoever only reads events need not wait for it
    import xarray as xr

__all__ = [
    "AuditFinished", "AuditInterrupted", "AuditStarted", "Compiling", "Ended", "EndedEarly",
    "Event", "Part", "PartAdvanced", "PartEvent", "PartFinished", "PartStarted", "PointFinished",
    "Replicate", "ReplicateAdvanced", "ReplicateFinished", "Row", "RunFinished", "RunInterrupted",
    "RunStarted", "SweepAdvanced", "SweepFinished", "SweepInterrupted", "SweepStarted",
]  # fmt: skip


class Replicate(msgspec.Struct, frozen=True):
    """One replicate of one system: ``system`` is its label; ``replicate`` counts from 0."""

    system: str
    replicate: int


class Compiling(Event, frozen=True, kw_only=True, tag="compiling"):
    """A kernel is being compiled.

    The result is stored, so later runs need not compile it. ``kernel`` is its name, with its
    module; ``count`` is the number of kernels in this run or audit so far, including this one.
    """

    kernel: str
    count: int


class Ended(Event, frozen=True, kw_only=True):
    """Base class of the last event, if everything is finished, and all files are written."""

    total: int
    out: str | None


class EndedEarly(Event, frozen=True, kw_only=True):
    """Base class of the last event after Ctrl-C or a :class:`.Stop`.

    If no replicate of a run is ``finished``, there is no result.
    """

    finished: int
    total: int
    out: str | None


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """A run begins.

    Parameters
    ----------
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


class ReplicateAdvanced(Event, frozen=True, kw_only=True, tag="replicate_advanced"):
    """More rounds of a replicate have been played.

    The event comes at every round that the result records, and about four times a second in
    between. The first event of a replicate has its first round: 0, or the round of its checkpoint.
    A cluster sends one event for each replicate, at its end.

    Parameters
    ----------
    row
        The values that the result records at this round; None in between, and from a cluster.
    """

    system: str
    replicate: int
    done: int
    rounds: int
    row: Row | None = None


class ReplicateFinished(Event, frozen=True, kw_only=True, tag="replicate_finished"):
    """A replicate is finished.

    With ``out`` it has been saved, so an interruption cannot destroy it.

    Parameters
    ----------
    rows
        The values of this replicate at every round that the result records.
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
    rows: tuple[Row, ...]
    results: Callable[[], xr.Dataset]


class RunFinished(Ended, frozen=True, kw_only=True, tag="run_finished"):
    """Every replicate is finished."""


class RunInterrupted(EndedEarly, frozen=True, kw_only=True, tag="run_interrupted"):
    """The run ended early."""


class SweepStarted(Event, frozen=True, kw_only=True, tag="sweep_started"):
    """A sweep begins.

    Parameters
    ----------
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

    It comes as often as :class:`ReplicateAdvanced` does in a run. A replicate that several points
    share counts for the first ``point``. Of the whole sweep a ``share``, from 0 to 1, is done:
    rounds played, over all rounds.
    """

    point: int
    values: dict[str, Any]
    system: str
    replicate: int
    done: int
    rounds: int
    share: float


class PointFinished(Event, frozen=True, kw_only=True, tag="point_finished"):
    """All replicates of a point are finished."""

    point: int
    values: dict[str, Any]
    finished: int
    total: int


class SweepFinished(Ended, frozen=True, kw_only=True, tag="sweep_finished"):
    """Every point is finished."""


class SweepInterrupted(EndedEarly, frozen=True, kw_only=True, tag="sweep_interrupted"):
    """The sweep ended early."""


#: What a part of an audit looks at: contents of releases, all messages of a party, how far a record
#: moves releases, the noise in released numbers, what parties do beside it, or what participants
#: see where encryption protects.
PartKind = Literal["contents", "messages", "sensitivity", "noise", "protocol", "sight"]


class Part(msgspec.Struct, frozen=True):
    """One part of an audit of a ``system``: its ``kind``, and in words what it ``looks_at``."""

    system: str
    kind: PartKind
    looks_at: str


class AuditStarted(Event, frozen=True, kw_only=True, tag="audit_started"):
    """An audit begins.

    Parameters
    ----------
    runs
        Number of runs in each world that was asked for.
    parts
        All parts, in the order in which they come.
    """

    experiment: str
    systems: tuple[str, ...]
    runs: int
    parts: tuple[Part, ...]


class PartEvent(Event, frozen=True, kw_only=True):
    """Base class of events of one part of an audit.

    Parameters
    ----------
    system, kind, looks_at
        See :class:`Part`.
    done
        Number of parts that are finished.
    total
        Number of all parts.
    seconds_left
        Estimate of the time that the rest of the audit takes, in seconds. None if it is not known
        yet.
    """

    system: str
    kind: PartKind
    looks_at: str
    done: int
    total: int
    seconds_left: float | None = None


class PartStarted(PartEvent, frozen=True, kw_only=True, tag="part_started"):
    """A part of an audit begins."""


class PartAdvanced(PartEvent, frozen=True, kw_only=True, tag="part_advanced"):
    """A part of an audit has advanced: a ``share`` of it, from 0 to 1, is finished."""

    share: float


class PartFinished(PartEvent, frozen=True, kw_only=True, tag="part_finished"):
    """A part of an audit is finished, and ``done`` counts it."""


class AuditFinished(Event, frozen=True, kw_only=True, tag="audit_finished"):
    """Every part of the audit is finished.

    The ``summary`` has the verdicts in one line; ``broken`` labels systems whose claim is broken.
    """

    summary: str
    broken: tuple[str, ...]


class AuditInterrupted(Event, frozen=True, kw_only=True, tag="audit_interrupted"):
    """The audit ended early, by Ctrl-C or by a :class:`.Stop`.

    Parameters
    ----------
    done, total
        Number of parts that are finished, and number of all parts.
    audited
        Labels of the systems that have a verdict. If it is empty, the audit has no result.
    """

    done: int
    total: int
    audited: tuple[str, ...]
