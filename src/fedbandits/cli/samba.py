"""``fedbandits samba``: what SAMBA's customer does."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

app = typer.Typer(help="SAMBA's customer.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """SAMBA's customer: orders a run, and alone learns what it has earned."""


@app.command("order", epilog="Example: fedbandits samba order clinics/customer")
def order(
    folder: Annotated[
        pathlib.Path, typer.Argument(metavar="DIR/NAME", help="The customer's folder.")
    ],
) -> None:
    """Order the run that the terms describe, and wait for its total.

    Where the customer runs already, that one is asked; else it runs until the total is here.
    """
    from fedbandits.deployment.process.local_doors import order as ordered

    total = ordered(folder, lambda line: typer.echo(line, err=True))
    typer.echo(f"total: {total}")
