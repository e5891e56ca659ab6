"""A commented configuration to begin with: every key with its meaning, ready to run."""

from __future__ import annotations

import pathlib
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from fedbandits._suggest import close_names
from fedbandits.environments import Environment, environments
from fedbandits.errors import ConfigError
from fedbandits.settings.experiment import Variant, system
from fedbandits.settings.reference.docstrings import summary_of
from fedbandits.settings.reference.keys import Key, in_toml, keys_of
from fedbandits.settings.reference.places import experiment_keys
from fedbandits.settings.toml_files import NAME, examples
from fedbandits.systems.registry import find_preset, find_system, preset_names

#: Small numbers, so that every preset is done in seconds.
_ROUNDS, _REPLICATES = 1000, 2
_WIDTH = 96
_HEAD = (
    "Run it:                 fedbandits run {path}",
    "See what it promises:   fedbandits privacy {path}",
    "Try several values:     fedbandits run {path} --sweep rounds=500,1000",
    "",
    "Lines that begin with # and a space explain. Lines that begin with # and a key, such as "
    "#seed, show the default of that key: remove the # to change it.",
)
#: Keys of an experiment, in the order of the file.
_ORDER = ("name", "rounds", "replicates", "seed", "checkpoints", "module")


def template(sources: Sequence[str], path: str | pathlib.Path = "experiment.toml") -> str:
    """Write a configuration for presets of one environment, or copy one bundled example.

    The name of the file at ``path`` names the experiment too. Raises ConfigError for an unknown
    name, an example among others, or presets that share no environment.
    """
    presets = list(dict.fromkeys(sources))
    for source in presets:
        if source in examples() and (len(presets) == 1 or find_preset(source) is None):
            if len(presets) > 1:
                raise ConfigError(
                    f"init: {source!r} is an example; it is copied alone, or not at all"
                )
            return examples()[source].text
    variants = [_variant(preset) for preset in presets]
    kind, world = _shared_world(variants)
    name = pathlib.Path(path).stem
    given = {"rounds": str(_ROUNDS), "replicates": str(_REPLICATES)}
    given |= {"name": in_toml(name)} if re.match(NAME, name) else {}
    lines = [*comment(line.format(path=in_shell(path)) for line in _HEAD), *_head_lines(given)]
    lines += ["", *comment([f"The world: {summary_of(world)}"])]
    lines += ["[environment]", f"kind = {in_toml(kind)}", *_settings(keys_of(world))]
    seen: dict[str, Variant] = {}
    for variant in variants:
        lines += ["", *_system_lines(variant, seen.setdefault(variant.system, variant))]
    return "\n".join(lines) + "\n"


def _variant(preset: str) -> Variant:
    if find_preset(preset) is None:
        known = [*preset_names(), *examples()]
        raise ConfigError(
            f"init --from: given {preset!r}, {close_names(preset, known, 'fedbandits list')}"
        )
    return system(preset)


def _shared_world(variants: Iterable[Variant]) -> tuple[str, type[Environment]]:
    """Return the first environment that all variants play in, and that needs no settings."""
    worlds = environments()
    fitting = {
        variant.preset: [
            kind
            for kind, environment in worlds.items()
            if find_system(variant.system).plays_in(environment)
        ]
        for variant in variants
    }
    for kind, world in worlds.items():
        complete = all(key.default is not None for key in keys_of(world))
        if complete and all(kind in kinds for kinds in fitting.values()):
            return kind, world
    played = "; ".join(f"{preset} plays in {', '.join(k)}" for preset, k in fitting.items())
    raise ConfigError(f"init --from: these presets share no environment: {played}")


def _head_lines(given: Mapping[str, str]) -> list[str]:
    keys = {key.path: key for key in experiment_keys()}
    lines: list[str] = []
    for name in _ORDER:
        value = given.get(name)
        set_or_default = _assigned(keys[name]) if value is None else f"{name} = {value}"
        lines += ["", *_explained(keys[name]), set_or_default]
    return lines


def _system_lines(variant: Variant, first: Variant) -> list[str]:
    """Write one ``[[systems]]`` table; a second table of a system has the changed keys only."""
    played = find_system(variant.system)
    about = f"{variant.preset}: {played.presets[variant.preset].description}"
    lines = [*comment([about]), "[[systems]]", f"preset = {in_toml(variant.preset)}"]
    keys = keys_of(played.config_type, variant.config)
    if variant is first:
        label = f"#label = {in_toml(variant.label)}"
        return [
            *lines,
            "",
            *comment(["Its name in results, and in --set systems.LABEL.key=value."]),
            label,
            *_settings(keys),
        ]
    before = keys_of(played.config_type, first.config)
    other = [key for key, old in zip(keys, before, strict=True) if key.default != old.default]
    same = f"All keys are those of {first.preset}, with the same defaults but these:"
    return [*lines, *comment([same]), *(_assigned(key) for key in other)]


def _settings(keys: Iterable[Key]) -> list[str]:
    return [line for key in keys for line in ("", *_explained(key), _assigned(key))]


def _assigned(key: Key) -> str:
    """Write the key's default, as a comment that can become a line of TOML."""
    return f"#{key.path} = {key.default}" if key.default else f"# By default {key.path} is not set."


def _explained(key: Key) -> list[str]:
    lines = comment([key.meaning]) if key.meaning else []
    if not key.parts:
        return lines + comment([f"Allowed: {key.allowed}."])
    parts = [f"  {in_toml(part.written)}: {part.meaning}" for part in key.parts]
    words = [f"  {in_toml(word)}" for word in key.words]
    return lines + comment(["Allowed:", *words, *parts])


def comment(paragraphs: Iterable[str]) -> list[str]:
    """Write paragraphs as comments; further lines of an indented paragraph are indented more."""
    lines: list[str] = []
    for text in paragraphs:
        indent = len(text) - len(text.lstrip())
        further = " " * (indent + 4 if indent else 0)
        lines += textwrap.wrap(
            text,
            _WIDTH,
            subsequent_indent=further,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return [f"# {line}".rstrip() for line in lines]


def in_shell(path: str | pathlib.Path) -> str:
    """Write a path for a shell: in quotation marks if necessary."""
    return f"{path}" if re.fullmatch(r"[\w./:\\~+-]+", f"{path}") else f'"{path}"'
