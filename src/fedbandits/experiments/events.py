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

from typing import Literal

import msgspec

from fedbandits.experiments.run_events import (
    Compiling,
    Ended,
    EndedEarly,
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

__all__ = [
    "AuditFinished", "AuditInterrupted", "AuditStarted", "Compiling", "Ended", "EndedEarly",
    "Event", "Part", "PartAdvanced", "PartEvent", "PartFinished", "PartStarted", "PointFinished",
    "Replicate", "ReplicateAdvanced", "ReplicateFinished", "RunFinished", "RunInterrupted",
    "RunStarted", "SweepAdvanced", "SweepFinished", "SweepInterrupted", "SweepStarted",
]  # fmt: skip

#: What a part of an audit looks at: contents of releases, all messages of a party, the noise in
#: released numbers, or what participants see where encryption protects.
PartKind = Literal["contents", "messages", "sensitivity", "noise", "sight"]


class Part(msgspec.Struct, frozen=True):
    """One part of an audit.

    Parameters
    ----------
    system
        Label of the system that is audited.
    kind
        Kind of the part.
    looks_at
        A description of what the part examines.
    """

    system: str
    kind: PartKind
    looks_at: str


class AuditStarted(Event, frozen=True, kw_only=True, tag="audit_started"):
    """An audit begins.

    Parameters
    ----------
    experiment
        Name of the experiment.
    systems
        Labels of its systems, in order.
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
    """A part of an audit begins.

    The parameters are those of :class:`PartEvent`.
    """


class PartAdvanced(PartEvent, frozen=True, kw_only=True, tag="part_advanced"):
    """A part of an audit has advanced.

    Parameters
    ----------
    share
        Share of this part that is finished, from 0 to 1.

    Others: see :class:`PartEvent`.
    """

    share: float


class PartFinished(PartEvent, frozen=True, kw_only=True, tag="part_finished"):
    """A part of an audit is finished, and ``done`` counts it.

    The parameters are those of :class:`PartEvent`.
    """


class AuditFinished(Event, frozen=True, kw_only=True, tag="audit_finished"):
    """Every part of the audit is finished.

    Parameters
    ----------
    summary
        The verdicts in one line.
    broken
        Labels of systems whose claim is broken.
    """

    summary: str
    broken: tuple[str, ...]


class AuditInterrupted(Event, frozen=True, kw_only=True, tag="audit_interrupted"):
    """The audit ended early, by Ctrl-C or by a :class:`.Stop`.

    Parameters
    ----------
    done
        Number of parts that are finished.
    total
        Number of all parts.
    audited
        Labels of the systems that have a verdict. If it is empty, the audit has no result.
    """

    done: int
    total: int
    audited: tuple[str, ...]
