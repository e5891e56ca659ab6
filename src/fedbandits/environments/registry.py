"""Environments by their kind: built in, registered by a call, or offered by other packages."""

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

#: The environments of this package by their kind, in the order of lists.
BUILT_IN = {
    "linear": "linear.Linear",
    "classification": "classification.Classification",
    "ratings": "ratings.RatingData",
    "table": "data_table.Table",
    "bernoulli": "bernoulli.Bernoulli",
    "procurement": "procurement.Procurement",
    "clustered": "clustered.Clustered",
}
#: The entry point under which packages offer environments.
ENTRY_POINTS = "fedbandits.environments"
#: Beginning of the import names of modules that a configuration names. So a file called random.py
#: does not hide Python's module.
MODULE_PREFIX = "fedbandits_module_"

#: Pattern of names of worlds and presets: words for shells, files and tables.
NAME = re.compile(r"\w[\w-]{0,59}\Z")
#: The pattern in words.
NAMES_ARE = "up to 60 letters, digits, _ and -, not beginning with -"

_registered: dict[str, type[Environment]] = {}


def kind_of(environment: Environment | type[Environment]) -> str:
    """Return the ``kind`` of ``environment``: its name in a configuration."""
    cls = environment if isinstance(environment, type) else type(environment)
    return str(cls.__struct_config__.tag)


def register_environment(environment: type[Environment]) -> None:
    """Make an environment known for as long as this process runs.

    An earlier environment of the same class name and module is replaced: a notebook's cell runs
    twice. Raises ConfigError if the kind is taken, or is no allowed name.
    """
    _refuse_stranger(environment)
    kind = kind_of(environment)
    if not (isinstance(environment.__struct_config__.tag, str) and NAME.match(kind)):
        raise ConfigError(f"environment {kind!r}: allowed as a tag: {NAMES_ARE}")
    known = find_or_none(kind)
    if known is not None and not _is_again(environment, known):
        raise ConfigError(
            f"environment {kind!r}: the kind is taken by {known.__module__}.{known.__qualname__}; "
            "give yours another tag"
        )
    _registered[kind] = environment


def environments() -> dict[str, type[Environment]]:
    """Return all known environments, by their kind."""
    return dict(_all())


def find_environment(kind: str) -> type[Environment]:
    """Return the environment whose kind is ``kind``.

    Raises
    ------
    ConfigError
        If the kind is unknown.
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
    """Return the environment of a kind; None if the kind is unknown."""
    return next((found for name, found in _all() if name == kind), None)


def modules_of_registered() -> set[str]:
    """List the modules that have registered environments, by name."""
    return {environment.__module__ for environment in _registered.values()}


def refuse_registered(kind: str) -> None:
    """Refuse, by ConfigError, an environment that only this process knows, for runs elsewhere.

    Other machines know an environment from a module that the configuration names.
    """
    if kind in _registered and not _registered[kind].__module__.startswith(MODULE_PREFIX):
        raise ConfigError(
            f"environment {kind!r} was registered in this process, which is not visible on the "
            'machines of a cluster; name its module in the configuration (module = "FILE.py"), or '
            f"let a package offer it under the entry point {ENTRY_POINTS!r}"
        )


def _all() -> Iterator[tuple[str, type[Environment]]]:
    """Yield every environment; those of other packages, which take long to find, come last."""
    for kind in BUILT_IN:
        yield kind, _built_in(kind)
    yield from list(_registered.items())  # a copy: another thread may register meanwhile
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
    """Find environments that other packages offer; warn about an unusable one."""
    offered: dict[str, type[Environment]] = {}
    for point in entry_points(group=ENTRY_POINTS):
        try:
            environment = point.load()
            _refuse_stranger(environment)
            _refuse_taken(kind_of(environment), [*BUILT_IN, *offered])
        except (
            Exception
        ) as error:  # no error of another package may prevent the use of this package
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


def _is_again(environment: type, earlier: type) -> bool:
    """Tell whether a class is a new definition of an earlier class, as in a notebook."""
    module = environment.__module__
    named = (module, environment.__qualname__) == (earlier.__module__, earlier.__qualname__)
    return environment is earlier or (named and not module.startswith("fedbandits."))
