"""The types of ``fb.presets`` for editors.

``python -m fedbandits.settings.reference.stubs`` writes them.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import msgspec

import fedbandits
from fedbandits.settings.reference.hints import alternatives, parts_of
from fedbandits.settings.reference.preset_functions import described, identifier, settings_of_preset
from fedbandits.systems import System, find_system
from fedbandits.systems.registry import BUILT_IN

#: The file that is written.
STUB = pathlib.Path(fedbandits.__file__).with_name("presets.pyi")
_LONGEST = 100
_HEAD = '''\
"""Every preset as a function; do not edit.

Made by ``python -m fedbandits.settings.reference.stubs``.
"""

# ruff: noqa: E501 - what systems say of their presets is taken as it is
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias
'''


def stub() -> str:
    """The text of the stub: a function for every preset of this package's systems."""
    systems = [find_system(name) for name in BUILT_IN]
    blocks = [*_imports(systems), ""]
    for system in systems:
        blocks += _aliases(system)
    for system in systems:
        for preset in system.presets:
            blocks += ["", *_function(system, preset)]
    return f"{_HEAD}\n" + "\n".join(blocks) + "\n"


def _imports(systems: list[System[Any]]) -> list[str]:
    parts = {
        part
        for system in systems
        for field in msgspec.structs.fields(system.config_type)
        for part in parts_of(field.type)
    }
    lines = {f"from {_package(part)} import {_file(part)} as {_module(part)}" for part in parts}
    return sorted({"from fedbandits.settings.experiment import Variant", *lines})


def _package(part: type) -> str:
    return part.__module__.rpartition(".")[0]


def _file(part: type) -> str:
    return part.__module__.rpartition(".")[2]


def _module(part: type) -> str:
    """What the module of a part is called in the stub: systems have parts of the same name."""
    package = _package(part).rpartition(".")[2]
    return f"_{package}_{_file(part)}"


def _qualified(part: type) -> str:
    return f"{_module(part)}.{part.__name__}"


def _alias(system: System[Any], field: str) -> str:
    words = "".join(word.title() for word in field.split("_"))
    return f"_{system.config_type.__name__}{words}"


def _aliases(system: System[Any]) -> Iterator[str]:
    """A name for what each part of a system may be given as."""
    for field in msgspec.structs.fields(system.config_type):
        if not parts_of(field.type):
            continue
        names = alternatives(field.type, _qualified)
        yield from _wrapped(f"{_alias(system, field.name)}: TypeAlias =", names)


def _wrapped(head: str, names: list[str]) -> list[str]:
    """An assignment of a union, as the formatter of this project writes it."""
    union = " | ".join(names)
    if len(head) + 1 + len(union) <= _LONGEST:
        return [f"{head} {union}"]
    if 4 + len(union) <= _LONGEST:
        return [f"{head} (", f"    {union}", ")"]
    return [f"{head} (", f"    {names[0]}", *(f"    | {name}" for name in names[1:]), ")"]


def _function(system: System[Any], preset: str) -> Iterator[str]:
    types = {field.name: field.type for field in msgspec.structs.fields(system.config_type)}
    settings = settings_of_preset(system, preset)
    yield f"def {identifier(preset)}("
    yield "    *,"
    yield "    label: str | None = None,"
    for each in settings:
        kind = (
            _alias(system, each.name) if parts_of(types[each.name]) else each.hint.replace("'", '"')
        )
        yield f"    {each.name}: {kind} = {_value(each.usual)},"
    yield ") -> Variant:"
    first, *others = described(system, preset, settings).splitlines()
    yield f'    """{first}'
    yield from (f"    {line}" if line else "" for line in others)
    yield '    """'


def _value(value: Any) -> str:
    """A value as the formatter of this project writes it."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
