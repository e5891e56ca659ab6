"""Arguments that several commands share, and the names that a shell completes.

Names are found without imports that take long.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer


def listed_names(incomplete: str) -> list[str]:
    """Return the names that ``fedbandits list`` takes."""
    from fedbandits.settings.reference.places import built_in_environments, built_in_systems, parts

    systems = built_in_systems()
    names = [system.name for system in systems]
    names += [*built_in_environments(), *_examples(), *_figures(), *parts()]
    return _begin([*_presets(), *names], incomplete)


def explained_names(incomplete: str) -> list[str]:
    """Return the names that ``fedbandits explain`` takes."""
    from fedbandits.settings.reference.glossary import WORDS
    from fedbandits.settings.reference.places import paths

    words = (word for known in WORDS.values() for word in known if " " not in word)
    return _begin([*paths(), *words], incomplete)


def sources(incomplete: str) -> list[str]:
    """Return the names that ``fedbandits init --from`` takes: presets and examples."""
    return _begin([*_presets(), *_examples()], incomplete)


def figures(incomplete: str) -> list[str]:
    """Return the names of all figures."""
    return _begin(_figures(), incomplete)


def configurations(incomplete: str) -> list[str]:
    """Return bundled examples, and the TOML files and folders that complete a path."""
    begun = pathlib.Path(incomplete)
    folder = begun if incomplete.endswith("/") else begun.parent
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        paths = []
    files = [str(path) for path in paths if path.suffix == ".toml"]
    files += [f"{path}/" for path in paths if path.is_dir() and not path.name.startswith(".")]
    return _begin([*_examples(), *files], incomplete)


def _presets() -> Iterator[str]:
    from fedbandits.settings.reference.places import built_in_systems

    for system in built_in_systems():
        yield from system.presets


def _examples() -> Iterable[str]:
    from fedbandits.settings.toml_files import examples

    return examples()


def _figures() -> Iterable[str]:
    from fedbandits.reproduce import FIGURES

    return FIGURES


def _begin(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


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
AllowModules = Annotated[
    bool,
    typer.Option(
        "--allow-modules",
        help="Let the configuration name modules. Their code runs with your rights: read it first.",
    ),
]
OutputFolder = Annotated[
    pathlib.Path | None, typer.Option(help="Output folder.  [default: runs/NAME]")
]
