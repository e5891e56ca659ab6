"""``fedbandits runs`` and ``fedbandits compare``: what was played, and in what two runs differ."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from fedbandits.cli.console import output

if TYPE_CHECKING:  # xarray takes a while to import
    from fedbandits.experiments.folder import RunComparison, StoredRun

#: A value of a setting is shown in so many characters.
_WIDEST = 48


def runs(
    folder: Annotated[
        pathlib.Path, typer.Argument(metavar="FOLDER", help="Where to look.")
    ] = pathlib.Path("runs"),
) -> None:
    """List the runs in a folder and the folders in it: whether they are complete, and their answer.

    A run that was interrupted goes on with: fedbandits run CONFIG.toml --out FOLDER --resume
    """
    from fedbandits.experiments.folder import find_runs

    found = find_runs(folder)
    if not found:
        typer.echo(f"{folder}: no runs")
        return
    output().print(_list_of(found))


def _list_of(found: list[StoredRun]) -> Table:
    table = Table()
    for title in ("folder", "status"):
        table.add_column(title, overflow="fold")
    for title in ("rounds", "runs"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("answer, or systems", ratio=1)
    for run in found:
        what = run.headline or ", ".join(run.systems)
        table.add_row(
            escape(str(run.folder)), run.status, f"{run.rounds:,}", str(run.replicates),
            escape(what),
        )  # fmt: skip
    return table


def compare(
    first: Annotated[pathlib.Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    second: Annotated[pathlib.Path, typer.Argument(metavar="RUN", help="That of another.")],
) -> None:
    """Compare two runs: only the settings that differ, and how each system did in both.

    Where both runs have the same world, rounds and seed, replicates are compared in pairs: both
    meet the same contexts and reward draws.
    """
    from fedbandits.experiments.folder import compare_runs

    found, console = compare_runs(first, second), output()
    if found.settings:
        console.print(_settings_of(found, str(first), str(second)))
    else:
        typer.echo("The settings of both runs are the same.")
    if found.systems:
        console.print(_systems_of(found, str(first), str(second)))
    elif found.units[0] == found.units[1]:
        typer.echo("No system has the same label in both.")
    else:
        typer.echo(
            f"Numbers are not compared: one run counts {found.units[0]}, the other "
            f"{found.units[1]}."
        )


def _settings_of(found: RunComparison, first: str, second: str) -> Table:
    table = Table(title="Settings that differ")
    for title in ("key", escape(first), escape(second)):
        table.add_column(title, overflow="fold")
    for key, one, other in found.settings:
        table.add_row(escape(key), escape(_short(one)), escape(_short(other)))
    return table


def _short(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict):  # a system that the other run does not have
        value = value.get("preset", value.get("kind", value))
    text = str(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _systems_of(found: RunComparison, first: str, second: str) -> Table:
    how = (
        "The difference is over pairs of replicates, ± half of its 95% interval."
        if found.are_pairs
        else "Their worlds, rounds or seeds differ: there are no pairs to compare."
    )
    table = Table(title=found.units[0], caption=how)
    table.add_column("system", style="bold", overflow="fold")
    for title in (escape(first), escape(second), "difference"):
        table.add_column(title, justify="right", overflow="fold")
    for each in found.systems:
        table.add_row(escape(each.system), *(f"{v:.4g}" for v in each[1:3]), _difference_of(each))
    return table


def _difference_of(each: Any) -> str:
    if each.difference is None:
        return "–"
    half = each.difference.half_width
    if half == 0.0 == each.difference.mean:
        return "0"
    band = "" if half is None else f" ± {half:.2g}"
    return f"{each.difference.mean:+.3g}{band}"
