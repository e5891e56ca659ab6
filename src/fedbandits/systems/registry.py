"""Where systems are found: built in, registered by a call, or offered by installed packages."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

from fedbandits.errors import ConfigError
from fedbandits.systems.base import System

#: Folders of the systems that come with this package, in the order in which they are listed.
BUILT_IN = (
    "feducb",
    "feducb_p2p",
    "fedlinucb_async",
    "fclub",
    "samba",
    "pfcb",
    "fclub_published",
)
#: Packages offer systems under this name.
ENTRY_POINTS = "fedbandits.systems"

_registered: dict[str, System[Any]] = {}


def register(system: System[Any]) -> None:
    """Make a system known for as long as this process runs.

    Raises
    ------
    ConfigError
        If its name, or that of one of its presets, is taken by another system.
    """
    known = {preset: other.name for other in systems() for preset in other.presets}
    if any(other.name == system.name and other is not system for other in systems()):
        raise ConfigError(f"system {system.name!r} is registered already")
    for preset in system.presets:
        if known.get(preset, system.name) != system.name:
            raise ConfigError(f"preset {preset!r} belongs to system {known[preset]!r} already")
    _registered[system.name] = system


@functools.cache
def _built_in(folder: str) -> System[Any]:
    """A system of this package; it is imported when it is looked for."""
    system: System[Any] = importlib.import_module(f"fedbandits.systems.{folder}").SYSTEM
    return system


@functools.cache
def _offered() -> tuple[System[Any], ...]:
    """Systems that other packages offer.

    Raises
    ------
    ConfigError
        If one has a name that is taken.
    """
    found: dict[str, System[Any]] = {}
    for point in entry_points(group=ENTRY_POINTS):
        system: System[Any] = point.load()
        if system.name in found or system.name in BUILT_IN:
            raise ConfigError(f"{point.value}: system {system.name!r} is known already")
        found[system.name] = system
    return tuple(found.values())


def _all() -> Iterator[System[Any]]:
    """Every system; those that take long to find come last."""
    yield from map(_built_in, BUILT_IN)
    yield from _registered.values()
    yield from _offered()


def systems() -> list[System[Any]]:
    """Every system."""
    return list(_all())


def find_system(name: str) -> System[Any]:
    """The system of that name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if name in BUILT_IN:
        return _built_in(name)
    for system in _all():
        if system.name == name:
            return system
    raise ConfigError(
        f"no system is called {name!r}; known: {', '.join(s.name for s in systems())}"
    )


def find_preset(name: str) -> System[Any] | None:
    """The system that a preset belongs to; None if there is no such preset."""
    return next((system for system in _all() if name in system.presets), None)


def preset_names() -> list[str]:
    """Names of all presets of all systems."""
    return [name for system in systems() for name in system.presets]
