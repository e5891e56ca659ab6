"""``fedbandits studio``: the web page on this machine."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer


def studio(
    folder: Annotated[
        pathlib.Path,
        typer.Argument(metavar="FOLDER", help="Of runs, or of a federation's parties."),
    ] = pathlib.Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 8600,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    allow_modules: Annotated[
        bool,
        typer.Option("--allow-modules", help="Let a configuration name modules: code that is run."),
    ] = False,
) -> None:
    """Open a web page on this machine: set up, run, step, compare, attack and watch.

    It listens on this machine alone, needs no account and no network, and ends with Ctrl-C. What it
    plays is in FOLDER, as of fedbandits run. The address has a key in it: keep it to yourself.
    """
    import webbrowser

    from fedbandits.studio.server import serve

    def say(address: str) -> None:
        typer.echo(f"fedbandits studio: {address}\nCtrl-C ends it.")
        if not no_browser:
            webbrowser.open(address)

    serve(folder, port, allow_modules, say)
