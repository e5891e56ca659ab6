"""Typed structs from raw tables, with errors that name the place, the value and the remedy."""

from __future__ import annotations

import datetime
import functools
import math
import re
import threading
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from fedbandits._suggest import did_you_mean
from fedbandits.errors import ConfigError

AnyKind = TypeVar("AnyKind")
#: Largest number of characters of a value in an error.
_SHOWN = 200
_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?\Z", re.DOTALL)
_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+|\.\.\.)\]")
#: Patterns of texts, in words.
PATTERNS = {
    r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z": "up to 64 letters without accents, digits, _ and -, of "
    "which a letter or digit is first",
    r"^\w[\w .+=,-]{0,99}\Z": "up to 100 letters, digits, blanks and any of _.+=,- of which a "
    "letter, digit or _ is first",
}
_FIRST_USE, _PREPARED = threading.RLock(), set[Any]()
_SHORTHAND = re.compile(r"^\s*(?P<kind>[A-Za-z_-]+)\s*(?:\((?P<arguments>.*)\))?\s*\Z")


def prepared(kind: AnyKind) -> AnyKind:
    """Return a type that msgspec has analysed; one thread at a time.

    msgspec analyses a type when the type is first used, and keeps the result with the type. Two
    threads that use one type for the first time in the same moment can end the process.
    """
    if kind not in _PREPARED:
        with _FIRST_USE:
            msgspec.msgpack.Decoder(kind)
        _PREPARED.add(kind)
    return kind


@functools.cache
def _type_info(target: Any) -> Any:
    """Describe a type, once: a sweep asks for the same few types thousands of times."""
    return inspect.type_info(target)


def convert(raw: Mapping[str, Any], target: Any, place: str) -> Any:
    """Build a struct from a table of TOML, checked against a struct type or a tagged union.

    Parts may be written short: ``"growing(1.5)"`` for ``{kind = "growing", factor = 1.5}``, and a
    path for a part that is called ``file``. ``place`` is the table's path in the configuration,
    empty for its root. Raises ConfigError with the key's path, the given and the allowed values.
    """
    try:
        refuse_odd_values(raw, place)
        expanded = expand(raw, _type_info(target), place)
        return msgspec.convert(expanded, prepared(target))
    except RecursionError:
        raise ConfigError(f"{place or 'the configuration'}: is nested too deeply") from None
    except msgspec.ValidationError as error:
        raise ConfigError(explain(error, expanded, target, place)) from None


def shown(value: Any) -> str:
    """Write a value as errors show it, shortened where it is long; a date or a time as in TOML."""
    text = value.isoformat() if isinstance(value, datetime.date | datetime.time) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


def is_text(value: str) -> bool:
    """Tell whether text can be written in UTF-8; the name of a file may be another text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_odd_values(value: Any, place: str) -> None:
    """Refuse values that no file may hold: infinite or very large numbers, text not in UTF-8."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            refuse_odd_values(inner, _join(place, str(key)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            refuse_odd_values(inner, f"{place}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{place}: given {value}, allowed: a finite number")
    elif isinstance(value, str) and not is_text(value):
        raise ConfigError(f"{place}: given {shown(value)}, allowed: a name in UTF-8; rename it")
    elif isinstance(value, int) and abs(value) >= 2**63:  # so large that printing it may fail
        raise ConfigError(f"{place}: given a whole number of more than 18 digits")


def expand(raw: Mapping[str, Any], info: inspect.Type, place: str) -> dict[str, Any]:
    """Write short parts in full wherever the schema has a tagged union of structs.

    A word that the schema allows beside the structs stays as it is.
    """
    fields = {field.encode_name: field.type for s in _structs(info) for field in s.fields}
    result = dict(raw)
    for key, value in raw.items():
        if isinstance(value, str) and key in fields:
            parts = {str(s.tag): s for s in _structs(fields[key]) if s.tag_field}
            words = _words(fields[key])
            if parts and value not in words:
                result[key] = _expanded(value, parts, _join(place, key), words)
    return result


