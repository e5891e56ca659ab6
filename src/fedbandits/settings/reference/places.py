"""Every key of every configuration, with its owners, for ``fedbandits explain``."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fedbandits.environments import Environment
from fedbandits.environments import registry as worlds
from fedbandits.settings.experiment import Experiment, ExperimentKeys, Variant
from fedbandits.settings.modules import ModuleKeys
from fedbandits.settings.reference.keys import Key, Part, keys_of, nested
from fedbandits.settings.sweep_keys import SweepKeys
from fedbandits.settings.toml_files import steps_in
from fedbandits.systems.base import System
from fedbandits.systems.registry import BUILT_IN, find_system

#: Keys of an experiment that are tables of their own.
_TABLES = {
    "environment": "a table [environment], with a kind and the keys of that kind",
    "systems": "tables [[systems]], one for each, with a preset and its keys",
    "module_digests": "a table",
    "sweep": 'a table [sweep] of keys, each with the list of its values: "systems.*.epsilon" = '
    "[0.3, 1.0]",
}


class Place(NamedTuple):
    """A key, its place in a file, and its owners."""

    #: The key; its path begins at the root of a file, as ``systems.epsilon``.
    key: Key
    #: Systems or kinds of environment with this key; empty for all experiments.
    owners: tuple[str, ...]


def built_in_systems() -> list[System[Any]]:
    """Return the systems of this package, without running other packages' code."""
    return [find_system(name) for name in BUILT_IN]


def built_in_environments() -> dict[str, type[Environment]]:
    """Return the environments of this package, by kind, without running other packages' code."""
    return {kind: worlds.find_environment(kind) for kind in worlds.BUILT_IN}


def experiment_keys() -> tuple[Key, ...]:
    """Return the keys of an experiment that belong to no system and no environment."""
    keys = (
        *keys_of(ExperimentKeys, documented=Experiment),
        *keys_of(ModuleKeys),
        *keys_of(SweepKeys),
    )
    return tuple(
        key._replace(allowed=_TABLES[key.path], type_in_words="a table", parts=())
        if key.path in _TABLES
        else key
        for key in keys
    )


def entry_keys() -> tuple[Key, ...]:
    """Return the keys that every table of ``[[systems]]`` can have."""
    words = {
        "preset": "a preset's name; `fedbandits list` shows them all",
        "label": "up to 60 printable characters, not beginning with _ or a space",
    }
    defaults = {"preset": None, "label": ""}
    keys = keys_of(Variant)
    return tuple(
        key._replace(allowed=words[key.path], default=defaults[key.path])
        for key in keys
        if key.path in words
    )


@functools.cache
def places() -> tuple[Place, ...]:
    """Return every key with its path from the root of a file, once for all owners that agree."""
    owners_of: dict[Key, list[str]] = {key: [] for key in experiment_keys()}
    known = built_in_environments()
    kinds = ", ".join(f'"{kind}"' for kind in known)
    which = Key("environment.kind", "a word", None, kinds, "Which environment it is.")
    owners_of[which] = []
    for kind, environment in known.items():
        for key in nested(_below("environment", keys_of(environment))):
            owners_of.setdefault(key, []).append(kind)
    for key in _below("systems", entry_keys()):
        owners_of[key] = []
    for system in built_in_systems():
        for key in nested(_below("systems", keys_of(system.config_type))):
            owners_of.setdefault(key, []).append(system.name)
    return tuple(Place(key, tuple(owners)) for key, owners in owners_of.items())


def find_places(asked: str, among: Iterable[Place]) -> list[Place]:
    """Return the places of a key whose path is given in part, or with a system's label.

    ``factor``, ``schedule.factor``, ``systems.0.schedule.factor`` and ``systems.growing.factor``
    all lead to ``systems.schedule.growing.factor``.
    """
    steps, among = steps_in(asked), list(among)
    if steps[:1] == ["systems"] and len(steps) > 2:
        return _matching(steps, among) or _matching(["systems", *steps[2:]], among)
    return _matching(steps, among)


@functools.cache
def parts() -> dict[str, list[tuple[Part, str, str]]]:
    """Return the parts of configurations by kind, each with the path and the owner of its key."""
    owners = {system.name: keys_of(system.config_type) for system in built_in_systems()}
    owners |= {kind: keys_of(world) for kind, world in built_in_environments().items()}
    known: dict[str, list[tuple[Part, str, str]]] = {}
    for owner, keys in owners.items():
        for key in nested(keys):
            for part in key.parts:
                known.setdefault(part.name, []).append((part, key.path, owner))
    return known


def _matching(steps: list[str], among: list[Place]) -> list[Place]:
    """Return the matching places, shortest paths first; a complete path matches only itself."""
    exact = [place for place in among if place.key.path.split(".") == steps]
    if exact and len(steps) > 1:
        return exact
    fitting = [place for place in among if _fits(steps, place.key.path.split("."))]
    return sorted(fitting, key=lambda place: place.key.path.count("."))


def _fits(steps: list[str], path: list[str]) -> bool:
    """Tell whether steps lead to the end of a path, with any of its steps left out."""
    if not steps or steps[-1] != path[-1]:
        return False
    remaining = iter(path)
    return all(step in remaining for step in steps)


def _below(table: str, keys: tuple[Key, ...]) -> tuple[Key, ...]:
    return tuple(
        key._replace(
            path=f"{table}.{key.path}",
            parts=tuple(part._replace(keys=_below(table, part.keys)) for part in key.parts),
        )
        for key in keys
    )


def paths() -> Iterator[str]:
    """Iterate over every path and its last step, for suggestions."""
    for place in places():
        yield place.key.path
        yield place.key.name
