"""Environments by their kind: built in, registered by a call, or offered by packages."""

from __future__ import annotations

import functools
import importlib
import re
import warnings
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from typing import Any

from fedbandits._suggest import did_you_mean
from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError, ConfigWarning

#: The environments of this package by their kind, in the order in which they are listed.
BUILT_IN = {
    "linear": "linear.Linear",
    "classification": "classification.Classification",
    "ratings": "ratings.RatingData",
    "table": "data_table.Table",
    "bernoulli": "bernoulli.Bernoulli",
    "procurement": "procurement.Procurement",
    "clustered": "clustered.Clustered",
}
#: Packages offer environments under this name.
ENTRY_POINTS = "fedbandits.environments"
#: Code that a configuration names is imported under a name that begins so. A file called random.py
#: does not hide Python's own then.
MODULE_PREFIX = "fedbandits_module_"

#: What worlds and presets may be called: a word that shells, files and tables take.
NAME = re.compile(r"\w[\w-]{0,59}\Z")
#: The same in words.
NAMES_ARE = "up to 60 letters, digits, _ and -, not beginning with -"

_registered: dict[str, type[Environment]] = {}


def kind_of(environment: Environment | type[Environment]) -> str:
    """Return the ``kind`` of ``environment``: its name in a configuration."""
    cls = environment if isinstance(environment, type) else type(environment)
    return str(cls.__struct_config__.tag)


def register_environment(environment: type[Environment]) -> None:
    """Make an environment known for as long as this process runs.

    An earlier one of the same class name and module is replaced: a notebook's cell runs twice.
    Raises ConfigError if its kind is taken, or is no name.
    """
    _refuse_stranger(environment)
    kind = kind_of(environment)
    if not (isinstance(environment.__struct_config__.tag, str) and NAME.match(kind)):
        raise ConfigError(f"environment {kind!r}: allowed as a tag: {NAMES_ARE}")
    there = find_or_none(kind)
    if there is not None and not _is_again(environment, there):
        raise ConfigError(
            f"environment {kind!r}: the kind is taken by {there.__module__}.{there.__qualname__}; "
            "give yours another tag"
        )
    _registered[kind] = environment


def environments() -> dict[str, type[Environment]]:
    """Return all environments that are known, by their kind."""
    return dict(_all())


def find_environment(kind: str) -> type[Environment]:
    """Find the environment whose kind is ``kind``.

    Raises
    ------
    ConfigError
        If there is none.
    """
    environment = find_or_none(kind)
    if environment is None:
        known = environments()
        raise ConfigError(
            f"given {kind!r}, {did_you_mean(kind, known)}allowed: {', '.join(map(repr, known))}; "
            'register your own with fb.register, or with module = "FILE.py"'
        )
    return environment


def find_or_none(kind: str) -> type[Environment] | None:
    """Find the environment of a kind; None if there is none."""
    return next((found for name, found in _all() if name == kind), None)


def modules_of_registered() -> set[str]:
    """List the modules that have registered environments, by name."""
    return {environment.__module__ for environment in _registered.values()}


def refuse_registered(kind: str) -> None:
    """Refuse, by ConfigError, an environment that this process alone knows, for runs elsewhere.

    One that a module registers which the configuration names is known there too.
    """
    if kind in _registered and not _registered[kind].__module__.startswith(MODULE_PREFIX):
        raise ConfigError(
            f"environment {kind!r} was registered in this process, which is not visible on the "
            'machines of a cluster; name its module in the configuration (module = "FILE.py"), or '
            f"let a package offer it under the entry point {ENTRY_POINTS!r}"
        )


def _all() -> Iterator[tuple[str, type[Environment]]]:
    """Go through every environment; those that take long to find come last."""
    for kind in BUILT_IN:
        yield kind, _built_in(kind)
    yield from list(_registered.items())  # somebody may register while it is read
    yield from _offered()


@functools.cache
def _built_in(kind: str) -> type[Environment]:
    module, name = BUILT_IN[kind].split(".")
    environment: type[Environment] = getattr(
        importlib.import_module(f"fedbandits.environments.{module}"), name
    )
    return environment


@functools.cache
def _offered() -> tuple[tuple[str, type[Environment]], ...]:
    """Find environments that other packages offer; one that cannot be had is warned of."""
    offered: dict[str, type[Environment]] = {}
    for point in entry_points(group=ENTRY_POINTS):
        try:
            environment = point.load()
            _refuse_stranger(environment)
            _refuse_taken(kind_of(environment), [*BUILT_IN, *offered])
        except Exception as error:  # whatever another package does must not keep this one from use
            warnings.warn(
                f"the environment that {point.value} offers is left out: {error}",
                ConfigWarning,
                stacklevel=2,
            )
        else:
            offered[kind_of(environment)] = environment
    return tuple(offered.items())


def _refuse_stranger(environment: Any) -> None:
    if not (isinstance(environment, type) and issubclass(environment, Environment)):
        raise ConfigError(f"{environment!r} is not a subclass of fb.environments.Environment")


def _refuse_taken(kind: str, taken: Iterable[str]) -> None:
    if kind in taken:
        raise ConfigError(f"environment {kind!r} exists already")


def _is_again(one: type, other: type) -> bool:
    """Tell whether a class was defined anew, as in a notebook or a module that is read again."""
    named = (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    return one is other or (named and not one.__module__.startswith("fedbandits."))
