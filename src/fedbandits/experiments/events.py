"""Events of a run, an audit or a sweep: its progress, and its results so far.

``fb.run(..., on_event=f)``, ``fb.audit`` and ``fb.sweep`` call ``f`` with each event. Progress bars
in a terminal and the web page are drawn from these events.

The events of a run, in this order:

1. :class:`RunStarted`, once.
2. :class:`Compiling`, for every kernel that is not in the cache. A few may come later.
3. For every replicate to play: :class:`ReplicateAdvanced`, several times, then
   :class:`ReplicateFinished`, once. Events of different replicates may come in any order.
4. :class:`RunFinished`, or :class:`RunInterrupted`, once, as the last event.

An audit starts with :class:`AuditStarted`. Then each part has :class:`PartStarted`, any number of
:class:`PartAdvanced`, and :class:`PartFinished`. Parts come one after the other. The last event is
:class:`AuditFinished` or :class:`AuditInterrupted`. :class:`Compiling` may come at any time in
between.

A sweep starts with :class:`SweepStarted`. Then come :class:`SweepAdvanced`, many times, and
:class:`PointFinished`, once for each point that is not finished yet. The last event is
:class:`SweepFinished` or :class:`SweepInterrupted`. :class:`Compiling` may come in between.

All three begin with a :class:`Started` and end with an :class:`Ended` or an :class:`EndedEarly`.
After an error there is no last event.

Events come one at a time, in the thread that made the call. Replicates wait until ``f`` returns, so
a slow ``f`` makes a run slow. ``f`` may set a :class:`.Stop`, draw, write files, ask for results so
far, or start another run. During :class:`Compiling`, ``f`` must not call compiled code. An
exception in ``f`` ends the run: replicates save their checkpoints and stop, and then ``run`` raises
the exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:  # events are read without the import of xarray
    import xarray as xr

__all__ = [
    "Advanced", "AuditFinished", "AuditInterrupted", "AuditStarted", "Compiling", "Ended",
    "EndedEarly", "Event", "Part", "PartAdvanced", "PartEvent", "PartFinished", "PartStarted",
    "PointFinished", "Replicate", "ReplicateAdvanced", "ReplicateFinished", "Row", "RunFinished",
    "RunInterrupted", "RunStarted", "Started", "SweepAdvanced", "SweepFinished",
    "SweepInterrupted", "SweepStarted",
]  # fmt: skip


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower):
    """Base class of events.

    These fields have the same meaning in all events:

    * ``experiment``, ``systems``: name of the experiment, and labels of its systems, in order.
    * ``system``, ``replicate``: label of the system, and number of the replicate, from 0.
    * ``point``, ``values``: number of the point of a sweep, from 0, and its values, by the names of
      the swept keys.
    * ``done``, ``rounds``: number of played rounds of a replicate, including rounds before an
      interruption, and of all rounds.
    * ``finished``, ``total``: number of finished replicates of a run, points of a sweep, or parts
      of an audit, including those of an earlier run, and of all.
    * ``out``: folder of the files; None without files.
    """

    def to_table(self) -> dict[str, Any]:
        """Return the event as plain values for JSON; ``"event"`` is the name of its type.

        Numbers that are not finite are None.
        """
        encoded = msgspec.json.encode(self, enc_hook=lambda _: None)
        table: dict[str, Any] = msgspec.json.decode(encoded)
        table.pop("results", None)
        return table


class Row(msgspec.Struct, frozen=True):
    """Values of one replicate after a number of rounds; all are cumulative.

    Parameters
    ----------
    round
        The number of rounds.
    regret, reward
        Sums over parties. On a log, regret is NaN, and reward is that of matching events alone,
        because the value is estimated at the end.
    messages, bytes, syncs
        Sums over parties.
    epsilon
        ε spent on the contents of one party's messages.
    """

    round: int
    regret: float
    reward: float
    messages: float
    bytes: float
    syncs: float
    epsilon: float


class Replicate(msgspec.Struct, frozen=True):
    """One replicate of one system: ``system`` is its label; ``replicate`` counts from 0."""

    system: str
    replicate: int


class Compiling(Event, frozen=True, kw_only=True, tag="compiling"):
    """A kernel is being compiled.

    The compiled kernel is stored, so later runs load it. ``kernel`` is its name, with its module;
    ``count`` is the number of kernels in this run or audit so far, including this kernel.
    """

    kernel: str
    count: int


class Started(Event, frozen=True, kw_only=True):
    """Base class of the first event."""

    experiment: str
    systems: tuple[str, ...]


class Advanced(Event, frozen=True, kw_only=True):
    """Base class of events about more rounds of a replicate."""

    system: str
    replicate: int
    done: int
    rounds: int


class Ended(Event, frozen=True, kw_only=True):
    """Base class of the last event, when everything is finished and all files are written."""

    total: int
    out: str | None = None


class EndedEarly(Event, frozen=True, kw_only=True):
    """Base class of the last event after Ctrl-C or a :class:`.Stop`.

    If no replicate of a run is ``finished``, there is no result.
    """

    finished: int
    total: int
    out: str | None = None


class RunStarted(Started, frozen=True, kw_only=True, tag="run_started"):
    """A run begins.

    Parameters
    ----------
    rounds
        Rounds of every replicate.
    replicates
        Replicates of every system.
    acting
        Number of parties that act in a round. The number of steps is rounds times acting parties.
    finished
        Replicates that an earlier run has finished, which are not played again.
    """

    rounds: int
    replicates: int
    acting: int
    finished: tuple[Replicate, ...] = ()

    @property
    def total(self) -> int:
        """Number of replicates of all systems together."""
        return len(self.systems) * self.replicates


class ReplicateAdvanced(Advanced, frozen=True, kw_only=True, tag="replicate_advanced"):
    """More rounds of a replicate have been played.

    The event comes at every round that the result records, and about four times a second in
    between. The first event of a replicate has the round 0, or the round of its checkpoint. A
    cluster sends one event for each replicate, at its end.

    Parameters
    ----------
    row
        The values that the result records at this round; None in between, and from a cluster.
    """

    row: Row | None = None


class ReplicateFinished(Event, frozen=True, kw_only=True, tag="replicate_finished"):
    """A replicate is finished.

    With ``out`` the replicate has been saved, so an interruption cannot destroy it.

    Parameters
    ----------
    rows
        The values of this replicate at every round that the result records.
    results
        A function that returns the results so far: a dataset like that of ``run``, with all
        replicates that are finished at this event, and NaN for others. The dataset is made when the
        function is called. The call may come later, and from any thread. The function is not part
        of :meth:`~Event.to_table`.
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