def _words(info: inspect.Type) -> tuple[Any, ...]:
    """List the words that a place admits beside parts."""
    kinds = info.types if isinstance(info, inspect.UnionType) else ()
    return tuple(w for kind in kinds if isinstance(kind, inspect.LiteralType) for w in kind.values)


def _expanded(
    text: str, parts: Mapping[str, inspect.StructType], place: str, words: tuple[Any, ...]
) -> dict[str, Any]:
    match = _SHORTHAND.match(text)
    if match is None and "file" in parts and re.search(r"[./\\]", text):
        return {parts["file"].tag_field or "kind": "file", "path": text}
    if match is None or match["kind"] not in parts:
        known = ", ".join((*words, *parts))
        path = ", or a file's path, which has a . or / in it" if "file" in parts else ""
        raise ConfigError(
            f"{place}: given {shown(text)}, allowed: {known}, with arguments in brackets{path}"
        )
    part = parts[match["kind"]]
    values = [] if not match["arguments"] else match["arguments"].split(",")
    if len(values) > len(part.fields):
        names = ", ".join(field.encode_name for field in part.fields) or "no arguments"
        raise ConfigError(
            f"{place}: {shown(text)} has too many arguments, {match['kind']} takes {names}"
        )
    table: dict[str, Any] = {part.tag_field or "kind": match["kind"]}
    for field, value in zip(part.fields, values, strict=False):
        table[field.encode_name] = _scalar(value)
    refuse_odd_values(table, place)
    return table


def _scalar(text: str) -> Any:
    text = text.strip().strip("\"'")
    for parse in (int, float):
        try:
            return parse(text)
        except ValueError:
            continue
    return text


def explain(error: msgspec.ValidationError, raw: Mapping[str, Any], target: Any, place: str) -> str:
    """Return the text of an error about a table: the place, the given and the allowed values.

    ``error`` was raised when the table ``raw`` was converted to ``target``. The path of the table
    is ``place``, empty for the root.
    """
    match = _PLACE.match(_said(error))
    what, path = (match["what"], match["path"] or "") if match else (str(error), "")
    where = _join(place, path.lstrip("."))
    unknown = re.match(r"Object contains unknown field `(.+)`", what)
    missing = re.match(r"Object missing required field `(.+)`", what)
    info, given = _at(inspect.type_info(target), raw, path)
    if unknown:
        return _unknown_key(_join(where, unknown[1]), unknown[1], info, _tag_of(given))
    if missing:
        words = _kinds(info, missing[1]) or allowed(_field(info, missing[1]))
        return f"{_join(where, missing[1])}: missing{words and f', allowed: {words}'}"
    if path and given is not _ABSENT and what.startswith(("Expected", "Invalid")):
        parent, _, key = path.rpartition(".")
        if key == "kind":  # a tag that no part carries
            info, _ = _at(inspect.type_info(target), raw, parent)
        expected = allowed(info) or what[:1].lower() + what[1:].replace("`", "")
        return f"{where}: given {shown(given)}, allowed: {expected}"
    return f"{where}: {what}" if where else what


def _kinds(info: inspect.Type | None, key: str) -> str:
    """Name the kinds of a part, if ``key`` is the tag of a part; else return an empty text."""
    kinds = [repr(s.tag) for s in _structs(info) if s.tag_field == key]
    return f"{', '.join(kinds)}; a part is given whole, its kind too" if kinds else ""


def _said(error: msgspec.ValidationError) -> str:
    """Return the text of an error, without the name of a class: the caller names the place."""
    cause = error.__cause__
    if isinstance(cause, ConfigError) and cause.reason is not None:
        return str(error).replace(str(cause), cause.reason)
    return str(error)


