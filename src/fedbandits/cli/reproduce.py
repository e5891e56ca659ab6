"""``fedbandits reproduce``."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from fedbandits._suggest import close_names
from fedbandits.cli.options import OutputFolder, figures
from fedbandits.errors import ConfigError


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A figure; fedbandits list names them all.", autocompletion=figures
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="The paper's scale instead of a quick one.")
    ] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Data to make it from; fedbandits list says what it takes.",
        ),
    ] = None,
    out: OutputFolder = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Replicates side by side.  [default: all processors]")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what is complete, continue what is not.")
    ] = False,
) -> None:
    """Make a figure of a paper again: quick in minutes, or at the paper's scale.

    Writes figure.png, table.csv and remarks.md, and every experiment behind them into a folder of
    its own. The last line says whether the measurements agree with the paper. No figure needs a
    file: if the paper's data cannot be shipped, drawn data stand in for them, and are named.
    """
    from fedbandits.reproduce import FIGURES

    if name not in FIGURES:
        raise ConfigError(
            f"reproduce: given {name!r}, {close_names(name, FIGURES, 'fedbandits list')}"
        )
    figure = FIGURES[name]
    if data and not figure.data:
        raise ConfigError(f"--data: {name} takes no data; leave it out")
    # Only now: the error of a wrong name must not wait for the imports of a figure.
    from rich.markup import escape
    from rich.table import Column

    from fedbandits.cli import console
    from fedbandits.reproduce import Context, write_outcome

    folder = out or pathlib.Path("runs") / name
    if resume and not folder.exists():
        typer.echo(
            f"fedbandits: warning: resume: there is nothing to resume in {folder}. The figure "
            "starts from the beginning",
            err=True,
        )
    interrupted = "Interrupted: what is finished is kept; --resume goes on."
    with console.shown_progress(interrupted) as progress:
        context = Context(folder, full, data or [], jobs, resume, on_event=progress)
        outcome = figure.make(context)
    write_outcome(context, figure, outcome)
    shown, columns = console.output(), map(Column, outcome.rows[0])
    rows = (
        [f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()]
        for row in outcome.rows
    )
    shown.print(console.table(columns, rows, f"{figure.title} ({figure.source})"))
    for remark in outcome.remarks:
        shown.print(f"• {escape(remark)}")
    colour = "green" if outcome.verdict.agrees else "yellow"
    shown.print(f"[bold {colour}]{escape(outcome.verdict.line)}[/]")
    typer.echo(f"Figure: {folder / 'figure.png'}")
