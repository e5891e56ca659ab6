"""The ``fedbandits`` command."""

from __future__ import annotations

import io
import sys
import warnings
from typing import Annotated, TextIO

import typer

from fedbandits.cli import federation, party, samba
from fedbandits.cli.audit import audit
from fedbandits.cli.endings import code_of
from fedbandits.cli.explain import explain
from fedbandits.cli.init import init
from fedbandits.cli.list import list_everything
from fedbandits.cli.privacy import privacy
from fedbandits.cli.reproduce import reproduce
from fedbandits.cli.run import run
from fedbandits.errors import ConfigWarning, FedbanditsError

app = typer.Typer(
    help="Private federated bandits: simulate it, deploy it, prove it, with the same code.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from fedbandits import __version__

        typer.echo(f"fedbandits {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Private federated bandits: simulate it, deploy it, prove it, with the same code."""


for command in (run, privacy, audit, reproduce):
    app.command()(command)
app.command("list")(list_everything)
app.command()(explain)
app.command()(init)
for name, room in (("federation", federation), ("party", party), ("samba", samba)):
    app.add_typer(room.app, name=name)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """One line for what this package warns of; where in its code it does so helps nobody."""
    if issubclass(category, ConfigWarning):
        typer.echo(f"fedbandits: warning: {message}", err=True)
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        print(text, end="", file=file or sys.stderr)


def main() -> None:
    """Entry point: errors of this package end with one line and their exit code, most with 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may lack ε; that must not end a run
    warnings.showwarning = _show_warning
    try:
        app()
    except FedbanditsError as error:
        typer.echo(f"fedbandits: {error}", err=True)
        sys.exit(code_of(error))
