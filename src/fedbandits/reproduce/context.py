"""What a reproduction is given: a folder to write to, a scale, and data."""

from __future__ import annotations

import csv
import io
import json
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import xarray as xr
from matplotlib.figure import Figure as Plot

from fedbandits.errors import ConfigError, OutputExistsError, StoppedError
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.folder import check_output, holds_complete_run, read_result
from fedbandits.experiments.run import run
from fedbandits.experiments.stop import Stop
from fedbandits.experiments.stream import Listener
from fedbandits.reproduce.figure import Figure
from fedbandits.settings.experiment import Experiment


class Verdict(NamedTuple):
    """The line that a figure ends with: whether what was measured agrees with the paper.

    Parameters
    ----------
    agrees
        Worked out from what was measured, never typed in. None where the paper has nothing that
        the figure could be held against.
    why
        In numbers: what agrees, or by what it differs, and why.
    """

    agrees: bool | None
    why: str

    @property
    def line(self) -> str:
        """As it is printed."""
        words = {True: "Agrees", False: "Differs", None: "No verdict"}
        return f"{words[self.agrees]}: {self.why}"


class Outcome(NamedTuple):
    """What a reproduction found.

    Parameters
    ----------
    rows
        A table, all rows with the same keys.
    plot
        The figure as the paper draws it, then with our systems in it.
    remarks
        What was played, and what is to be seen, a sentence or two each.
    verdict
        Whether it agrees with the paper.
    """

    rows: list[dict[str, Any]]
    plot: Plot
    remarks: Sequence[str]
    verdict: Verdict


class Context:
    """Runs the experiments of one figure, each in a folder of its own.

    Parameters
    ----------
    out
        Folder that the figure's files are put in.
    full
        The paper's scale, instead of one that takes minutes.
    data
        Files of data that the figure is to be made from.
    jobs
        Number of replicates that run side by side.
    resume
        Keep experiments that are complete, continue those that are not.
    on_event
        It is called with every event of every run; see :mod:`fedbandits.experiments.events`.
    stop
        Ends the figure early once it is set, as Ctrl-C does.
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

    def run(self, name: str, experiment: Experiment) -> xr.Dataset:
        """Run an experiment, or load what an earlier run of it left.

        Parameters
        ----------
        name
            Name of the experiment's folder.
        experiment

        Raises
        ------
        StoppedError
            If ``stop`` ended it; what is finished is kept for a resumption.
        KeyboardInterrupt
            If Ctrl-C did so.
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

    def measure(self, name: str, measurement: Callable[[], Any]) -> Any:
        """Take a measurement (what JSON can hold), or look up what an earlier one found."""
        file = self.out / "measured" / f"{name}.json"
        if self._resume and file.exists():
            return json.loads(file.read_text(encoding="utf-8"))
        value = measurement()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value), encoding="utf-8")
        return value


def write_outcome(context: Context, figure: Figure, outcome: Outcome) -> None:
    """Write ``figure.png``, ``table.csv`` and ``remarks.md`` into the figure's folder."""
    context.out.mkdir(parents=True, exist_ok=True)
    outcome.plot.savefig(context.out / "figure.png", dpi=130)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(outcome.rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(outcome.rows)
    (context.out / "table.csv").write_text(text.getvalue(), encoding="utf-8")
    scale = figure.full if context.full else figure.quick
    lines = [f"# {figure.title}", "", f"{figure.source}. Scale: {scale}.", ""]
    lines += [f"* {remark}" for remark in outcome.remarks]
    lines += ["", f"**{outcome.verdict.line}**"]
    (context.out / "remarks.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
