"""Structs that refuse a wrong value where they are made, in Python as in a file."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import msgspec
from msgspec import inspect

from fedbandits._brief import brief, call_of, titled
from fedbandits._html import table
from fedbandits._schema import expand, explain, refuse_odd_numbers
from fedbandits.errors import ConfigError

_FIRST_KEY = re.compile(r"at `\$\.(?P<key>[^.\[`]+)")
_NO_PART = re.compile(r"Object missing required field `\w+` - at `\$\.(?P<key>\w+)`\Z")
_FIELD_BEFORE = re.compile(r"(?P<key>[a-z]\w*): ")
#: Beyond it a whole number is refused, as in a file.
_LARGEST = 2**63


class Checked(msgspec.Struct, frozen=True):
    """A frozen struct whose fields are held to their types and bounds when it is made.

    Numbers and arrays of numpy become Python's own, whole numbers become floats where a float is
    meant, and lists become tuples. A part may be given short: ``"growing(1.5)"``.

    Making one raises :class:`~fedbandits.errors.ConfigError` with the class and the field, what was
    given and what is allowed.
    """

    def __post_init__(self) -> None:
        _hold(self)
        try:
            self.validate()
        except ValueError as error:
            raise _placed(type(self), error) from None

    def validate(self) -> None:
        """Refuse values that do not fit one another. By default all do.

        It is called after every field was checked by itself.

        Raises
        ------
        ValueError
            Saying what does not fit. Where one field is to blame, the text begins with its name
            and a colon.
        """

    def __repr__(self) -> str:
        return call_of(type(self).__name__, _changed(self))

    def _repr_html_(self) -> str:
        return titled(
            type(self).__name__,
            table((name, brief(getattr(self, name))) for name in self.__struct_fields__),
        )


def _changed(made: Checked) -> dict[str, Any]:
    """The fields that are not what they are when nothing is given."""
    usual = _usual(type(made))
    return {
        name: getattr(made, name)
        for name in made.__struct_fields__
        if not _same(getattr(made, name), usual[name])
    }


def _same(value: Any, usual: Any) -> bool:
    """Whether two values are equal. Arrays, which compare entry by entry, count as different."""
    return value is usual or (not hasattr(value, "__array__") and bool(value == usual))


@functools.cache
def _usual(kind: type[Checked]) -> dict[str, Any]:
    """What every field is when it is not given; ``NODEFAULT`` where it must be."""
    return {
        field.name: field.default if field.required or field.default_factory is msgspec.NODEFAULT
        else field.default_factory()
        for field in msgspec.structs.fields(kind)
    }  # fmt: skip


def _hold(made: Checked) -> None:
    """Hold every field to its type, and put what it was converted to in its place."""
    twin = _twin(type(made))
    try:
        right = msgspec.convert(made, twin, from_attributes=True)
    except msgspec.ValidationError as error:
        right = _converted(made, twin, error)
    for name in twin.__struct_fields__:
        old, new = getattr(made, name), getattr(right, name)
        if not _is_finite(new):
            refuse_odd_numbers(new, f"{type(made).__name__}.{name}")
        if new is not old:
            msgspec.structs.force_setattr(made, name, new)


@functools.cache
def _twin(kind: type[Checked]) -> type[msgspec.Struct]:
    """A struct with the same fields and without checks of its own, to convert to."""
    fields = [(field.name, field.type) for field in msgspec.structs.fields(kind)]
    return msgspec.defstruct(kind.__name__, fields)


def _converted(made: Checked, twin: type[msgspec.Struct], error: msgspec.ValidationError) -> Any:
    """The same once more, with what is not Python's own and what is written short in full."""
    place = type(made).__name__
    given = {name: getattr(made, name) for name in twin.__struct_fields__}
    tried: set[str] = set()
    while True:
        wrong = _FIRST_KEY.search(str(error))
        if wrong is None or wrong["key"] in tried:
            raise ConfigError(explain(_as_given(error, given), given, twin, place)) from None
        name = wrong["key"]
        tried.add(name)
        plain = _plain(given[name])
        refuse_odd_numbers(plain, f"{place}.{name}")
        short = expand({name: plain}, inspect.type_info(twin), place) if type(plain) is str else {}
        given[name] = short.get(name, plain)
        try:
            return msgspec.convert(given, twin, from_attributes=True)
        except msgspec.ValidationError as following:
            error = following


def _as_given(error: msgspec.ValidationError, given: dict[str, Any]) -> msgspec.ValidationError:
    """What was given for a part and is none lacks no key: it is something else."""
    wrong = _NO_PART.match(str(error))
    if wrong is None or isinstance(given[wrong["key"]], dict):
        return error
    return msgspec.ValidationError(f"Expected a part - at `$.{wrong['key']}`")


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's own, also in lists."""
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _is_finite(value: Any) -> bool:
    """Whether all numbers in it are such as a file may hold."""
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return -_LARGEST < value < _LARGEST
    return all(map(_is_finite, value)) if type(value) is tuple else True


def _placed(kind: type[Checked], error: ValueError) -> ConfigError:
    """What a class has said, behind its name and that of the field."""
    text = str(error)
    field = _FIELD_BEFORE.match(text)
    known = field is not None and field["key"] in kind.__struct_fields__
    placed = ConfigError(f"{kind.__name__}{'.' if known else ': '}{text}")
    placed.reason = text
    return placed
