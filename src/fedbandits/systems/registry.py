"""The registry of systems: built in, registered by a call, or offered by installed packages."""

from __future__ import annotations

import functools
import hashlib
import importlib
import pathlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from typing import Any, TypeVar

from fedbandits.environments.base import Environment
from fedbandits.environments.registry import MODULE_PREFIX, NAME, NAMES_ARE, register_environment
from fedbandits.errors import ConfigError, ConfigWarning
from fedbandits.learners.learner import Learner, refuse_unfinished
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
#: Packages offer systems, and learners in plain Python, under these names.
ENTRY_POINTS = "fedbandits.systems"
LEARNER_POINTS = "fedbandits.learners"

_registered: dict[str, System[Any]] = {}


def register_system(system: System[Any]) -> None:
    """Make a system known for as long as this process runs.

    An earlier one of the same class name and module is replaced: a notebook's cell runs twice.

    Raises
    ------
    ConfigError
        If its name, or that of one of its presets, is taken by another system, or a preset's is no
        name.
    """
    for preset in system.presets:
        if not NAME.match(preset):
            raise ConfigError(f"preset {preset!r}: allowed as a name: {NAMES_ARE}")
    others = [other for other in systems() if not _is_again(system, other)]
    if system not in others:
        _refuse_taken(system, others)
        _registered[system.name] = system


def _is_again(system: System[Any], other: System[Any]) -> bool:
    """Tell whether a registered system was defined anew, as in a notebook."""
    if other is not _registered.get(system.name):
        return False
    one, two = class_of(system), class_of(other)
    return (one.__module__, one.__qualname__) == (two.__module__, two.__qualname__)


def modules_of_registered() -> set[str]:
    """Return names of the modules that have registered systems or learners."""
    return {class_of(system).__module__ for system in _registered.values()}


def refuse_registered(names: Iterable[str]) -> None:
    """Refuse systems that this process alone knows, for those that others are to play.

    Raises
    ------
    ConfigError
        If there are some.
    """
    for name in names:
        if name in _registered and not class_of(_registered[name]).__module__.startswith(
            MODULE_PREFIX
        ):
            raise ConfigError(
                f"system {name!r} was registered in this process, which is not visible on the "
                'machines of a cluster; name its module in the configuration (module = "FILE.py"), '
                f"or let a package offer it under the entry point {ENTRY_POINTS!r}"
            )


def code_of(system: System[Any]) -> str:
    """Return a system's digest of code; empty for this package's, known by its version and text."""
    if system.name in BUILT_IN:
        return ""
    return text_of(class_of(system))


def class_of(system: System[Any]) -> type:
    """Return the class that somebody wrote: a learner's own, where a system wraps one."""
    found: type = getattr(system, "learner", type(system))
    return found


def text_of(cls: type) -> str:
    """Hash the file that a class stands in, or its whole folder where that is a package.

    Empty for this package's own, and for modules that a configuration names: it has their digests.
    """
    if cls.__module__.startswith(("fedbandits.", MODULE_PREFIX)):
        return ""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is None:
        return "unknown"
    path, found = pathlib.Path(file), hashlib.sha256()
    try:
        for each in sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]:
            found.update(each.read_bytes())
    except OSError:  # it was there when it was imported
        return "unknown"
    return found.hexdigest()


def _refuse_taken(system: System[Any], others: Iterable[System[Any]]) -> None:
    for other in others:
        if other.name == system.name:
            raise ConfigError(f"system {system.name!r} is registered already")
        for preset in system.presets:
            if preset in other.presets:
                raise ConfigError(f"preset {preset!r} belongs to system {other.name!r} already")


@functools.cache
def _built_in(folder: str) -> System[Any]:
    """Import a system of this package when it is looked for."""
    system: System[Any] = importlib.import_module(f"fedbandits.systems.{folder}").SYSTEM
    return system


@functools.cache
def _offered() -> tuple[System[Any], ...]:
    """Load systems that other packages offer. One that cannot be had is warned of and left out."""
    found = [_built_in(folder) for folder in BUILT_IN]
    for point in [*entry_points(group=ENTRY_POINTS), *entry_points(group=LEARNER_POINTS)]:
        try:
            system = _as_system(point.load())
            _refuse_taken(system, found)
        except Exception as error:  # whatever another package does must not keep this one from use
            warnings.warn(
                f"the system that {point.value} offers is left out: {error}",
                ConfigWarning,
                stacklevel=2,
            )
        else:
            found.append(system)
    return tuple(found[len(BUILT_IN) :])


def _as_system(found: Any) -> System[Any]:
    """Return a system, or that of a learner; refuse everything else."""
    if isinstance(found, type) and issubclass(found, Learner):
        from fedbandits.systems.python_learners import LearnerSystem

        return LearnerSystem(found)
    if not isinstance(found, System):
        raise ConfigError(f"{found!r} is not a fedbandits.systems.System")
    return found


def _all() -> Iterator[System[Any]]:
    """Iterate over every system; those that take long to find come last."""
    yield from map(_built_in, BUILT_IN)
    yield from list(_registered.values())  # somebody may register while it is read
    yield from _offered()


def systems() -> list[System[Any]]:
    """Return all systems that are known."""
    return list(_all())


def find_system(name: str) -> System[Any]:
    """Find the system whose name is ``name``.

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
    """Find the system to which the preset ``name`` belongs; None if there is no such preset."""
    return next((system for system in _all() if name in system.presets), None)


def preset_names() -> list[str]:
    """Return names of all presets of all systems."""
    return [name for system in systems() for name in system.presets]


AnyThing = TypeVar("AnyThing", bound=System[Any] | type[Environment] | type[Learner])


def register(thing: AnyThing) -> AnyThing:
    """Register an environment, a learner or a system; also as a decorator of a class.

    The registration lasts as long as this process. In a TOML file, ``module = "coins.py"`` names a
    module that registers something. An installed package registers its own through the entry points
    ``fedbandits.environments``, ``fedbandits.learners`` and ``fedbandits.systems``.

    Parameters
    ----------
    thing
        A subclass of :class:`fb.environments.Environment <.Environment>`, a subclass of
        :class:`fb.Learner <.Learner>`, or an instance of :class:`fb.System <.System>`.

    Returns
    -------
    The same thing.

    Raises
    ------
    ConfigError
        If ``thing`` is none of these, or its name is taken.
    LearnerError
        If a learner's settings cannot be used.
    """
    if isinstance(thing, System):
        register_system(thing)
    elif isinstance(thing, type) and issubclass(thing, Environment):
        register_environment(thing)
    elif isinstance(thing, type) and issubclass(thing, Learner):
        from fedbandits.systems.python_learners import LearnerSystem

        learner = LearnerSystem(thing)
        refuse_unfinished(thing)
        learner.config_type()  # a default that its type does not allow is refused here
        register_system(learner)
    else:
        raise ConfigError(
            f"register: given {thing!r}, allowed: a subclass of fb.environments.Environment or of "
            "fb.Learner, or an instance of fb.System"
        )
    return thing