class SweepStarted(Started, frozen=True, kw_only=True, tag="sweep_started"):
    """A sweep begins.

    Parameters
    ----------
    points
        The values of each point, by the names of the swept keys, in the order of the points.
    replicates
        Number of replicates that this sweep needs. Replicates that several points share count once.
    asked
        Number of replicates that the points have: points times systems times replicates.
    finished
        Number of replicates that an earlier run has finished, which are not played again.
    """

    points: tuple[dict[str, Any], ...]
    replicates: int
    asked: int
    finished: int = 0


class SweepAdvanced(Advanced, frozen=True, kw_only=True, tag="sweep_advanced"):
    """More rounds of a replicate have been played.

    The event comes as often as :class:`ReplicateAdvanced` does in a run. A replicate that several
    points share counts for the first ``point``. ``share``, from 0 to 1, is the number of played
    rounds of the whole sweep, over all rounds.
    """

    point: int
    values: dict[str, Any]
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


#: Kinds of parts of an audit: contents of releases, all messages of a party, the effect of a record
#: on releases, the noise of released numbers, further conditions of the claim, or the sight of
#: participants if encryption protects.
PartKind = Literal["contents", "messages", "sensitivity", "noise", "protocol", "sight"]


class Part(msgspec.Struct, frozen=True):
    """Part of an audit of a ``system``, with its ``kind``, and what it ``looks_at`` in words."""

    system: str
    kind: PartKind
    looks_at: str


class AuditStarted(Started, frozen=True, kw_only=True, tag="audit_started"):
    """An audit begins.

    Parameters
    ----------
    runs
        Number of runs in each world.
    parts
        All parts, in order.
    """

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
        Estimate of the remaining time of the audit, in seconds. None before an estimate is
        possible.
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


class AuditFinished(Ended, frozen=True, kw_only=True, tag="audit_finished"):
    """Every part of the audit is finished.

    The ``summary`` has the verdicts in a line; ``broken`` has the labels of systems with a broken
    claim.
    """

    summary: str
    broken: tuple[str, ...]


class AuditInterrupted(EndedEarly, frozen=True, kw_only=True, tag="audit_interrupted"):
    """The audit ended early.

    ``audited`` has the labels of systems with a verdict. If it is empty, the audit has no result.
    """

    audited: tuple[str, ...]
