"""Bars in a terminal during a run, a sweep or an audit, drawn from events."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.table import Column
from rich.text import Text

from fedbandits.experiments.events import (
    AuditStarted,
    Compiling,
    Ended,
    EndedEarly,
    Event,
    PartAdvanced,
    PartEvent,
    ReplicateAdvanced,
    RunStarted,
    SweepAdvanced,
    SweepStarted,
)
from fedbandits.settings.sweeps import in_words

#: Units of a bar, while no kernel is compiled.
_ROUNDS, _PARTS = "rounds", "parts"
#: Events that end all bars.
_ENDS = (Ended, EndedEarly)
#: Columns of a terminal for an audit's bar and numbers; fewest columns for the words.
_NUMBERS, _FEWEST = 62, 18
#: Columns of a terminal for a sweep's bar and numbers.
_SHARES = 48
#: Printed once, at the first compilation.
_COMPILING = "Compiling what this needs. That takes up to a minute"
_KEPT, _NOT_KEPT = "; it is kept, and later runs begin at once.", ", in every run: it is not kept."


def rounded(speed: float) -> str:
    """Write a number of steps a second in about three digits."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if speed >= size:
            digits = 2 if speed < 10 * size else 1
            return f"{speed / size:.{digits}f} {unit}"
    return f"{speed:.0f}"


def roughly(seconds: float | None) -> str:
    """Write the remaining time as precisely as a guess allows; empty if it is not known."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(1, round(seconds / 5)) * 5} s left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {round(seconds / 3600)} h left"


class _SpeedColumn(ProgressColumn):
    """Agent-steps a second."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        return Text(f"{rounded(speed * task.fields['acting']):>6} steps/s", style="cyan")


class TerminalProgress:
    """Bars that are drawn from events, as the ``on_event`` of ``run`` or ``audit``.

    A run has a bar for each system: rounds over all replicates, agent-steps a second, time left. A
    sweep has a bar with the current point and the time left. An audit has a bar with the finished
    parts, the current part and the time left. During compilation, the bar shows the number of
    kernels.

    A context manager, so that no bar is left when a run ends with an error. Several runs may use
    the same bars, one after the other.

    Parameters
    ----------
    console
        The console of the bars.
    passing
        Whether full bars are wiped from a terminal; without a terminal, no bars are drawn.
    """

    def __init__(self, console: Console, passing: bool = False) -> None:
        self._console, self._passing = console, passing
        self._bars: RichProgress | None = None
        self._counts, self._points = _ROUNDS, 0
        self._tasks: dict[str, TaskID] = {}
        self._done: Counter[tuple[str, int]] = Counter()
        self._told_of_compiling = self._compiling = False

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __call__(self, event: Event) -> None:
        """Draw an event."""
        if isinstance(event, RunStarted):
            self._begin_run(event)
        elif isinstance(event, AuditStarted):
            self._begin_audit(event)
        elif isinstance(event, SweepStarted):
            self._begin_sweep(event)
        elif isinstance(event, _ENDS):
            self._end()
        elif isinstance(event, Compiling):
            self._note_kernel(event)
        elif isinstance(event, ReplicateAdvanced):
            self._advance(event)
        elif isinstance(event, SweepAdvanced):
            self._show_point(event)
        elif isinstance(event, PartEvent):
            self._show_part(event)

    def _begin_run(self, event: RunStarted) -> None:
        self._begin(
            _ROUNDS,
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            _SpeedColumn(),
            TimeRemainingColumn(),
        )
        before = Counter(replicate.system for replicate in event.finished)
        for label in event.systems:
            total, completed = event.rounds * event.replicates, event.rounds * before[label]
            self._add(label, label, total, completed=completed, acting=event.acting)

    def _begin_audit(self, event: AuditStarted) -> None:
        # The long description of a part is cut, so that the numbers are not.
        words = Column(no_wrap=True, max_width=max(_FEWEST, self._console.width - _NUMBERS))
        self._begin(
            _PARTS,
            TextColumn("{task.description}", markup=False, table_column=words),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[note]}"),
            TextColumn("{task.fields[left]}", style="cyan"),
        )
        self._add("", "audit", len(event.parts), count=f"0/{len(event.parts)}", left="")

    def _begin_sweep(self, event: SweepStarted) -> None:
        words = Column(no_wrap=True, max_width=max(_FEWEST, self._console.width - _SHARES))
        self._begin(
            _ROUNDS,
            TextColumn("{task.description}", markup=False, table_column=words),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
        )
        self._points = len(event.points)
        self._add("", f"{self._points} points", 1)

    def _begin(self, counts: str, *columns: ProgressColumn) -> None:
        self._end()
        self._counts, self._compiling = counts, False
        self._bars = RichProgress(
            *columns, console=self._console, speed_estimate_period=10.0, transient=self._passing,
            disable=self._passing and not self._console.is_terminal,  # no blank line
        )  # fmt: skip
        # A closed stream is no reason to lose a run; rich leaves the program after a closed pipe.
        with suppress(OSError, SystemExit):
            self._bars.start()

    def _add(self, name: str, description: str, total: int, **fields: Any) -> None:
        if self._bars is not None:
            task = self._bars.add_task(description, total=total, note=self._counts, **fields)
            self._tasks[name] = task

    def _end(self) -> None:
        if self._bars is not None:
            with suppress(OSError, SystemExit):
                self._bars.stop()
        self._bars, self._tasks, self._done = None, {}, Counter()

    def _note_kernel(self, event: Compiling) -> None:
        if self._bars is None:
            return
        if not self._told_of_compiling:
            from fedbandits._compile.cache import are_kept  # the compiler is loaded by now

            with suppress(OSError, SystemExit):
                self._console.print(_COMPILING + (_KEPT if are_kept() else _NOT_KEPT))
        self._told_of_compiling = self._compiling = True
        self._bars.update(next(iter(self._tasks.values())), note=f"compiling {event.count}")

    def _played_on(self) -> None:
        """Show rounds or parts again after a compilation."""
        if self._compiling and self._bars is not None:
            self._compiling = False
            self._bars.update(next(iter(self._tasks.values())), note=self._counts)

    def _advance(self, event: ReplicateAdvanced) -> None:
        self._played_on()
        if self._bars is not None:
            replicate = event.system, event.replicate
            self._bars.advance(self._tasks[event.system], event.done - self._done[replicate])
            self._done[replicate] = event.done

    def _show_point(self, event: SweepAdvanced) -> None:
        self._played_on()
        if self._bars is not None:
            place = f"point {event.point + 1} of {self._points}"
            described = f"{place}, {in_words(event.values)}"
            self._bars.update(self._tasks[""], description=described, completed=event.share)

    def _show_part(self, event: PartEvent) -> None:
        self._played_on()
        if self._bars is not None:
            inside = event.share if isinstance(event, PartAdvanced) else 0.0
            self._bars.update(
                self._tasks[""],
                description=f"{event.system}: {event.looks_at}",
                completed=event.done + inside,
                count=f"{event.done}/{event.total}",
                left=roughly(event.seconds_left) if event.done < event.total else "",
            )
