"""The names that users of the package read the docstrings of, found by import."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from typing import Any

import msgspec

import fedbandits
import fedbandits.testing
from fedbandits.environments import environments
from fedbandits.settings.reference.presets import part_classes
from fedbandits.systems import systems

#: Modules that users read and that ``fedbandits.__all__`` does not lead to.
BESIDE = (
    "fedbandits.client",
    "fedbandits.deployment.door.settings",
    "fedbandits.deployment.process.folder",
    "fedbandits.deployment.process.own_settings",
    "fedbandits.environments.base",
    "fedbandits.facts",
    "fedbandits.environments.python",
    "fedbandits.experiments.result",
    "fedbandits.experiments.run",
    "fedbandits.recording.recording",
    "fedbandits.settings.federation",
    "fedbandits.settings.federation_file",
    "fedbandits.systems.base",
    "fedbandits.systems.guide",
)

_MEMBERS = (property, functools.cached_property, types.FunctionType, classmethod, staticmethod)


def public_names() -> dict[str, Any]:
    """Modules, classes, functions, methods and properties that users meet, each once, by name."""
    found: dict[str, Any] = {}
    for module in _modules():
        found[module.__name__] = module
        for name in _offered(module):
            _add(found, getattr(module, name))
    for struct in _settings():
        _add(found, struct)
    return dict(sorted(found.items()))


def _modules() -> Iterator[types.ModuleType]:
    waiting: list[Any] = [fedbandits, *map(importlib.import_module, BESIDE), *_suites()]
    seen = set()
    while waiting:
        module = waiting.pop()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        yield module
        if hasattr(module, "__all__"):
            things = [getattr(module, name) for name in module.__all__]
            waiting += [thing for thing in things if inspect.ismodule(thing)]


def _suites() -> Iterator[types.ModuleType]:
    """The contract suites: other packages import them, and they list their checks in ``CHECKS``."""
    for each in pkgutil.iter_modules(fedbandits.testing.__path__, "fedbandits.testing."):
        module = importlib.import_module(each.name)
        if hasattr(module, "CHECKS"):
            yield module


def _offered(module: types.ModuleType) -> list[str]:
    """What a module lists, or else what it defines itself, without underscore."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name in dir(module)
        if not name.startswith("_")
        and getattr(getattr(module, name), "__module__", None) == module.__name__
    ]


def _settings() -> Iterator[type]:
    """The structs that a configuration is made of: systems, environments and their parts."""
    waiting: list[type] = [*(each.config_type for each in systems()), *environments().values()]
    seen: set[type] = set()
    while waiting:
        struct = waiting.pop()
        if struct in seen:
            continue
        seen.add(struct)
        yield struct
        for field in msgspec.structs.fields(struct):
            waiting += part_classes(field.type)


def _add(found: dict[str, Any], thing: Any) -> None:
    module = getattr(thing, "__module__", "") or ""
    if inspect.ismodule(thing) or not module.startswith("fedbandits"):
        return
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return
    name = f"{module}.{thing.__qualname__}"
    if name in found:
        return
    found[name] = thing
    if inspect.isclass(thing):
        for base in thing.__mro__:
            if base.__module__.startswith("fedbandits"):
                _add_members(found, base)


def _add_members(found: dict[str, Any], kind: type) -> None:
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, _MEMBERS):
            # What a subclass says nothing of, the class above it has said.
            thing = getattr(member, "__func__", member)
            if inspect.getdoc(thing) or not _is_inherited(kind, name):
                found.setdefault(f"{kind.__module__}.{kind.__qualname__}.{name}", thing)


def _is_inherited(kind: type, name: str) -> bool:
    return any(name in vars(above) for above in kind.__mro__[1:])
