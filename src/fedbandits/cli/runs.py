"""Commands on folders of runs: ``fedbandits runs``, ``compare``, ``report`` and ``studio``."""

from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from fedbandits.cli.console import folding, output, table, whole
from fedbandits.cli.options import AllowModules
from fedbandits.errors import ConfigError

if TYPE_CHECKING:
    from fedbandits.experiments.folder import RunComparison, StoredRun, SystemDifference

#: Most characters of the value of a setting.
_WIDEST = 48


def runs(
    folder: Annotated[
        pathlib.Path, typer.Argument(metavar="FOLDER", help="Where to look.")
    ] = pathlib.Path("runs"),
) -> None:
    """List the runs in a folder and its folders, with their status and their answer.

    Resume an interrupted run with: fedbandits run CONFIG.toml --out FOLDER --resume
    """
    from fedbandits.experiments.folder import find_runs

    stored = find_runs(folder)
    if not stored:
        typer.echo(f"{folder}: no runs")
        return
    output().print(_list_of(stored))


def _list_of(stored: list[StoredRun]) -> Table:
    columns = [
        *folding("folder", "status"),
        *whole("rounds", "runs"),
        Column("answer, or systems", ratio=1),
    ]
    rows = (
        (
            str(run.folder), run.status, f"{run.rounds:,}", str(run.replicates),
            run.headline or ", ".join(run.systems),
        )
        for run in stored
    )  # fmt: skip
    return table(columns, rows)


def compare(
    first: Annotated[pathlib.Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    second: Annotated[pathlib.Path, typer.Argument(metavar="RUN", help="That of another.")],
) -> None:
    """Compare two runs: only the settings that differ, and the results of common systems.

    Where both runs have the same world, rounds and seed, replicates are compared in pairs: both
    meet the same contexts and reward draws.
    """
    from fedbandits.experiments.folder import compare_runs

    comparison, console = compare_runs(first, second), output()
    if comparison.settings:
        console.print(_settings_of(comparison, str(first), str(second)))
    else:
        typer.echo("The settings of both runs are the same.")
    if comparison.systems:
        console.print(_systems_of(comparison, str(first), str(second)))
    elif comparison.units[0] == comparison.units[1]:
        typer.echo("No system has the same label in both.")
    else:
        typer.echo(
            f"Numbers are not compared: one run counts {comparison.units[0]}, the other "
            f"{comparison.units[1]}."
        )


def _settings_of(comparison: RunComparison, first: str, second: str) -> Table:
    rows = ((key, _short(one), _short(other)) for key, one, other in comparison.settings)
    return table(folding("key", first, second), rows, "Settings that differ")


def _short(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict):  # a system of one run alone
        value = value.get("preset", value.get("kind", value))
    text = str(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _systems_of(comparison: RunComparison, first: str, second: str) -> Table:
    how = (
        "The difference is over pairs of replicates, ± half of its 95% interval."
        if comparison.are_pairs
        else "Their worlds, rounds or seeds differ: there are no pairs to compare."
    )
    columns = [
        *folding("system", style="bold"),
        *folding(first, second, "difference", justify="right"),
    ]
    rows = (
        (both.system, f"{both.first:.4g}", f"{both.second:.4g}", _difference_of(both))
        for both in comparison.systems
    )
    return table(columns, rows, comparison.units[0], caption=how)


def _difference_of(both: SystemDifference) -> str:
    if both.difference is None:
        return "–"
    half = both.difference.half_width
    if half == 0.0 == both.difference.mean:
        return "0"
    band = "" if half is None else f" ± {half:.2g}"
    return f"{both.difference.mean:+.3g}{band}"


#: Sides of a plot in inches: smaller plots have no room for lines, larger plots fit no page.
_SMALLEST, _LARGEST = 2.0, 40.0


def report(
    folder: Annotated[
        pathlib.Path, typer.Argument(metavar="FOLDER", help="The folder of a run.", exists=False)
    ],
    plot_size: Annotated[
        str,
        typer.Option(metavar="WIDTHxHEIGHT", help="Size of plots in inches.  [default: 7.2x4]"),
    ] = "",
    font_size: Annotated[
        float, typer.Option(min=4.0, max=40.0, help="Size of text in plots, in points.")
    ] = 10.0,
) -> None:
    """Write the report and the plots of a run again, from its results.

    Nothing is played, and no code that the configuration names is run. Plots are written as PNG and
    as SVG, in the given size. The results in the folder do not change.
    """
    size = _size_of(plot_size)
    from fedbandits.experiments.output import rewrite_report
    from fedbandits.experiments.plots import Look

    kept = rewrite_report(folder, Look(size or Look().size, font_size))
    if kept:
        names = ", ".join(kept)
        typer.echo(f"Not drawn again, as code of the configuration would be run: {names}", err=True)
    typer.echo(f"Report: {folder / 'report.html'}")


def _size_of(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)", text.strip())
    sides = tuple(float(side) for side in match.groups()) if match else ()
    if len(sides) != 2 or not all(_SMALLEST <= side <= _LARGEST for side in sides):
        raise ConfigError(
            f"--plot-size: given {text}, allowed: WIDTHxHEIGHT in inches, each from {_SMALLEST:g} "
            f"to {_LARGEST:g}, for example 7x4"
        )
    return sides[0], sides[1]


def studio(
    folder: Annotated[
        pathlib.Path,
        typer.Argument(metavar="FOLDER", help="Of runs, or of a federation's parties."),
    ] = pathlib.Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 8600,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    allow_modules: AllowModules = False,
) -> None:
    """Open a web page on this machine: set up, run, step, compare, attack and watch.

    The studio listens on this machine alone, needs no account and no network, and ends with Ctrl-C.
    Its runs are in FOLDER, like those of fedbandits run. The address contains a key: keep the
    address to yourself.
    """
    import webbrowser

    from fedbandits.studio.server import serve

    def say(address: str, way: pathlib.Path) -> None:
        typer.echo(f"fedbandits studio: {address}\nCtrl-C ends it.")
        if not no_browser:
            webbrowser.open(way.as_uri())

    serve(folder, port, allow_modules, say)
