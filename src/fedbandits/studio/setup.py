"""The screen that sets an experiment up: its keys, its claims, its time and memory.

A change of a key keeps the rest of the TOML text: comments, order, blank lines.
"""

from __future__ import annotations

import math
import pathlib
import re
import tomllib
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec
import tomli_w
from msgspec import inspect

from fedbandits._schema import convert, shown
from fedbandits.environments import kind_of
from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError
from fedbandits.experiments.estimate import estimate
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.error_rates import gaussian_power, most_power
from fedbandits.settings.experiment import Experiment, ExperimentKeys, Variant
from fedbandits.settings.reference.docstrings import meanings_of
from fedbandits.settings.reference.keys import in_toml, parts_of, words_of
from fedbandits.settings.toml_files import parse_toml, steps_in
from fedbandits.settings.written import written
from fedbandits.systems import find_system

#: The most steps of a path.
_DEEPEST = 20
_HEADER = re.compile(r"\s*\[(\[?)\s*([\w.-]+)\s*\]?\]\s*(?:#.*)?\Z")


def with_value(text: str, path: str, value: Any) -> str:
    """Return a TOML text in which one key has another value.

    The line of the key is replaced, or a line is added to its table. If the new line does not give
    the wanted table, as with values over several lines, the whole text is written anew.

    Parameters
    ----------
    text
        The text, which is valid TOML.
    path
        The key, such as ``rounds`` or ``systems[0].epsilon``.
    value
        The new value; None removes the key.

    Raises
    ------
    ConfigError
        If the path leads to no table of the text, the text is not valid TOML, or TOML has no such
        value.
    """
    steps = steps_in(path)
    if not steps or len(steps) > _DEEPEST:
        raise ConfigError(f"{shown(path)}: leads to no table of this configuration")
    *tables, key = steps
    try:
        wanted = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}") from None
    _assign(wanted, tables, key, value, path)
    try:
        whole = tomli_w.dumps(wanted)
        edited = _edited(text, tables, key, value)
        return edited if edited is not None and parse_toml(edited) == wanted else whole
    except tomllib.TOMLDecodeError:  # a table without a header of its own
        return whole
    except (TypeError, RecursionError):
        raise ConfigError(
            f"{path}: given {shown(value)}, allowed: what TOML can hold, and no null inside"
        ) from None


def _assign(table: Any, tables: list[str], key: str, value: Any, path: str) -> None:
    for step in tables:
        try:
            table = table[int(step)] if isinstance(table, list) else table.setdefault(step, {})
        except (IndexError, ValueError):
            table = None
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: leads to no table of this configuration")
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _edited(text: str, tables: list[str], key: str, value: Any) -> str | None:
    """Change one line of a text; None if the table of the key has no header."""
    lines = text.split("\n")
    span = _span(lines, tables)
    if span is None:
        return None
    begin, end = span
    pattern = re.compile(rf"(\s*{re.escape(key)}\s*=\s*)(.*?)(\s+#.*)?\Z")
    for place in range(begin, end):
        match = pattern.match(lines[place])
        if match:
            new = [] if value is None else [f"{match[1]}{in_toml(value)}{match[3] or ''}"]
            return "\n".join([*lines[:place], *new, *lines[place + 1 :]])
    while end > begin and not lines[end - 1].split("#")[0].strip():
        end -= 1
    new = [] if value is None else [f"{key} = {in_toml(value)}"]
    return "\n".join([*lines[:end], *new, *lines[end:]])


def _span(lines: list[str], tables: list[str]) -> tuple[int, int] | None:
    """Return the number of the first line of a table, and of the line behind the table."""
    begin, counts = 0 if not tables else None, dict[str, int]()
    for place, line in enumerate(lines):
        header = _HEADER.match(line)
        if not header:
            continue
        if begin is not None:
            return begin, place
        name = [header[2]]
        if header[1]:
            counts[header[2]] = counts.get(header[2], -1) + 1
            name.append(str(counts[header[2]]))
        if name == tables:
            begin = place + 1
    return None if begin is None else (begin, len(lines))


