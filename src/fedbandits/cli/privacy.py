"""``fedbandits privacy``."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from fedbandits.cli.completion import configurations
from fedbandits.cli.options import Assignments
from fedbandits.errors import ConfigError


def privacy(
    files: Annotated[
        list[pathlib.Path] | None,
        typer.Argument(
            metavar="CONFIG.toml",
            help="A configuration, or an example that comes along. After --ledger also further "
            "ledgers.",
            autocompletion=configurations,
        ),
    ] = None,
    assignments: Assignments = None,
    every: Annotated[
        bool, typer.Option("--all", help="All presets instead, in worlds of reference.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a page of Markdown.")] = False,
    ledger: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            metavar="FILE...",
            help="A privacy ledger: what was spent, and what is left. Of several, also what they "
            "have cost the same records together.",
        ),
    ] = None,
) -> None:
    """Show what every system would claim and spend, before anything runs.

    With --ledger: check a deployment's ledger, and show what its parties have spent. With several,
    as --ledger A.db B.db, also what federations that had the same records cost them together.
    """
    from fedbandits.cli import console, ledgers
    from fedbandits.settings.experiment import load

    configs, further = list(files or []), list[pathlib.Path]()
    if ledger:
        further = [file for file in configs if file.suffix != ".toml"]
        configs = [file for file in configs if file.suffix == ".toml"]
        ledgers.show_ledgers([*ledger, *further])
        if not configs and not every:
            return
    if len(configs) > 1:
        raise ConfigError("privacy: name one CONFIG.toml")
    config = configs[0] if configs else None
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
