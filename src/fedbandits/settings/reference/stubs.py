"""The types of ``fb.presets`` for editors and type checkers.

``python -m fedbandits.settings.reference.stubs`` writes them: for each system the keys of its
configuration with their meanings, and for each preset a function that takes these keys.
"""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec

from fedbandits.settings.experiment import variant
from fedbandits.settings.reference.docstrings import marked_meanings_of
from fedbandits.settings.reference.preset_functions import (
    first_line,
    identifier,
    parts_of,
    type_names,
)
from fedbandits.settings.written import changed, written
from fedbandits.systems import System, find_system
from fedbandits.systems.registry import BUILT_IN

#: The file that is written.
STUB = pathlib.Path(__file__).parents[2] / "presets.pyi"
_LONGEST = 100
_HEAD = '''\
"""Every preset as a function; do not edit.

Made by ``python -m fedbandits.settings.reference.stubs``.
"""

# ruff: noqa: D205 - the description of a preset may take more than one line
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

'''
_LABEL = '''
class _Label(TypedDict, total=False):
    label: str | None
    """Its name in results; the preset's by default."""
'''


def stub() -> str:
    """Return the text of the stub, for the presets of this package's systems."""
    systems = [find_system(name) for name in BUILT_IN]
    lines = [*_imports(systems), ""]
    for system in systems:
        lines += _aliases(system)
    lines += _LABEL.splitlines()
    for system in systems:
        lines += ["", *_keys(system)]
    for system in systems:
        for preset in system.presets:
            lines += ["", *_function(system, preset)]
    return _HEAD + "\n".join(lines) + "\n"


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
    """Return the name of a part's module; the classes of two systems may have one name."""
    return f"_{_package(part).rpartition('.')[2]}_{_file(part)}"


def _qualified(part: type) -> str:
    return f"{_module(part)}.{part.__name__}"


def _alias(system: System[Any], field: str) -> str:
    words = "".join(word.title() for word in field.split("_"))
    return f"_{system.config_type.__name__}{words}"


def _aliases(system: System[Any]) -> Iterator[str]:
    """Write a name for the types that each part of a system may be given as."""
    for field in msgspec.structs.fields(system.config_type):
        if not parts_of(field.type):
            continue
        names = type_names(field.type, _qualified)
        yield from _wrapped(f"{_alias(system, field.name)}: TypeAlias =", names)


def _wrapped(head: str, names: list[str]) -> list[str]:
    """Write an assignment of a union as the formatter of this project does."""
    union = " | ".join(names)
    if len(head) + 1 + len(union) <= _LONGEST:
        return [f"{head} {union}"]
    if 4 + len(union) <= _LONGEST:
        return [f"{head} (", f"    {union}", ")"]
    return [f"{head} (", f"    {names[0]}", *(f"    | {name}" for name in names[1:]), ")"]


def _class_of_keys(system: System[Any]) -> str:
    return f"_{system.config_type.__name__}Keys"


def _keys(system: System[Any]) -> Iterator[str]:
    """Write the keys of a system's configuration, each with its meaning and its default."""
    meanings, usual = marked_meanings_of(system.config_type), system.config_type()
    yield f"class {_class_of_keys(system)}(_Label, total=False):"
    yield from _quoted(f"Keys of the system {system.name!r}.", f"{system.paper}.")
    yield ""
    for field in msgspec.structs.fields(system.config_type):
        names = " | ".join(type_names(field.type)).replace("'", '"')
        yield f"    {field.name}: {_alias(system, field.name) if parts_of(field.type) else names}"
        default = _literal(written(getattr(usual, field.name)))
        yield from _quoted(f"{meanings[field.name]} Default: {default}.")


def _function(system: System[Any], preset: str) -> Iterator[str]:
    yield f"def {identifier(preset)}(**keys: Unpack[{_class_of_keys(system)}]) -> Variant:"
    config = variant({"preset": preset}, preset).config
    own = changed(config, system.config_type())
    others = ", ".join(f"{key}={_literal(value)}" for key, value in own.items())
    yield from _quoted(first_line(system, preset), f"Other defaults: {others}." if own else "")


def _quoted(*paragraphs: str) -> list[str]:
    """Write a docstring, one level inside."""
    text = "\n\n".join(
        textwrap.fill(each, _LONGEST - 10, break_long_words=False, break_on_hyphens=False)
        for each in paragraphs
        if each
    )
    lines = f'"""{text}{chr(10) if chr(10) in text else ""}"""'.splitlines()
    return [f"    {line}" if line else "" for line in lines]


def _literal(value: Any) -> str:
    """Write a value as the formatter of this project does."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
