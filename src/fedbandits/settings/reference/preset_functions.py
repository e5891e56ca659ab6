"""Presets as functions that an editor can complete: ``fb.presets.feducb(epsilon=1.0)``."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect as types

from fedbandits.settings.experiment import Variant, variant
from fedbandits.settings.experiment import system as make
from fedbandits.settings.reference.docstrings import marked_meanings_of
from fedbandits.settings.written import written
from fedbandits.systems import System, systems

#: Columns of a docstring.
_WIDTH = 90
#: Types that a part of a configuration may be given as, besides an object of its class.
_SHORT_FORMS = ("str", "Mapping[str, Any]")
_SIMPLE_TYPES: dict[type[types.Type], str] = {
    types.IntType: "int",
    types.FloatType: "float",
    types.BoolType: "bool",
    types.StrType: "str",
    types.NoneType: "None",
}


class Setting(NamedTuple):
    """One setting of a preset, for those who complete and explain it."""

    name: str
    hint: str  #: The types that it takes, as one writes them in Python.
    usual: Any  #: Its value where it is not given.
    meaning: str


class _Unquoted(str):
    """Text that a signature shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def preset_functions() -> Mapping[str, Callable[..., Variant]]:
    """Return a function for every preset, by its name with underscores for dashes."""
    found: dict[str, Callable[..., Variant]] = {}
    for system in systems():
        for preset in system.presets:
            if identifier(preset).isidentifier():
                found.setdefault(identifier(preset), preset_function(system, preset))
    return found


def identifier(preset: str) -> str:
    """Return the name of a preset's function."""
    return preset.replace("-", "_")


def settings_of_preset(system: System[Any], preset: str) -> list[Setting]:
    """Return the settings of a preset, in the order of its configuration's fields."""
    config = variant({"preset": preset}, preset).config
    texts = marked_meanings_of(system.config_type)
    return [
        Setting(
            field.name,
            " | ".join(type_names(field.type)),
            written(getattr(config, field.name)),
            texts.get(field.name, ""),
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
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.usual,
                annotation=_Unquoted(each.hint),
            )
            for each in (label, *settings)
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
    for each in settings:
        lines += [each.name, *textwrap.wrap(
            each.meaning, _WIDTH, initial_indent="    ", subsequent_indent="    ",
            break_long_words=False,
        )]  # fmt: skip
    return "\n".join(lines)


def part_classes(annotation: Any) -> list[type]:
    """Return the classes of the parts that a field takes."""
    kinds = _alternatives(types.type_info(annotation))
    return [kind.cls for kind in kinds if isinstance(kind, types.StructType)]


def type_names(
    annotation: Any, called: Callable[[type], str] = lambda part: part.__name__
) -> list[str]:
    """Return the types that a field takes, as one writes them in Python.

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
            inner = dict.fromkeys(name for each in info.item_types for name in _names(each, called))
            return f"Sequence[{' | '.join(inner)}]"
        case _:
            return _SIMPLE_TYPES.get(type(info), "Any")