#: Share of false alarms at which the power of a test is shown.
FALSE_ALARMS = 0.05
#: The largest ε whose odds e^ε are shown: larger odds mean no protection.
_LARGEST_ODDS = 50.0
#: Types of keys for which a form has no field.
_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.TupleType)
_FILE_PART = re.compile(r"\s*file\s*\((.*)\)\s*\Z", re.DOTALL)
_HEAD_KEYS = ("rounds", "replicates", "seed", "name", "best_alone")


def read(text: str, folder: pathlib.Path, allow_modules: bool) -> Experiment:
    """Make an experiment from a TOML text that a browser sent.

    Raises
    ------
    ConfigError
        If the text is no TOML, names modules that are not allowed, or files outside of the folder.
    """
    try:
        table = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}") from None
    _refuse_other_files(table, folder.resolve())
    return Experiment.from_table(table, folder, modules=None if allow_modules else False)


def _refuse_other_files(value: Any, folder: pathlib.Path, place: str = "") -> None:
    """Refuse texts that are paths to files outside of a folder."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_other_files(inner, folder, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_other_files(inner, folder, f"{place}[{index}]")
    elif isinstance(value, str) and any(_leads_out(path, folder) for path in _paths_in(value)):
        raise ConfigError(
            f"{place}: given {shown(value)}, allowed: a file in {folder}; drop the file here"
        )


def _paths_in(text: str) -> list[str]:
    """Return texts that may be paths: the text, and the path in a part like ``file(graph.txt)``."""
    part = _FILE_PART.match(text)
    return [text, part[1].strip().strip("\"'")] if part else [text]


def _leads_out(text: str, folder: pathlib.Path) -> bool:
    if text.startswith(("/", "~")) or ".." in pathlib.PurePath(text).parts:
        return True
    try:
        path = folder / text
        return path.exists() and not path.resolve().is_relative_to(folder)
    except (OSError, ValueError):  # too long, or with a zero inside: no file has such a name
        return False


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of one key of a text; the value None removes the key."""

    path: str
    value: Any = None


class SetupJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An experiment, as text or as a table, and changes to make first."""

    toml: str | None = None
    table: dict[str, Any] | None = None
    set: Change | list[Change] | None = None


def _text_of(job: SetupJob) -> str:
    """Return the text of an experiment with the changes of the job."""
    text = job.toml
    if text is None:
        try:
            text = tomli_w.dumps(job.table or {})
        except (TypeError, RecursionError):
            raise ConfigError(
                "table: allowed: what TOML can hold, with null nowhere in it"
            ) from None
    changes = job.set if isinstance(job.set, list) else [job.set] if job.set else []
    for change in changes:
        text = with_value(text, change.path, change.value)
    return text


def setup(folder: str, allow_modules: bool, **asked: Any) -> dict[str, Any]:
    """Return all facts of an experiment that is being set up.

    Parameters
    ----------
    folder, allow_modules
        The server's folder, and whether modules may be named.
    asked
        A :class:`SetupJob`, by its keys.
    """
    text = _text_of(convert(asked, SetupJob, ""))
    experiment = read(text, pathlib.Path(folder), allow_modules)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plans = experiment.check()
    needs = estimate(experiment, plans)
    claims = experiment.claims()
    return {
        "toml": text,
        "table": plain(parse_toml(text)),
        "warnings": [str(warning.message) for warning in caught],
        "world": {"kind": kind_of(experiment.environment), "rows": _world(experiment.environment)},
        "estimate": {"seconds": sum(needs.seconds), "bytes": needs.bytes},
        "systems": [
            _system(entry, place, claims[entry.label])
            for place, entry in enumerate(experiment.systems)
        ],
        "keys": [
            *(key for key in _keys(ExperimentKeys, experiment, "", Experiment)
              if key["path"] in _HEAD_KEYS),
            *_keys(type(experiment.environment), experiment.environment, "environment."),
        ],
    }  # fmt: skip


def _world(world: Environment) -> list[list[str]]:
    rows = [["kind", kind_of(world)], [world.words.parties, f"{world.parties:,}"]]
    for name, words in (("arm_count", "arms"), ("dimension", "numbers of a context")):
        if (value := getattr(world, name, None)) is not None:
            rows.append([words, f"{value:,}"])
    return [*rows, ["a record", f"one {world.words.turn} of one {world.words.party}"]]


def _system(entry: Variant, place: int, claim: PrivacyClaim) -> dict[str, Any]:
    preset = find_system(entry.system).presets[entry.preset]
    return {
        "label": entry.label,
        "preset": entry.preset,
        "about": preset.description,
        "claim": claim_table(claim),
        "noise": claim.noise or None,
        "unit_of_privacy": claim.unit,
        "keys": list(_keys(type(entry.config), entry.config, f"systems[{place}].")),
    }


def claim_table(claim: PrivacyClaim) -> dict[str, Any]:
    """Return a claim in the forms that the page shows: words, odds, and the power of a test."""
    power, worst = None, max(claim.views, key=lambda view: view.epsilon, default=None)
    if claim.is_private and math.isfinite(claim.mu):
        power = gaussian_power(FALSE_ALARMS, claim.mu)
    elif claim.is_private:
        power = most_power(FALSE_ALARMS, claim.epsilon, claim.delta)
    return {
        "headline": claim.headline,
        "unit": claim.unit,
        "from_whom": claim.from_whom,
        "epsilon": claim.epsilon if claim.is_private else None,
        "worst": None if worst is None or not claim.epsilon < worst.epsilon < math.inf else {
            "epsilon": worst.epsilon, "who": worst.who,
        },
        "delta": claim.delta if math.isfinite(claim.delta) else None,
        "odds": math.exp(claim.epsilon) if claim.epsilon < _LARGEST_ODDS else None,
        "power": power,
        "not_protected": [str(limit) for limit in claim.not_protected],
        "conditional_on": list(claim.conditional_on),
        "is_private": claim.is_private,
    }  # fmt: skip


def _keys(
    kind: type[msgspec.Struct], config: Any, prefix: str, documented: type | None = None
) -> Iterator[dict[str, Any]]:
    """Describe the keys of a struct that a form can show."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)  # noqa: S101 - of every struct
    meanings = meanings_of(documented or kind)
    for field in described.fields:
        shape = _shape(field.type)
        if shape is None or not hasattr(config, field.name):
            continue
        value = plain(written(getattr(config, field.name)))
        default = _default(field)
        yield {
            "path": f"{prefix}{field.encode_name}",
            "value": value,
            "about": meanings.get(field.name, ""),
            "default": default,
            "is_default": value == default,
            **shape,
        }


def _default(field: inspect.Field) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return plain(written(field.default_factory()))
    return None if field.default is msgspec.NODEFAULT else plain(written(field.default))


def _shape(info: inspect.Type) -> dict[str, Any] | None:
    """Return the kind of a form's field, with choices and limits; None for types without one."""
    kinds = list(info.types) if isinstance(info, inspect.UnionType) else [info]
    kinds = [kind for kind in kinds if not isinstance(kind, (inspect.NoneType, *_LISTS))]
    shape: dict[str, Any] = {"choices": None, "low": None, "high": None}
    if parts := parts_of(info, ""):
        choices = [*words_of(info), *(part.written for part in parts)]
        return shape | {"kind": "part", "choices": choices}
    match kinds[0] if len(kinds) == 1 else None:
        case inspect.BoolType():
            return shape | {"kind": "boolean"}
        case inspect.LiteralType() as literal:
            return shape | {"kind": "choice", "choices": list(literal.values)}
        case inspect.IntType() | inspect.FloatType() as number:
            kind = "integer" if isinstance(number, inspect.IntType) else "number"
            low = number.ge if number.ge is not None else number.gt
            high = number.le if number.le is not None else number.lt
            return shape | {"kind": kind, "low": low, "high": high}
        case inspect.StrType():
            return shape | {"kind": "text"}
        case _:
            return shape | {"kind": "text"} if _is_scalar(kinds) else None


def _is_scalar(kinds: list[inspect.Type]) -> bool:
    scalar = (inspect.IntType, inspect.FloatType, inspect.StrType, inspect.LiteralType)
    return bool(kinds) and all(isinstance(kind, scalar) for kind in kinds)


def plain(value: Any) -> Any:
    """Return a value as plain values of JSON; infinite numbers are None."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))
