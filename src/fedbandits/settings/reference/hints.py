"""The types of a setting, as one writes them in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import inspect

#: What a part may be given as instead.
_SHORT = ("str", "Mapping[str, Any]")
_PLAIN: dict[type[inspect.Type], str] = {
    inspect.IntType: "int",
    inspect.FloatType: "float",
    inspect.BoolType: "bool",
    inspect.StrType: "str",
    inspect.NoneType: "None",
}


class Words(str):
    """Text that stands for itself where a signature is shown, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _class_name(kind: type) -> str:
    return kind.__name__


def hint(annotation: Any) -> str:
    """The types that a field takes, with the names of parts' classes, separated by ``|``."""
    return " | ".join(alternatives(annotation))


def alternatives(annotation: Any, called: Callable[[type], str] = _class_name) -> list[str]:
    """The same, one by one. A part may be a struct, a short form, or a table.

    Parameters
    ----------
    annotation
        The field's annotation.
    called
        What a part's class is called.
    """
    info = inspect.type_info(annotation)
    names = _names(info, called)
    parts = parts_of(annotation)
    return names + [short for short in _SHORT if parts and short not in names]


def parts_of(annotation: Any) -> list[type]:
    """The classes of the parts that a field takes."""
    info = inspect.type_info(annotation)
    return [kind.cls for kind in _kinds(info) if isinstance(kind, inspect.StructType)]


def _kinds(info: inspect.Type) -> tuple[inspect.Type, ...]:
    return info.types if isinstance(info, inspect.UnionType) else (info,)


def _names(info: inspect.Type, called: Callable[[type], str]) -> list[str]:
    """Names of types, each once."""
    return list(dict.fromkeys(_name(kind, called) for kind in _kinds(info)))


def _name(info: inspect.Type, called: Callable[[type], str]) -> str:
    match info:
        case inspect.LiteralType():
            return f"Literal[{', '.join(repr(value) for value in info.values)}]"
        case inspect.StructType():
            return called(info.cls)
        case inspect.ListType() | inspect.VarTupleType():
            return f"Sequence[{' | '.join(_names(info.item_type, called))}]"
        case inspect.TupleType():
            inner = dict.fromkeys(name for each in info.item_types for name in _names(each, called))
            return f"Sequence[{' | '.join(inner)}]"
        case _:
            return _PLAIN.get(type(info), "Any")
