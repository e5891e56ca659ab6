"""The engine of all figures: it plays tables of runs, judges, and draws."""

from __future__ import annotations

import functools
import json
import math
import pathlib
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.errors import ConfigError, OutputExistsError, StoppedError
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.files import replace_durably
from fedbandits.experiments.folder import check_output, holds_complete_run, read_result
from fedbandits.experiments.plots import line_style
from fedbandits.experiments.run import run
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.settings.experiment import Experiment

Key = TypeVar("Key")
#: A row of a figure's table, by column.
Row = dict[str, Any]


def where(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows with these values in these columns."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def grouped(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by their values in some columns, in order."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns), []).append(row)
    return groups


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation; 0 for a single number."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


class Verdict(NamedTuple):
    """The last line of a figure: whether its measurements agree with the paper."""

    #: Computed from measurements, never typed in. None if the paper has no such statement.
    agrees: bool | None
    why: str  # the agreement or the difference in numbers, with the reason
    #: False if a term of the paper explains the difference at this scale, but not at the paper's.
    comparable: bool = True

    @property
    def line(self) -> str:
        """The verdict in words."""
        if not self.comparable:
            return f"Not comparable at this scale: {self.why}"
        words = {True: "Agrees", False: "Differs", None: "No verdict"}
        return f"{words[self.agrees]}: {self.why}"


class Law(NamedTuple):
    """A law that the paper states, measured in a figure."""

    holds: bool
    text: str  # a sentence with the numbers of the figure


def verdict_of(laws: Mapping[str, Law]) -> Verdict:
    """Agree if every law of the paper holds; name the broken laws in numbers."""
    broken = "; ".join(law.text for law in laws.values() if not law.holds)
    shown = "; ".join(law.text for law in laws.values() if law.holds)
    if not broken:
        return Verdict(True, f"{shown}.")
    why = f"the paper says, and it is not so here: {broken}."
    return Verdict(False, f"{why} As in the paper: {shown or 'nothing'}.")


class Measured(NamedTuple):
    """A mean over replicates, its standard deviation and its standard error.

    Both are NaN for a single replicate.
    """

    mean: float
    deviation: float
    error: float

    @classmethod
    def of(cls, values: xr.DataArray) -> Measured:
        """Measure numbers, one a replicate."""
        count = values.sizes["replicate"]
        deviation = float(values.std("replicate", ddof=1)) if count > 1 else math.nan
        return cls(float(values.mean("replicate")), deviation, deviation / math.sqrt(count))

    def clearly_below(self, other: Measured) -> bool:
        """Return whether the mean is lower by more than two errors of the difference."""
        spread = math.hypot(*(0.0 if math.isnan(e) else e for e in (self.error, other.error)))
        return self.mean < other.mean - 2.0 * spread


class Outcome(NamedTuple):
    """The outcome of a reproduction."""

    rows: Sequence[Row]  # a table, all rows with the same keys
    plot: Plot  # the figure as the paper draws it, then with our systems
    remarks: Sequence[str]  # on the runs and their results, a sentence or two each
    verdict: Verdict  # agreement with the paper


