"""``fedbandits list`` and ``fedbandits explain``: names of presets and others, and meanings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fedbandits.cli.options import explained_names, listed_names

if TYPE_CHECKING:
    from fedbandits.cli.console import Page
    from fedbandits.settings.reference.places import Place


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
    """List systems, presets, environments, examples and figures; with a NAME all facts of it.

    Offers of installed packages are named. Their code is not run unless NAME asks for one.
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
        page.facts((name, preset.description) for name, preset in system.presets.items())
    page.title("", "environments", "the kinds of worlds that systems play in")
    page.facts((kind, summary_of(world)) for kind, world in built_in_environments().items())
    page.title("", "examples", "experiments to begin with: fedbandits run NAME")
    page.facts((one.name, f"{one.shows} Takes {one.takes}.") for one in examples().values())
    page.title("", "figures", "of the papers: fedbandits reproduce NAME")
    page.facts((name, f"{figure.title} ({figure.source})") for name, figure in FIGURES.items())
    offered = [(point, f"{kind} offered by {package}") for kind, point, package in offers()]
    if offered:
        page.title("", "from other packages", "their code is run when a name is asked for")
        page.facts(offered)
    page.title("", "fedbandits list NAME", "all about one of them")
    page.title("", "fedbandits explain KEY", "what a key, a column or a term means")


def explain(
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY",
            help="A key, alone or with its path; a column; a term; an exit code.",
            autocompletion=explained_names,
        ),
    ],
) -> None:
    """Explain a key of a configuration, a column of results, or a term of a report."""
    from fedbandits.cli.console import Page
    from fedbandits.errors import ConfigError
    from fedbandits.settings.reference.places import find_places, places

    page = Page()
    known = places()
    keys = find_places(key, known)
    for place in keys:
        _place(page, place)
    words = _words(key)
    for where, word, meaning in words:
        page.title("", word, where)
        page.text(meaning)
    if any(place.key.path.startswith("systems.") for place in keys):
        page.title("", "fedbandits list PRESET", "a preset's own defaults, which may differ")
    if not keys and not words:
        raise ConfigError(_unknown(key, known))


def _place(page: Page, place: Place) -> None:
    key = place.key
    page.title("key", key.path)
    owners = ", ".join(place.owners) or "every experiment"
    page.facts(
        [
            ("means", key.meaning),
            ("allowed", key.allowed),
            ("default", "must be given" if key.default is None else key.default or "none"),
            ("belongs to", owners if key.path != "systems.preset" else "every system"),
        ]
    )
    page.parts(key.parts, 4)


def _words(asked: str) -> list[tuple[str, str, str]]:
    """Find columns, variables, terms and exit codes by name: the table, the name, the meaning."""
    from fedbandits.cli.help import meanings
    from fedbandits.settings.reference.glossary import WORDS

    known = {**WORDS, "an exit code": {str(code): text for code, text in meanings().items()}}
    return [
        (where, word, meaning)
        for where, words in known.items()
        for word, meaning in words.items()
        if word.casefold() == asked.casefold()
    ]


def _unknown(asked: str, known: Sequence[Place]) -> str:
    from fedbandits._suggest import did_you_mean

    if asked in listed_names(asked):
        return f"explain: {asked!r} is no key; `fedbandits list {asked}` says what it is"
    paths = [place.key.path for place in known]
    close = did_you_mean(asked, [*(path.rpartition(".")[2] for path in paths), *paths, *_terms()])
    return (
        f"explain: given {asked!r}, {close}allowed: a key of a configuration, a column of "
        "summary.csv, a term of a report; `fedbandits list PRESET` shows the keys of a preset"
    )


def _terms() -> list[str]:
    from fedbandits.settings.reference.glossary import WORDS

    return [word for words in WORDS.values() for word in words]