def _unknown_key(where: str, key: str, info: inspect.Type | None, tag: Any) -> str:
    structs = [s for s in _structs(info) if s.tag == tag] or _structs(info)
    known = [field.encode_name for s in structs for field in s.fields]
    known += [key for s in structs for key in getattr(s.cls, "ELSEWHERE", ())]
    for struct in structs:
        if key in (hints := getattr(struct.cls, "HINTS", {})):
            return f"{where}: {hints[key]}"
    return f"{where}: unknown key; {did_you_mean(key, known)}known keys: {', '.join(known)}"


_ABSENT = object()


def _steps(path: str) -> Iterator[str | int]:
    for match in _STEP.finditer(path):
        if match["key"] is not None:
            yield match["key"]
        elif match["index"] != "...":
            yield int(match["index"])


def _tag_of(value: Any) -> Any:
    return value.get("kind", _ABSENT) if isinstance(value, Mapping) else _ABSENT


def _at(info: inspect.Type | None, value: Any, path: str) -> tuple[inspect.Type | None, Any]:
    """Return the schema and the value of the place that an error's path points to."""
    for step in _steps(path):
        info = _field(info, step, _tag_of(value)) if isinstance(step, str) else _item(info)
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = _ABSENT
    return info, value


def _field(info: inspect.Type | None, name: str, tag: Any = None) -> inspect.Type | None:
    structs = _structs(info)
    for struct in sorted(structs, key=lambda s: s.tag != tag):
        for field in struct.fields:
            if field.encode_name == name:
                return field.type
    return None


def _item(info: inspect.Type | None) -> inspect.Type | None:
    """Return the type of a list's entries; the list may be an alternative of a union."""
    kinds = info.types if isinstance(info, inspect.UnionType) else (info,)
    for kind in kinds:
        if isinstance(kind, inspect.ListType | inspect.VarTupleType):
            return kind.item_type
        if isinstance(kind, inspect.TupleType):
            return kind.item_types[0]
    return None


def _structs(info: inspect.Type | None) -> list[inspect.StructType]:
    if isinstance(info, inspect.StructType):
        return [info]
    if isinstance(info, inspect.UnionType):
        return [kind for kind in info.types if isinstance(kind, inspect.StructType)]
    return []


def allowed(info: inspect.Type | None) -> str:
    """Return the allowed values of a place in words; empty if msgspec's own words serve as well."""
    kinds = list(info.types) if isinstance(info, inspect.UnionType) else [info]
    return " or ".join(word for kind in kinds if (word := _describe(kind)))


def limits_in_words(info: inspect.IntType | inspect.FloatType) -> str:
    """Return the limits of a number in words, as ``≥ 1 and ≤ 1,000``; empty without limits."""
    signs = ((">", info.gt), ("≥", info.ge), ("<", info.lt), ("≤", info.le))
    return " and ".join(
        f"{sign} {limit:,}" if isinstance(limit, int) else f"{sign} {limit:g}"
        for sign, limit in signs
        if limit is not None
    )


def _describe(info: inspect.Type | None) -> str:
    match info:
        case inspect.LiteralType():
            return ", ".join(repr(value) for value in info.values)
        case inspect.IntType() | inspect.FloatType():
            noun = "a whole number" if isinstance(info, inspect.IntType) else "a number"
            return f"{noun} {limits_in_words(info)}".strip()
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType() if info.pattern:
            return PATTERNS.get(info.pattern, f"a string that matches {info.pattern}")
        case inspect.StrType():
            return "a string that is not empty" if info.min_length else "a string"
        case inspect.DateTimeType():
            return "a time with its zone, such as 2030-01-31T08:00:00Z"
        case inspect.StructType() if info.tag_field:
            return f"{info.tag!r}"
        case inspect.StructType() | inspect.DictType():
            return "a table"
        case inspect.ListType() | inspect.VarTupleType():
            return "a list"
        case inspect.TupleType():
            return f"a list of {len(info.item_types)}"
        case _:
            return ""


def _join(place: str, key: str) -> str:
    if not place or not key:
        return place or key
    return f"{place}{key}" if key.startswith("[") else f"{place}.{key}"