class Context:
    """The folder, scale and options of a figure, with the functions that play its tables.

    Parameters
    ----------
    out
        Folder of the figure's files.
    full
        The paper's scale, instead of a scale that takes minutes.
    data
        Files of data for the figure.
    jobs
        Number of replicates that run side by side.
    resume
        Whether to keep complete experiments, and continue interrupted ones.
    on_event
        A function that is called with every event of every run; see
        :mod:`fedbandits.experiments.events`.
    stop
        A switch that ends the figure early, as Ctrl-C does.
    """

    def __init__(
        self,
        out: pathlib.Path,
        full: bool = False,
        data: Sequence[str] = (),
        jobs: int | None = None,
        resume: bool = False,
        on_event: Listener | None = None,
        stop: Stop | None = None,
    ) -> None:
        if out.exists() and not out.is_dir():
            raise OutputExistsError(f"{out}: is a file; choose another --out")
        names = [pathlib.Path(path).stem for path in data]
        if len(set(names)) < len(names):
            raise ConfigError("--data: two files have the same name; rename one to tell them apart")
        self.out, self.full, self.data = out, full, tuple(data)
        self._jobs, self._resume = jobs, resume
        self._on_event, self._stop = on_event, stop

    def played(self, table: Mapping[Key, tuple[str, Experiment]]) -> dict[Key, xr.Dataset]:
        """Run every experiment of a table, each in the folder of its name."""
        return {key: self.run(name, experiment) for key, (name, experiment) in table.items()}

    def run(self, name: str, experiment: Experiment) -> xr.Dataset:
        """Run an experiment in a folder of its own, or load the complete result of an earlier run.

        After an interruption, finished replicates are kept for a resumption, and StoppedError or
        KeyboardInterrupt is raised.
        """
        folder = self.out / name
        if self._resume and holds_complete_run(folder):
            check_output(folder, experiment)
            return read_result(folder)
        begun = not CheckpointFolder(folder, experiment).empty
        result = run(
            experiment,
            out=folder,
            jobs=self._jobs,
            resume=self._resume and begun,
            on_event=self._on_event,
            stop=self._stop,
        )
        if result.attrs["interrupted"]:
            if self._stop:
                raise StoppedError(f"{name}: it was stopped before it was complete")
            raise KeyboardInterrupt
        return result

    def measured(
        self, table: Mapping[Key, tuple[str, Callable[[int], Any]]], repeats: int
    ) -> dict[Key, list[Any]]:
        """Take every measurement of a table several times, given by names and functions.

        Measurements are taken in turn, so that a slow machine slows all of them down. A function is
        called with the number of the repetition.
        """
        values: dict[Key, list[Any]] = {key: [] for key in table}
        for repeat in range(repeats):
            for key, (name, take) in table.items():
                value = self.measure(f"{name}-{repeat}", functools.partial(take, repeat))
                values[key].append(value)
        return values

    def measure(self, name: str, measurement: Callable[[], Any]) -> Any:
        """Take a measurement of plain values, or read the measurement of an earlier run."""
        file = self.out / "measured" / f"{name}.json"
        if self._resume and file.exists():
            return json.loads(file.read_text(encoding="utf-8"))
        value = measurement()
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(file, json.dumps(value).encode())
        return value


def panels(
    rows: int, columns: int, width: float = 4.6, height: float = 3.6
) -> tuple[Plot, list[Axes]]:
    """Make axes side by side, row by row; sizes of each are in inches."""
    plot = Plot(figsize=(width * columns, height * rows), layout="constrained")
    axes: list[Axes] = list(plot.subplots(rows, columns, squeeze=False).ravel())
    for panel in axes:
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    return plot, axes


def legend_beside(axes: Axes, **options: Any) -> None:
    """Put the legend to the right of the axes, where the legend hides no curve."""
    place = {"frameon": False, "fontsize": 8, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    axes.legend(**place | options)


def draw_rows(
    axes: Axes, rows: Sequence[Row], x: str, y: str, error: str, index: int, **look: Any
) -> None:
    """Draw a column of rows over another, with bars, in the index-th style changed by ``look``."""
    across, up, bars = ([row[name] for row in rows] for name in (x, y, error))
    axes.errorbar(across, up, bars, **(line_style(index) | look))


def draw_lines(axes: Axes, lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
    """Draw points joined by lines, in a style for each line."""
    for index, (label, (x, y)) in enumerate(lines.items()):
        axes.plot(x, y, marker=".", label=label, **line_style(index))


def tick_values(axes: Axes, values: Sequence[float], labels: Sequence[str]) -> None:
    """Make the lower axis logarithmic, with ticks at these values alone."""
    axes.set_xscale("log")
    axes.set_xticks(values, labels)
    axes.minorticks_off()


def count_in_thousands(axes: Axes, *names: str) -> None:
    """Write numbers on the axes of these names (``x``, ``y``) as 1,000."""
    for name in names:
        getattr(axes, f"{name}axis").set_major_formatter("{x:,.0f}")


def draw_curves(
    axes: Axes, curves: Mapping[str, xr.DataArray], styles: Mapping[str, dict[str, Any]]
) -> None:
    """Draw means over rounds with a band of one standard deviation over replicates.

    Curves, (replicate, round), and styles are by label, so that a system looks alike in all panels.
    """
    for label, curve in curves.items():
        mean, look = curve.mean("replicate"), styles[label]
        axes.plot(curve["round"], mean, label=label, **look)
        if curve.sizes["replicate"] > 1:
            spread = curve.std("replicate", ddof=1)
            axes.fill_between(
                curve["round"], (mean - spread).clip(min=1e-3), mean + spread,
                color=look["color"], alpha=0.18, linewidth=0,
            )  # fmt: skip


def styles_of(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return a look for every label, in order."""
    return {label: line_style(index) for index, label in enumerate(labels)}
