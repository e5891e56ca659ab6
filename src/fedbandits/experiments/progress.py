"""What a person sees while an experiment runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Protocol

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
from rich.text import Text

from fedbandits._compile import compilations
from fedbandits.settings.experiment import Experiment

#: What a bar counts, while nothing is compiled.
_PLAYING = "rounds"
#: Said once, when the first kernel is compiled.
_COMPILING = (
    "Compiling what this run needs. That takes up to a minute; it is kept, and later runs begin "
    "at once."
)


def rounded(speed: float) -> str:
    """A number of steps a second in about three digits."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if speed >= size:
            digits = 2 if speed < 10 * size else 1
            return f"{speed / size:.{digits}f} {unit}"
    return f"{speed:.0f}"


class Progress(Protocol):
    """Receives reports from worker threads."""

    def showing(self, experiment: Experiment) -> AbstractContextManager[object]:
        """Be visible for as long as the context lasts."""

    def advance(self, system: int, rounds: int) -> None:
        """Note that a system has played some more rounds, in any of its replicates."""


class SilentProgress:
    """Shows nothing."""

    def showing(self, experiment: Experiment) -> AbstractContextManager[object]:
        """An empty context."""
        return nullcontext()

    def advance(self, system: int, rounds: int) -> None:
        """Nothing."""


class _SpeedColumn(ProgressColumn):
    """Agent-steps a second."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        return Text(f"{rounded(speed * task.fields['acting']):>6} steps/s", style="cyan")


@contextmanager
def audit_progress(console: Console) -> Iterator[Callable[[str, str, int, int], None]]:
    """One bar for an audit: how many games and checks are done, and which one goes on."""
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    with RichProgress(*columns, TextColumn("parts"), console=console) as bar:
        task = bar.add_task("audit")

        def report(system: str, looks_at: str, done: int, total: int) -> None:
            bar.update(task, description=f"{system}: {looks_at}", completed=done, total=total)

        yield report


class TerminalProgress:
    """A bar a system: rounds over all replicates, agent-steps a second, time left.

    While kernels are compiled, it says so, and how many there have been.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars: RichProgress | None = None
        self._tasks: list[TaskID] = []
        self._lock = threading.Lock()
        self._kernels = 0
        self._compiling = False

    @contextmanager
    def showing(self, experiment: Experiment) -> Iterator[None]:
        """Draw the bars until the context ends."""
        bars = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            _SpeedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            speed_estimate_period=10.0,
        )
        self._bars = bars
        self._tasks = [
            bars.add_task(
                entry.label,
                total=experiment.rounds * experiment.replicates,
                acting=experiment.environment.acting,
                note=_PLAYING,
            )
            for entry in experiment.systems
        ]
        # A stream that nobody reads any more is no reason to lose a run; rich answers a closed
        # pipe by leaving the program.
        with suppress(OSError, SystemExit):
            bars.start()
        try:
            with compilations(self._note_kernel):
                yield
        finally:
            with suppress(OSError, SystemExit):
                bars.stop()

    def _note_kernel(self, name: str) -> None:
        """A kernel is being compiled: count it."""
        del name
        with self._lock:
            self._kernels += 1
            if self._bars is None:
                return
            if self._kernels == 1:
                with suppress(OSError, SystemExit):
                    self._console.print(_COMPILING)
            self._compiling = True
            self._bars.update(self._tasks[0], note=f"compiling {self._kernels}")

    def advance(self, system: int, rounds: int) -> None:
        """Move a system's bar."""
        with self._lock:
            if self._bars is None:
                return
            if self._compiling:
                self._compiling = False
                self._bars.update(self._tasks[0], note=_PLAYING)
            self._bars.advance(self._tasks[system], rounds)
