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
from msgspec.structs import FieldInfo

from fedbandits._checked import Checked
from fedbandits.settings.experiment import variant
from fedbandits.settings.reference.docstrings import marked_meanings_of, summary_of
from fedbandits.settings.reference.preset_functions import (
    first_line,
    identifier,
    part_classes,
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
    classes = _classes(systems)
    lines = [*_imports(systems), ""]
    for kind, (_, fields) in classes.items():
        lines += _aliases(kind, fields)
    lines += _LABEL.splitlines()
    for kind, (above, fields) in classes.items():
        lines += ["", *_keys(kind, above, fields)]
    for system in systems:
        for preset in system.presets:
            lines += ["", *_function(system, preset)]
    return _HEAD + "\n".join(lines) + "\n"


def _classes(systems: list[System[Any]]) -> dict[type, tuple[str, list[FieldInfo]]]:
    """Return the classes of configurations, each with the one above it and the fields that it adds.

    A field belongs to the highest class that explains it as all classes below do.
    """
    configurations = [system.config_type for system in systems]
    found: dict[type, tuple[str, list[FieldInfo]]] = {}
    for configuration in configurations:
        above, known = "_Label", set[str]()
        for kind in reversed(configuration.__mro__):
            if issubclass(kind, Checked) and kind is not Checked:
                below = [each for each in configurations if issubclass(each, kind)]
                meanings = [set(marked_meanings_of(each).items()) for each in (kind, *below)]
                added = dict(set.intersection(*meanings)).keys() - known
                fields = [field for field in msgspec.structs.fields(kind) if field.name in added]
                found[kind] = above, fields
                above, known = _class_of_keys(kind), known | added
    return found


def _imports(systems: list[System[Any]]) -> list[str]:
    parts = {
        part
        for system in systems
        for field in msgspec.structs.fields(system.config_type)
        for part in part_classes(field.type)
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


def _alias(kind: type, field: str) -> str:
    return f"_{kind.__name__}{''.join(word.title() for word in field.split('_'))}"


def _aliases(kind: type, fields: list[FieldInfo]) -> Iterator[str]:
    """Write a name for the types that each part of a configuration may be given as."""
    for field in fields:
        if part_classes(field.type):
            names = type_names(field.type, _qualified)
            yield from _wrapped(f"{_alias(kind, field.name)}: TypeAlias =", names)


def _wrapped(head: str, names: list[str]) -> list[str]:
    """Write an assignment of a union as the formatter of this project does."""
    union = " | ".join(names)
    if len(head) + 1 + len(union) <= _LONGEST:
        return [f"{head} {union}"]
    if 4 + len(union) <= _LONGEST:
        return [f"{head} (", f"    {union}", ")"]
    return [f"{head} (", f"    {names[0]}", *(f"    | {name}" for name in names[1:]), ")"]


def _class_of_keys(kind: type) -> str:
    return f"_{kind.__name__}Keys"


def _keys(kind: type, above: str, fields: list[FieldInfo]) -> Iterator[str]:
    """Write the keys that a class of configurations adds, each with its meaning and its default."""
    meanings, usual = marked_meanings_of(kind), kind()
    yield f"class {_class_of_keys(kind)}({above}, total=False):"
    yield from _quoted(summary_of(kind))
    yield ""
    for field in fields:
        names = " | ".join(type_names(field.type)).replace("'", '"')
        yield f"    {field.name}: {_alias(kind, field.name) if part_classes(field.type) else names}"
        default = _literal(written(getattr(usual, field.name)))
        yield from _quoted(f"{meanings[field.name]} Default: {default}.")


def _function(system: System[Any], preset: str) -> Iterator[str]:
    keys = _class_of_keys(system.config_type)
    yield f"def {identifier(preset)}(**keys: Unpack[{keys}]) -> Variant:"
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
