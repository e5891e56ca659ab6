"""What a run or an audit tells while it goes on: how far it is, and its results so far.

``fb.run(..., on_event=f)`` and ``audit(..., on_event=f)`` call ``f`` with one event after the
other. The bars in a terminal are drawn from these events, and a web page can show the same.

A run tells, in this order:

1. :class:`RunStarted`, once.
2. :class:`Compiling`, for every kernel that is not in the cache yet. Few come later than here.
3. For every replicate that is left to play: :class:`ReplicateAdvanced`, several times, then
   :class:`ReplicateFinished`, once. Events of different replicates come in any order.
4. :class:`RunFinished`, or :class:`RunInterrupted`, once. Nothing comes after it.

An audit tells :class:`AuditStarted`; then for every part, one part after the other,
:class:`PartStarted`, :class:`PartAdvanced` any number of times, and :class:`PartFinished`; then
:class:`AuditFinished` or :class:`AuditInterrupted`. :class:`Compiling` may come at any time in
between.

If a run or an audit raises an error, there is no last event: the error says how it ended.

Events come one at a time, in the thread that called ``run`` or ``audit``. Replicates that want to
tell something wait until the one before is done, so a slow callback makes a run slow. A callback
may set a :class:`.Stop`, draw, write files, ask for results so far, or start another run. Only
while it handles :class:`Compiling` it must not call anything that is compiled. An exception in the
callback ends the run: replicates save their checkpoints and leave, and then ``run`` raises it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:  # whoever only reads events need not wait for it
    import xarray as xr

#: What a part of an audit looks at: contents of releases, all messages of a party, the noise in
#: released numbers, or what participants see where encryption protects.
PartKind = Literal["contents", "messages", "noise", "sight"]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower):
    """What all events have in common."""

    def to_table(self) -> dict[str, Any]:
        """The event as plain values that JSON can hold; ``"event"`` names its type."""
        table: dict[str, Any] = msgspec.to_builtins(self, enc_hook=lambda _: None)
        return {key: value for key, value in table.items() if key != "results"}


class Replicate(msgspec.Struct, frozen=True):
    """One replicate of one system.

    Parameters
    ----------
    system
        Label of the system.
    replicate
        Number of the replicate, from 0.
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
        Parties that act in a round. Rounds times this number are steps.
    finished
        Replicates that an earlier run has finished, and that are not played again.
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
    """A kernel is compiled. That is kept, and takes no time in later runs.

    Parameters
    ----------
    kernel
        Name of the kernel, with its module.
    count
        How many kernels there have been so far in this run or audit, with this one.
    """

    kernel: str
    count: int


class ReplicateAdvanced(Event, frozen=True, kw_only=True, tag="replicate_advanced"):
    """Some more rounds of a replicate are played.

    It comes at every round that the result records, and about four times a second in between. The
    first one of a replicate says where it begins: at 0, or where its checkpoint stood. A cluster
    tells of a replicate once only, when it has come back.

    Parameters
    ----------
    system
        Label of the system.
    replicate
        Number of the replicate, from 0.
    done
        Rounds that are played, those before an interruption included.
    rounds
        Rounds in all.
    """

    system: str
    replicate: int
    done: int
    rounds: int


class ReplicateFinished(Event, frozen=True, kw_only=True, tag="replicate_finished"):
    """A replicate is complete. With ``out`` it is saved, too: an interruption cannot lose it.

    Parameters
    ----------
    system
        Label of the system.
    replicate
        Number of the replicate, from 0.
    finished
        How many replicates are finished, those of an earlier run included.
    total
        How many there are in all.
    results
        Call it for the results so far: a dataset like that of ``run``, with all replicates that
        are finished at this event, and NaN for others. It is made when it is called, and costs
        nothing where it is not. It may be called later, and from any thread. It is not part of
        :meth:`~Event.to_table`.
    """

    system: str
    replicate: int
    finished: int
    total: int
    results: Callable[[], xr.Dataset]


class RunFinished(Event, frozen=True, kw_only=True, tag="run_finished"):
    """Every replicate is finished, and all files are written.

    Parameters
    ----------
    total
        Number of replicates.
    out
        Folder that holds the files, ``None`` where none are written.
    """

    total: int
    out: str | None


class RunInterrupted(Event, frozen=True, kw_only=True, tag="run_interrupted"):
    """The run was left early, by Ctrl-C or by a :class:`.Stop`.

    Parameters
    ----------
    finished
        Replicates that are finished. If it is 0, there is no result.
    total
        Replicates in all.
    out
        Folder of the files; see :class:`RunFinished`.
    """

    finished: int
    total: int
    out: str | None


class Part(msgspec.Struct, frozen=True):
    """One part of an audit.

    Parameters
    ----------
    system
        Label of the system that is audited.
    kind
        What the part looks at.
    looks_at
        The same in words.
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
        Runs in either world that were asked for.
    parts
        All parts, in the order in which they come.
    """

    experiment: str
    systems: tuple[str, ...]
    runs: int
    parts: tuple[Part, ...]


class PartEvent(Event, frozen=True, kw_only=True):
    """What events of a part of an audit have in common.

    Parameters
    ----------
    system, kind, looks_at
        See :class:`Part`.
    done
        How many parts are done.
    total
        How many parts there are.
    seconds_left
        About how long the rest of the audit takes, as far as the parts before allow to say; None
        while nothing is known.
    """

    system: str
    kind: PartKind
    looks_at: str
    done: int
    total: int
    seconds_left: float | None = None


class PartStarted(PartEvent, frozen=True, kw_only=True, tag="part_started"):
    """A part of an audit begins. Parameters: see :class:`PartEvent`."""


class PartAdvanced(PartEvent, frozen=True, kw_only=True, tag="part_advanced"):
    """A part of an audit goes on.

    Parameters
    ----------
    share
        How much of this part is done, from 0 to 1.

    Others: see :class:`PartEvent`.
    """

    share: float


class PartFinished(PartEvent, frozen=True, kw_only=True, tag="part_finished"):
    """A part of an audit is done; ``done`` counts it. Parameters: see :class:`PartEvent`."""


class AuditFinished(Event, frozen=True, kw_only=True, tag="audit_finished"):
    """Every part is done.

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
    """The audit was left early, by Ctrl-C or by a :class:`.Stop`.

    Parameters
    ----------
    done
        Parts that were done.
    total
        Parts in all.
    audited
        Labels of the systems that have a verdict. If there are none, there is no audit.
    """

    done: int
    total: int
    audited: tuple[str, ...]
