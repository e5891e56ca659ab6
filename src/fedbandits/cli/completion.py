"""Names that a shell completes. They are found without what takes long to import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def listed_names(incomplete: str) -> list[str]:
    """What ``fedbandits list`` can be asked for."""
    from fedbandits.settings.reference.places import built_in_environments, built_in_systems, parts

    systems = built_in_systems()
    names = [system.name for system in systems]
    names += [*built_in_environments(), *_examples(), *_figures(), *parts()]
    return _begin([*_presets(), *names], incomplete)


def explained_names(incomplete: str) -> list[str]:
    """What ``fedbandits explain`` can be asked for."""
    from fedbandits.settings.reference.glossary import WORDS
    from fedbandits.settings.reference.places import paths

    words = (word for known in WORDS.values() for word in known if " " not in word)
    return _begin([*paths(), *words], incomplete)


def sources(incomplete: str) -> list[str]:
    """What ``fedbandits init --from`` takes: presets and examples."""
    return _begin([*_presets(), *_examples()], incomplete)


def figures(incomplete: str) -> list[str]:
    """Figures that can be made again."""
    return _begin(_figures(), incomplete)


def configurations(incomplete: str) -> list[str]:
    """Bundled examples, and TOML files and folders that a path may go on with."""
    import pathlib

    begun = pathlib.Path(incomplete)
    folder = begun if incomplete.endswith("/") else begun.parent
    try:
        there = sorted(folder.iterdir())
    except OSError:
        there = []
    files = [str(path) for path in there if path.suffix == ".toml"]
    files += [f"{path}/" for path in there if path.is_dir() and not path.name.startswith(".")]
    return _begin([*_examples(), *files], incomplete)


def _presets() -> Iterator[str]:
    from fedbandits.settings.reference.places import built_in_systems

    for system in built_in_systems():
        yield from system.presets


def _examples() -> Iterable[str]:
    from fedbandits.settings.examples import examples

    return examples()


def _figures() -> Iterable[str]:
    from fedbandits.reproduce import FIGURES

    return FIGURES


def _begin(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]
