"""``fedbandits privacy``."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from fedbandits.cli.options import Assignments
from fedbandits.errors import ConfigError


def privacy(
    config: Annotated[
        pathlib.Path | None, typer.Argument(metavar="CONFIG.toml", help="Whose systems.")
    ] = None,
    assignments: Assignments = None,
    every: Annotated[
        bool, typer.Option("--all", help="All presets instead, in worlds of reference.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a page of Markdown.")] = False,
    ledger: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", help="A privacy ledger: what was spent, and what is left."),
    ] = None,
) -> None:
    """Show what every system would claim and spend, before anything runs.

    With --ledger: check a deployment's ledger, and show what its parties have spent.
    """
    from fedbandits.cli import console
    from fedbandits.settings.experiment import load

    if ledger is not None:
        console.show_ledger(ledger)
        if config is None and not every:
            return
    from fedbandits.experiments import claims_page

    if every == (config is not None) or (every and assignments):
        raise ConfigError("privacy: name a CONFIG.toml, or give --all and nothing else to change")
    if config is None:
        claims, page = claims_page.reference_claims(), claims_page.reference_page
    else:
        experiment = load(config, assignments or [])
        experiment.check()
        claims, page = experiment.claims(), claims_page.claims_markdown
    if markdown:
        typer.echo(page(claims), nl=False)
        return
    shown = console.output()
    for label, claim in claims.items():
        shown.print(console.claim_table(label, claim))
