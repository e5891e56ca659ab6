"""Structs that check their values when they are made, in Python as in a file."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from msgspec import inspect

from fedbandits._html import brief, call_of, table, titled
from fedbandits._schema import allowed, expand, explain, is_text, prepared, refuse_odd_values, shown
from fedbandits.errors import ConfigError

_FIRST_KEY = re.compile(r"at `\$\.(?P<key>[^.\[`]+)")
_FIELD_BEFORE = re.compile(r"(?P<key>[a-z]\w*): ")
#: Bound of whole numbers: numbers from here on are refused, as in a file.
_LARGEST = 2**63


class Checked(msgspec.Struct, frozen=True):
    """A frozen struct that checks the types and bounds of its fields when it is made.

    Values are converted first. Numpy numbers and arrays become Python numbers and tuples, and lists
    become tuples. A whole number becomes a float where the field is a float. A part of a
    configuration may be given in its short form: ``"growing(1.5)"``. So may a part that some words
    can stand for: ``"disjoint"`` or ``"skewed(0.3)"``.

    A wrong value raises :class:`~fedbandits.errors.ConfigError`. Its message names the class and
    the field, what was given, and what is allowed.
    """

    #: Fields that were added after a release. They are written only where they differ from their
    #: defaults, so that stored runs and terms which know none of them stay the same.
    LATER_KEYS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        _hold(self)
        try:
            self.validate()
        except ValueError as error:
            raise _placed(type(self), error) from None

    def validate(self) -> None:
        """Refuse values that do not fit together; by default nothing is refused.

        The method is called after each field has been checked alone.

        Raises
        ------
        ValueError
            If values do not fit together. If one field is wrong, begin the message with its name
            and a colon.
        """

    def __repr__(self) -> str:
        return call_of(type(self).__name__, changed_fields(self))

    def _repr_html_(self) -> str:
        return titled(
            type(self).__name__,
            table((name, brief(getattr(self, name))) for name in self.__struct_fields__),
        )


def without_later(struct: Checked, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the written fields of a struct, without later releases' fields at their defaults.

    Parameters
    ----------
    struct
        The struct.
    values
        Its fields to write, by name.
    """
    left_out = {*struct.LATER_KEYS} - {*changed_fields(struct)}
    return {name: value for name, value in values.items() if name not in left_out}


def changed_fields(struct: Checked) -> dict[str, Any]:
    """Return the fields that differ from their defaults, by name."""
    usual = _usual(type(struct))
    return {
        name: getattr(struct, name)
        for name in struct.__struct_fields__
        if not _same(getattr(struct, name), usual[name])
    }


def _same(value: Any, usual: Any) -> bool:
    """Tell whether two values are equal; arrays compare entry by entry, and count as different."""
    return value is usual or (not hasattr(value, "__array__") and bool(value == usual))


@functools.cache
def _usual(kind: type[Checked]) -> dict[str, Any]:
    """Return the default of every field, ``NODEFAULT`` where there is none."""
    return {
        field.name: field.default if field.required or field.default_factory is msgspec.NODEFAULT
        else field.default_factory()
        for field in msgspec.structs.fields(kind)
    }  # fmt: skip


def _hold(struct: Checked) -> None:
    """Check the type of every field, and replace each value by the converted one."""
    kind, parts = type(struct), _parts(type(struct))
    try:
        if not all(isinstance(getattr(struct, name), classes) for name, classes in parts.items()):
            right = _converted(struct)
        else:
            right = msgspec.convert(struct, _twin(kind, frozenset(parts)), from_attributes=True)
    except msgspec.ValidationError:
        right = _converted(struct)
    for name in kind.__struct_fields__:
        old, new = getattr(struct, name), getattr(right, name)
        if not _is_writable(new):
            refuse_odd_values(new, f"{kind.__name__}.{name}")
        if new is not old:
            msgspec.structs.force_setattr(struct, name, new)


