"""``fedbandits list``: everything that there is, or one of it in full."""

from __future__ import annotations

from typing import Annotated

import typer

from fedbandits.cli.options import listed_names


def list_everything(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A preset, system, environment, example, figure, or part such as growing.",
            autocompletion=listed_names,
        ),
    ] = None,
) -> None:
    """List what there is. With a NAME: everything about it, and lines to copy.

    What installed packages offer is named. Their code is not run unless NAME asks for it.
    """
    if name is not None:
        from fedbandits.cli.described import describe

        describe(name)
        return
    from fedbandits.cli.console import Page
    from fedbandits.cli.described import offers
    from fedbandits.reproduce import FIGURES
    from fedbandits.settings.reference.docstrings import summary_of
    from fedbandits.settings.reference.places import built_in_environments, built_in_systems
    from fedbandits.settings.toml_files import examples

    page = Page()
    for system in built_in_systems():
        page.title("system", system.name, system.paper)
        page.facts((preset, found.description) for preset, found in system.presets.items())
    page.title("", "environments", "the kinds of worlds that systems play in")
    page.facts((kind, summary_of(found)) for kind, found in built_in_environments().items())
    page.title("", "examples", "experiments to begin with: fedbandits run NAME")
    page.facts((each.name, f"{each.shows} Takes {each.takes}.") for each in examples().values())
    page.title("", "figures", "of the papers: fedbandits reproduce NAME")
    page.facts((each, f"{figure.title} ({figure.source})") for each, figure in FIGURES.items())
    offered = [(point, f"{kind} offered by {package}") for kind, point, package in offers()]
    if offered:
        page.title("", "from other packages", "their code is run when a name is asked for")
        page.facts(offered)
    page.title("", "fedbandits list NAME", "all about one of them")
    page.title("", "fedbandits explain KEY", "what a key, a column or a term means")
