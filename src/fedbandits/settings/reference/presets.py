"""Presets as functions that an editor can complete: ``fb.presets.feducb(epsilon=1.0)``.

``python -m fedbandits.settings.reference.presets`` writes their types, for editors and type
checkers: for each system the keys of its configuration with their meanings, and for each preset a
function that takes these keys.
"""

from __future__ import annotations

import functools
import inspect
import pathlib
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect as types
from msgspec.structs import FieldInfo

from fedbandits._checked import Checked
from fedbandits.settings.experiment import Variant, variant
from fedbandits.settings.experiment import system as make
from fedbandits.settings.reference.docstrings import marked_meanings_of, summary_of
from fedbandits.settings.written import changed, written
from fedbandits.systems import System, find_system, systems
from fedbandits.systems.registry import BUILT_IN

#: Width of a docstring, in columns.
_WIDTH = 90
#: Types of a part of a configuration, besides an object of its class.
_SHORT_FORMS = ("str", "Mapping[str, Any]")
_SIMPLE_TYPES: dict[type[types.Type], str] = {
    types.IntType: "int",
    types.FloatType: "float",
    types.BoolType: "bool",
    types.StrType: "str",
    types.NoneType: "None",
}


class Setting(NamedTuple):
    """One setting of a preset, for completion and explanation."""

    name: str
    hint: str  #: The allowed types, in Python's notation.
    usual: Any  #: Default value.
    meaning: str


class _Unquoted(str):
    """Text that a signature shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def preset_functions() -> Mapping[str, Callable[..., Variant]]:
    """Return a function for every preset, by its name with underscores for dashes."""
    functions: dict[str, Callable[..., Variant]] = {}
    for system in systems():
        for preset in system.presets:
            if identifier(preset).isidentifier():
                functions.setdefault(identifier(preset), preset_function(system, preset))
    return functions


def identifier(preset: str) -> str:
    """Return the name of a preset's function."""
    return preset.replace("-", "_")


def settings_of_preset(system: System[Any], preset: str) -> list[Setting]:
    """Return the settings of a preset, in the order of its configuration's fields."""
    config = variant({"preset": preset}, preset).config
    meanings = marked_meanings_of(system.config_type)
    return [
        Setting(
            field.name,
            " | ".join(type_names(field.type)),
            written(getattr(config, field.name)),
            meanings.get(field.name, ""),
        )
        for field in msgspec.structs.fields(system.config_type)
    ]


@functools.cache
def preset_function(system: System[Any], preset: str) -> Callable[..., Variant]:
    """Make a function of a preset's settings, which returns the same as ``fb.system``."""
    settings = settings_of_preset(system, preset)

    def function(*, label: str | None = None, **given: Any) -> Variant:
        return make(preset, label=label, **given)

    function.__name__ = function.__qualname__ = identifier(preset)
    function.__module__ = "fedbandits.presets"
    function.__doc__ = _docstring(system, preset, settings)
    label = Setting("label", "str | None", None, "")
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                setting.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=setting.usual,
                annotation=_Unquoted(setting.hint),
            )
            for setting in (label, *settings)
        ],
        return_annotation=Variant,
    )
    return function


def first_line(system: System[Any], preset: str) -> str:
    """Return a preset's description as a sentence."""
    text = system.presets[preset].description
    return f"{text[:1].upper()}{text[1:]}."


def _docstring(system: System[Any], preset: str, settings: list[Setting]) -> str:
    lines = [
        first_line(system, preset),
        "",
        f"A preset of the system {system.name!r} ({system.paper}).",
        "",
        "Parameters",
        "----------",
        "label",
        "    Its name in results; the preset's by default.",
    ]
    for setting in settings:
        lines += [setting.name, *textwrap.wrap(
            setting.meaning, _WIDTH, initial_indent="    ", subsequent_indent="    ",
            break_long_words=False,
        )]  # fmt: skip
    return "\n".join(lines)


def part_classes(annotation: Any) -> list[type]:
    """Return the classes of the parts that a field allows."""
    kinds = _alternatives(types.type_info(annotation))
    return [kind.cls for kind in kinds if isinstance(kind, types.StructType)]


def type_names(
    annotation: Any, called: Callable[[type], str] = lambda part: part.__name__
) -> list[str]:
    """Return the types that a field allows, in Python's notation.

    A part may be given as an object, in its short form, or as a table. ``called`` returns the name
    of its class.
    """
    names = _names(types.type_info(annotation), called)
    short = _SHORT_FORMS if part_classes(annotation) else ()
    return list(dict.fromkeys([*names, *short]))