@functools.cache
def _parts(kind: type[Checked]) -> dict[str, tuple[type, ...]]:
    """Return the classes of each field that holds structs; such values were checked when made."""
    classes_of = {}
    for name, annotation in _types(kind).items():
        info = inspect.type_info(annotation)
        options = info.types if isinstance(info, inspect.UnionType) else (info,)
        classes = [one.cls for one in options if isinstance(one, inspect.StructType)]
        nothing = [type(None) for one in options if isinstance(one, inspect.NoneType)]
        if classes and len(classes) + len(nothing) == len(options):
            classes_of[name] = (*classes, *nothing)
    return classes_of


@functools.cache
def _parts_or_words(kind: type[Checked]) -> dict[str, tuple[type, ...]]:
    """Return the struct classes of each field that admits either a struct or a fixed word."""
    classes_of: dict[str, tuple[type, ...]] = {}
    for name, annotation in _types(kind).items():
        options = getattr(inspect.type_info(annotation), "types", ())
        if any(isinstance(one, inspect.LiteralType) for one in options):
            classes = tuple(one.cls for one in options if isinstance(one, inspect.StructType))
            classes_of |= {name: classes} if classes else {}
    return classes_of


@functools.cache
def _twin(kind: type[Checked], loose: frozenset[str] = frozenset()) -> type[msgspec.Struct]:
    """Make a struct of the same fields without own checks; ``loose`` fields take any value."""
    types = _types(kind) | dict.fromkeys(loose, Any)
    return prepared(msgspec.defstruct(kind.__name__, list(types.items())))


@functools.cache
def _types(kind: type[Checked]) -> dict[str, Any]:
    """Return the annotations of all fields, by name."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _converted(struct: Checked) -> Any:
    """Convert the fields: short forms are expanded first, numpy's numbers only on demand.

    msgspec names the first field that it refuses. The numbers of this field become Python's own,
    and all fields are tried again. A field that is refused twice is wrong.
    """
    kind, place = type(struct), type(struct).__name__
    given = {name: getattr(struct, name) for name in kind.__struct_fields__}
    parts = _parts(kind) | _parts_or_words(kind)
    ready = {name for name, classes in parts.items() if isinstance(given[name], classes)}
    for name in parts:
        if name not in ready:
            given[name] = _in_full(kind, name, given[name])
    twin, refused = _twin(kind, frozenset(ready)), set[str]()
    while True:
        try:
            return msgspec.convert(given, twin, from_attributes=True)
        except msgspec.ValidationError as error:
            key = _FIRST_KEY.search(str(error))
            if key is None or key["key"] in refused:
                raise ConfigError(explain(error, given, _twin(kind), place)) from None
        name = key["key"]
        refused.add(name)
        given[name] = _plain(given[name])
        refuse_odd_values(given[name], f"{place}.{name}")


def _in_full(kind: type[Checked], name: str, value: Any) -> Any:
    """Return the table of a part, given in short form or as a table; refuse other values."""
    if isinstance(value, str):
        return expand({name: value}, inspect.type_info(_twin(kind)), kind.__name__)[name]
    if isinstance(value, Mapping):
        return _plain(dict(value))
    of = f" of {type(value).__module__}" if isinstance(value, msgspec.Struct) else ""
    words = allowed(inspect.type_info(_types(kind)[name]))
    raise ConfigError(f"{kind.__name__}.{name}: given {shown(value)}{of}, allowed: {words}")


def _plain(value: Any) -> Any:
    """Convert numbers and arrays of numpy to Python's own, also in lists."""
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _is_writable(value: Any) -> bool:
    """Tell whether a file may hold all numbers and texts of a value."""
    if type(value) is str:
        return value.isascii() or is_text(value)
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return -_LARGEST < value < _LARGEST
    return all(map(_is_writable, value)) if type(value) is tuple else True


def _placed(kind: type[Checked], error: ValueError) -> ConfigError:
    """Return the error of a class, with the names of class and field before it."""
    text = str(error)
    field = _FIELD_BEFORE.match(text)
    known = field is not None and field["key"] in kind.__struct_fields__
    placed = ConfigError(f"{kind.__name__}{'.' if known else ': '}{text}")
    placed.reason = text
    return placed
