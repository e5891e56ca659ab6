"""Pages of keys, presets and words: what ``fedbandits explain`` and ``list`` say, as tables."""

from __future__ import annotations

from collections.abc import Iterable

from markdown import code, fence, plain, table

from fedbandits.cli.help import meanings
from fedbandits.reproduce import FIGURES
from fedbandits.settings.reference.docstrings import description_of
from fedbandits.settings.reference.glossary import WORDS
from fedbandits.settings.reference.keys import Key, keys_of, nested
from fedbandits.settings.reference.places import (
    built_in_environments,
    built_in_systems,
    entry_keys,
    experiment_keys,
)
from fedbandits.settings.reference.presets import (
    identifier,
    preset_function,
    settings_of_preset,
)
from fedbandits.settings.toml_files import examples as bundled


def presets() -> str:
    """A table of presets for each system."""
    worlds = built_in_environments()
    sections = []
    for system in built_in_systems():
        played = [kind for kind, world in worlds.items() if system.plays_in(world)]
        rows = [
            [f"[`{name}`](#preset-{name})", plain(preset.description), preset.stands_for]
            for name, preset in system.presets.items()
        ]
        sections += [
            f"## {system.name}",
            f"{plain(system.paper)}. It plays in {', '.join(map(code, played))}.",
            table(["preset", "what it is", "stands for"], rows),
        ]
    return "\n\n".join(sections)


def preset_functions() -> str:
    """Every preset as a function, with its defaults."""
    sections = []
    for system in built_in_systems():
        sections.append(f"## Presets of {system.name}")
        for name, preset in system.presets.items():
            given = [f"{each.name}={each.usual!r}" for each in settings_of_preset(system, name)]
            signature = ", ".join(["*", "label=None", *given])
            assert preset_function(system, name)  # noqa: S101 - it is there
            sections.append(
                f"(preset-{name})=\n"
                "````{eval-rst}\n"
                f".. py:function:: fedbandits.presets.{identifier(name)}({signature})\n\n"
                f"   {preset.description} Returns a :class:`fedbandits.Variant`.\n"
                "````\n\n"
                f"{{ref}}`Its keys <system-{system.name}>`\n"
            )
    return "\n\n".join(sections)


def experiment() -> str:
    """Keys of an experiment, and those that every system has."""
    return "\n\n".join(
        ["## An experiment", _keys(experiment_keys()), "## Every system", _keys(entry_keys())]
    )


def environments() -> str:
    """Keys of every environment."""
    sections = []
    for kind, world in built_in_environments().items():
        playing = [each.name for each in built_in_systems() if each.plays_in(world)]
        about = [plain(text) for text in description_of(world)]
        sections += [
            f"(environment-{kind})=\n### {kind}",
            *about,
            f"Who plays in it: {', '.join(map(code, playing))}.",
            _keys(keys_of(world)),
        ]
    return "\n\n".join(sections)


def systems() -> str:
    """Keys of every system."""
    sections = []
    for system in built_in_systems():
        sections += [
            f"(system-{system.name})=\n### {system.name}",
            f"{plain(system.paper)}. Its presets: {', '.join(map(code, system.presets))}. "
            "A preset may have other defaults: `fedbandits list PRESET` shows them.",
            _keys(keys_of(system.config_type)),
        ]
    return "\n\n".join(sections)


def words() -> str:
    """What columns, variables and terms mean."""
    return "\n\n".join(
        f"## {where.capitalize()}\n\n"
        + table(["", "what it means"], ([code(word), plain(text)] for word, text in known.items()))
        for where, known in WORDS.items()
    )


def exit_codes() -> str:
    """Exit codes of the command."""
    return table(["exit code", "what it means"],
                 ([str(number), plain(text)] for number, text in meanings().items()))  # fmt: skip


def examples() -> str:
    """The experiments that come with the package."""
    return "\n\n".join(
        f"### {name}\n\n{plain(example.shows)} {plain(example.takes)}\n\n"
        + fence("sh", f"fedbandits run {name}")
        for name, example in bundled().items()
    )


def figures() -> str:
    """The papers' figures."""
    rows = [[code(name), plain(f.title), plain(f.source)] for name, f in FIGURES.items()]
    return table(["figure", "what it shows", "source"], rows)


def _keys(keys: Iterable[Key]) -> str:
    rows = []
    for key in nested(tuple(keys)):
        default = "must be given" if key.default is None else code(key.default)
        shown = f"Allowed: {plain(key.allowed)}."
        rows.append([code(key.path), default, f"{plain(key.meaning)} {shown}".strip()])
    return table(["key", "default", "what it means"], rows)
