"""A sweep, as ``fedbandits run`` plays and shows it."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:  # a table needs none of what fills it
    import xarray as xr

    from fedbandits.settings.sweeps import Point, Sweep


#: Most rows that a terminal shows.
_ROWS = 60


def run_sweep(sweep: Sweep, out: pathlib.Path | None, options: dict[str, Any]) -> None:
    """Play a sweep, print its table, and say where its report is.

    Parameters
    ----------
    sweep
        The sweep.
    out
        Its folder; by default ``runs/NAME-sweep``.
    options
        Options of :func:`fedbandits.sweep`.
    """
    from rich.console import Console

    from fedbandits.cli import console
    from fedbandits.experiments.answers.answer import MOST_ANSWERS, point_answers
    from fedbandits.experiments.progress import TerminalProgress
    from fedbandits.experiments.run import sweep as play

    folder = out or pathlib.Path("runs") / f"{sweep.experiment.name}-sweep"
    try:
        with TerminalProgress(Console(stderr=True)) as progress:
            result = play(sweep, out=folder, on_event=progress, **options)
    except KeyboardInterrupt:
        typer.echo("Interrupted before any replicate was finished; --resume goes on.", err=True)
        raise typer.Exit(130) from None
    points = sweep.points()
    for told in point_answers(points[:MOST_ANSWERS], result):
        console.print_lines([f"{told.point}: {told.answer.headline}"])
    console.output().print(sweep_table(sweep, points, result))
    typer.echo(f"Report: {folder / 'report.html'}")
    if result.attrs["interrupted"]:
        typer.echo(
            "Interrupted: only finished replicates are counted; --resume goes on. Complete results "
            "of an earlier sweep, if there were any, are left as they were.",
            err=True,
        )
        raise typer.Exit(130)


def sweep_table(sweep: Sweep, points: tuple[Point, ...], result: xr.Dataset) -> Table:
    """A row for each point and system: the swept values, regret of a party, and ε."""
    from fedbandits.experiments.intervals import spelled, spelled_epsilon
    from fedbandits.experiments.measure import ends
    from fedbandits.experiments.report.sweep import sweep_cells
    from fedbandits.settings.sweeps import value_text

    found = ends(result)
    table = Table(title=f"{sweep.experiment.name}: {found.unit}, 95% intervals")
    for axis in sweep.axes:
        table.add_column(escape(axis.words), justify="right", overflow="fold")
    table.add_column("system", style="bold", overflow="fold")
    for title in (found.unit, "ε accounted"):
        table.add_column(title, justify="right", no_wrap=True)
    shown: dict[str, Any] = {}
    last = len(sweep.experiment.systems)
    few = points[: max(1, _ROWS // last)]
    if len(few) < len(points):
        table.caption = f"{len(points) - len(few)} more points are in summary.csv"
    for number, (values, label, mean, half, epsilon) in enumerate(
        sweep_cells(few, result, found), 1
    ):
        swept = ["" if shown == values else escape(value_text(v)) for v in values.values()]
        shown = values
        numbers = spelled(mean, half), spelled_epsilon(epsilon)
        table.add_row(*swept, escape(label), *numbers, end_section=number % last == 0)
    return table