def _alternatives(info: types.Type) -> tuple[types.Type, ...]:
    return info.types if isinstance(info, types.UnionType) else (info,)


def _names(info: types.Type, called: Callable[[type], str]) -> list[str]:
    return list(dict.fromkeys(_name(kind, called) for kind in _alternatives(info)))


def _name(info: types.Type, called: Callable[[type], str]) -> str:
    match info:
        case types.LiteralType():
            return f"Literal[{', '.join(repr(value) for value in info.values)}]"
        case types.StructType():
            return called(info.cls)
        case types.ListType() | types.VarTupleType():
            return f"Sequence[{' | '.join(_names(info.item_type, called))}]"
        case types.TupleType():
            inner = dict.fromkeys(name for item in info.item_types for name in _names(item, called))
            return f"Sequence[{' | '.join(inner)}]"
        case _:
            return _SIMPLE_TYPES.get(type(info), "Any")


#: Path of the written file.
STUB = pathlib.Path(__file__).parents[2] / "presets.pyi"
_LONGEST = 100
_HEAD = '''\
"""Every preset as a function; do not edit.

Made by ``python -m fedbandits.settings.reference.presets``.
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
    """Return the classes of configurations, each with its base class and its additional fields.

    A field belongs to the highest class whose explanation all classes below share.
    """
    configurations = [system.config_type for system in systems]
    classes: dict[type, tuple[str, list[FieldInfo]]] = {}
    for configuration in configurations:
        above, known = "_Label", set[str]()
        for kind in reversed(configuration.__mro__):
            if issubclass(kind, Checked) and kind is not Checked:
                below = [
                    configuration_type
                    for configuration_type in configurations
                    if issubclass(configuration_type, kind)
                ]
                meanings = [
                    set(marked_meanings_of(configuration_type).items())
                    for configuration_type in (kind, *below)
                ]
                added = dict(set.intersection(*meanings)).keys() - known
                fields = [field for field in msgspec.structs.fields(kind) if field.name in added]
                classes[kind] = above, fields
                above, known = _class_of_keys(kind), known | added
    return classes


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
    """Return the name of a part's module; classes of two systems may share a name."""
    return f"_{_package(part).rpartition('.')[2]}_{_file(part)}"


def _qualified(part: type) -> str:
    return f"{_module(part)}.{part.__name__}"


def _alias(kind: type, field: str) -> str:
    return f"_{kind.__name__}{''.join(word.title() for word in field.split('_'))}"


def _aliases(kind: type, fields: list[FieldInfo]) -> Iterator[str]:
    """Write a name for the allowed types of each part of a configuration."""
    for field in fields:
        if part_classes(field.type):
            names = type_names(field.type, _qualified)
            yield from _wrapped(f"{_alias(kind, field.name)}: TypeAlias =", names)


def _wrapped(head: str, names: list[str]) -> list[str]:
    """Write an assignment of a union in the style of this project's formatter."""
    union = " | ".join(names)
    if len(head) + 1 + len(union) <= _LONGEST:
        return [f"{head} {union}"]
    if 4 + len(union) <= _LONGEST:
        return [f"{head} (", f"    {union}", ")"]
    return [f"{head} (", f"    {names[0]}", *(f"    | {name}" for name in names[1:]), ")"]


def _class_of_keys(kind: type) -> str:
    return f"_{kind.__name__}Keys"


def _keys(kind: type, above: str, fields: list[FieldInfo]) -> Iterator[str]:
    """Write the additional keys of a class of configurations, with meanings and defaults."""
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
    changed_settings = changed(config, system.config_type())
    others = ", ".join(f"{key}={_literal(value)}" for key, value in changed_settings.items())
    yield from _quoted(
        first_line(system, preset), f"Other defaults: {others}." if changed_settings else ""
    )


def _quoted(*paragraphs: str) -> list[str]:
    """Write a docstring, one level inside."""
    text = "\n\n".join(
        textwrap.fill(paragraph, _LONGEST - 10, break_long_words=False, break_on_hyphens=False)
        for paragraph in paragraphs
        if paragraph
    )
    lines = f'"""{text}{chr(10) if chr(10) in text else ""}"""'.splitlines()
    return [f"    {line}" if line else "" for line in lines]


def _literal(value: Any) -> str:
    """Write a value in the style of this project's formatter."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
