"""Every key of a configuration: its type, its default, allowed values, and its meaning.

Types and limits are read from the fields of the structs, meanings from their docstrings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import tomli_w
from msgspec import inspect

from fedbandits._schema import limits_in_words
from fedbandits.environments import Environment
from fedbandits.environments.rating_files import FromRatings
from fedbandits.settings.reference.docstrings import meanings_of, summary_of
from fedbandits.settings.written import written


class Part(NamedTuple):
    """An allowed value of a key that is a small table."""

    name: str  #: The part's kind, as ``growing``.
    meaning: str  #: Its meaning, in one sentence.
    keys: tuple[Key, ...]  #: The part's keys, in the order of the short form in brackets.

    @property
    def written(self) -> str:
        """Short form, with the names of the keys: ``growing(factor, first)``."""
        names = ", ".join(key.name for key in self.keys)
        return f"{self.name}({names})" if names else self.name


class Key(NamedTuple):
    """A key of a configuration."""

    #: Path below the table of the key: ``epsilon``, or ``schedule.growing.factor``.
    path: str
    #: Type of the key, as ``a number``, or ``a whole number or a word``.
    type_in_words: str
    #: Default in TOML; empty for no value, None for a required key.
    default: str | None
    #: Allowed values, with limits: ``a number > 0 and < 1``, or ``"raw", "released"``.
    allowed: str
    #: Meaning of the key; empty without documentation.
    meaning: str
    #: Allowed values that are tables.
    parts: tuple[Part, ...] = ()
    #: Allowed words beside tables.
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Last step of the path."""
        return self.path.rpartition(".")[2]


def keys_of(
    kind: type[msgspec.Struct],
    config: msgspec.Struct | None = None,
    prefix: str = "",
    documented: type | None = None,
) -> tuple[Key, ...]:
    """Return the keys of a struct, in order; keys that many environments share come last.

    Defaults are the values of ``config``, such as the configuration of a preset, if given. All
    paths begin with ``prefix``, its last point included. Meanings are read from the docstring of
    the class ``documented``, by default that of the struct.
    """
    meanings, keys = meanings_of(documented or kind), []
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)  # noqa: S101 - what a struct's type is
    many = (FromRatings, Environment) if issubclass(kind, Environment) else ()

    def place(field: inspect.Field) -> int:
        return sum(field.name in base.__struct_fields__ for base in many)

    for field in sorted(described.fields, key=place):
        path = f"{prefix}{field.encode_name}"
        keys.append(
            Key(
                path,
                _type_in_words(field.type),
                _default(field) if config is None else _text(getattr(config, field.name)),
                _allowed(field.type),
                meanings.get(field.name, ""),
                parts_of(field.type, path),
                words_of(field.type),
            )
        )
    return tuple(keys)


def nested(keys: tuple[Key, ...]) -> Iterator[Key]:
    """Iterate over keys, each followed by the keys of its parts."""
    for key in keys:
        yield key
        for part in key.parts:
            yield from nested(part.keys)


def in_toml(value: Any) -> str:
    """Write a value in TOML notation, on one line; write parts in short where possible."""
    if isinstance(value, msgspec.Struct):
        return in_toml(written(value))
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {in_toml(inner)}' for key, inner in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_toml, value))}]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").strip()


def _default(field: inspect.Field) -> str | None:
    if field.default_factory is not msgspec.NODEFAULT:
        return _text(field.default_factory())
    return None if field.default is msgspec.NODEFAULT else _text(field.default)


def _text(value: Any) -> str:
    return "" if value is None else in_toml(value)


def _kinds(info: inspect.Type) -> list[inspect.Type]:
    kinds = list(info.types) if isinstance(info, inspect.UnionType) else [info]
    return [kind for kind in kinds if not isinstance(kind, inspect.NoneType)]


def parts_of(info: inspect.Type, path: str) -> tuple[Part, ...]:
    """Return the tables that are allowed values of a key, which differ by their kind."""
    structs = [k for k in _kinds(info) if isinstance(k, inspect.StructType) and k.tag_field]
    return tuple(
        Part(str(s.tag), summary_of(s.cls), keys_of(s.cls, prefix=f"{path}.{s.tag}."))
        for s in structs
    )


def words_of(info: inspect.Type) -> tuple[str, ...]:
    """Return the words that a key allows beside tables; empty if it allows no tables."""
    kinds = _kinds(info)
    if not any(isinstance(kind, inspect.StructType) for kind in kinds):
        return ()
    words = [kind.values for kind in kinds if isinstance(kind, inspect.LiteralType)]
    return tuple(str(word) for values in words for word in values)


def _type_in_words(info: inspect.Type) -> str:
    return " or ".join(dict.fromkeys(_noun(kind) for kind in _kinds(info)))


def _noun(info: inspect.Type, article: str = "a ") -> str:
    match info:
        case inspect.LiteralType() if any(isinstance(value, str) for value in info.values):
            return f"{article}word"
        case inspect.IntType():
            return f"{article}whole number"
        case inspect.FloatType() | inspect.LiteralType():
            return f"{article}number"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType():
            return f"{article}text"
        case inspect.VarTupleType() | inspect.ListType():
            return f"{article}list of {_noun(_kinds(info.item_type)[0], '')}s"
        case inspect.TupleType():
            return f"{article}list of {len(info.item_types)} {_noun(info.item_types[0], '')}s"
        case _:
            return f"{article}table"


def _allowed(info: inspect.Type) -> str:
    """List allowed values; words come last, side by side."""
    kinds = sorted(_kinds(info), key=lambda kind: isinstance(kind, inspect.LiteralType))
    tables = [in_toml(part.written) for part in parts_of(info, "")]
    others = [_limited(kind) for kind in kinds if not getattr(kind, "tag_field", None)]
    return ", or ".join(filter(None, [", ".join(tables), *others]))


def _limited(info: inspect.Type) -> str:
    item = info
    if isinstance(info, inspect.LiteralType):
        return ", ".join(map(in_toml, info.values))
    if isinstance(info, inspect.VarTupleType | inspect.ListType):
        item = info.item_type
    if isinstance(info, inspect.TupleType):
        item = info.item_types[0]
    if isinstance(item, inspect.IntType | inspect.FloatType):
        return f"{_noun(info)} {limits_in_words(item)}".strip()
    return _noun(info)
