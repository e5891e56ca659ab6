"""Arguments that several commands take."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from fedbandits.cli.completion import configurations

ConfigFile = Annotated[
    pathlib.Path,
    typer.Argument(
        metavar="CONFIG.toml",
        help="A configuration, or an example that comes along: quickstart, linear, shops, …",
        autocompletion=configurations,
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="key.path=value",
        help="Change one key, e.g. systems.0.epsilon=2, systems.LABEL.delta=0.1, "
        "systems.*.exploration_scale=0.1, rounds=1000. May be repeated.",
    ),
]
SweptKeys = Annotated[
    list[str] | None,
    typer.Option(
        "--sweep",
        metavar="key.path=value,value,…",
        help="Run it for each of these values, e.g. systems.*.epsilon=0.1,1,10 or "
        "environment.agents=5:40:lin8. Several keys make a grid. May be repeated.",
    ),
]
OutputFolder = Annotated[
    pathlib.Path | None, typer.Option(help="Output folder.  [default: runs/NAME]")
]
