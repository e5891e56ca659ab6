"""TOML files: reading them, assigning values to their keys, and the examples of this package.

An example is named without a path: ``fedbandits run quickstart``.
"""

from __future__ import annotations

import functools
import itertools
import pathlib
import re
import tomllib
from collections.abc import Iterable
from typing import Any, NamedTuple

from fedbandits._suggest import did_you_mean
from fedbandits.errors import ConfigError

#: Allowed names of experiments. A name is a folder's name: no separators, no leading dot.
NAME = r"^\w[\w .+=,-]{0,99}\Z"  # in words: _schema.PATTERNS
_ROOM = pathlib.Path(__file__).parents[1]
#: Folders of examples: in the package in a wheel, beside ``src`` in a checkout.
_FOLDERS = (_ROOM / "examples", _ROOM.parents[1] / "examples")
#: Examples without data from elsewhere; pyproject.toml puts the same examples into the wheel.
BUNDLED = ("quickstart", "linear", "procurement", "samba", "shops", "paper-scale")
_BARE = re.compile(r"[\w-]+\Z")


def parse_toml(text: str) -> dict[str, Any]:
    """Read a TOML document as a table; raises tomllib.TOMLDecodeError for invalid TOML.

    Python's reader raises two other errors: for brackets that are nested too deeply, and for
    numbers with thousands of digits.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("brackets or keys are nested too deeply") from None
    except (ValueError, OverflowError):
        raise tomllib.TOMLDecodeError("a number or a date is out of range") from None


def read_toml(file: pathlib.Path) -> dict[str, Any]:
    """Read a TOML file; raises ConfigError if it is missing, unreadable or invalid."""
    try:
        return parse_toml(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{file}: no such file") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from None
    except (OSError, ValueError) as error:  # ValueError: not a text, or an impossible path
        raise ConfigError(f"{str(file)!r}: cannot be read: {type(error).__name__}") from None


def read_experiment(file: pathlib.Path, overrides: Iterable[str]) -> dict[str, Any]:
    """Read an experiment's file as a table, and carry out assignments.

    The name of the file is the default of the table's name: two files have two folders under
    ``runs``.
    """
    raw = read_toml(file)
    for assignment in overrides:
        assign(raw, assignment)
    if re.match(NAME, file.stem):
        raw.setdefault("name", file.stem)
    return raw


def steps_in(path: str) -> list[str]:
    """Split a key's path, which may have its numbers in brackets, into steps."""
    return [step for step in re.split(r"[.\[\]]+", path.strip()) if step]


def assign(raw: dict[str, Any], assignment: str) -> None:
    """Carry out ``key.path=value`` in a table, in place; refuse a path to no table.

    Values are in TOML notation.
    """
    path, equals, text = assignment.partition("=")
    steps = steps_in(path)
    if not equals or not steps or "\n" in assignment:
        raise ConfigError(f"--set {assignment}: write key.path=value")
    try:
        value = parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # a bare word is a string
    for holder in _holders([raw], steps[:-1], assignment):
        holder[steps[-1]] = value


def _holders(level: list[Any], steps: list[str], assignment: str) -> list[dict[str, Any]]:
    """Return the tables that an assignment's path leads to."""
    for step in steps:
        following: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                following.append(node.setdefault(step, {}))
            elif isinstance(node, list):
                following.extend(_entries(node, step, assignment))
        level = following
    tables = [node for node in level if isinstance(node, dict)]
    if not tables:
        raise ConfigError(
            f"--set {assignment}: this key cannot be set: {'.'.join(steps)} is not a table of "
            "this configuration"
        )
    return tables


def _entries(entries: list[Any], step: str, assignment: str) -> list[Any]:
    """Return the systems that one step of a path names; refuse an unknown name."""
    if chosen := named_entries(entries, step):
        return chosen
    raise ConfigError(f"--set {assignment}: there is no {unknown_entry(entries, step)}")


def named_entries(entries: list[Any], step: str) -> list[Any]:
    """Return the systems that a step of a path names by number, label or preset, or with ``*``."""
    if step == "*":
        return entries
    if step.isascii() and step.isdigit() and len(step) < 10:
        return entries[int(step) : int(step) + 1]
    named = [e for e in entries if isinstance(e, dict)]
    return [e for e in named if step in (e.get("label"), e.get("preset"))][:1]


def unknown_entry(entries: list[Any], step: str) -> str:
    """Return an unknown step of a path and the allowed steps, for an error."""
    labels = [str(e.get("label", e.get("preset"))) for e in entries if isinstance(e, dict)]
    known = ", ".join([*labels, *map(str, range(len(entries))), "*"])
    return f"{step!r}; {did_you_mean(step, labels)}allowed: {known}"


class Example(NamedTuple):
    """An experiment that comes with this package."""

    name: str
    path: pathlib.Path
    shows: str  #: The first paragraph of comments in the file, a sentence or two.
    takes: str  #: Duration: the paragraph that begins with "Takes".

    @property
    def text(self) -> str:
        """Content of the file."""
        return self.path.read_text(encoding="utf-8")


@functools.cache
def examples() -> dict[str, Example]:
    """Return every available bundled example, by name."""
    bundled = {}
    for name in BUNDLED:
        paths = [folder / f"{name}.toml" for folder in _FOLDERS]
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            bundled[name] = _described(name, path)
    return bundled


def experiment_file(given: str | pathlib.Path) -> pathlib.Path:
    """Return the file of a path, else the file of the bundled example of that name.

    Raises ConfigError if a bare name, without a point or a slash, is neither a file nor an example.
    """
    path = pathlib.Path(given).expanduser()
    name = str(given)
    if not _BARE.match(name) or path.exists():
        return path
    if name in examples():
        return examples()[name].path
    from fedbandits.systems.registry import find_preset  # a shell that completes needs none of it

    if find_preset(name) is not None:
        raise ConfigError(
            f"{name}: no such file; it is a preset: `fedbandits init --from {name}` writes a file "
            "with it, ready to run"
        )
    raise ConfigError(
        f"{name}: no such file, and no bundled example of that name; "
        f"{did_you_mean(name, examples())}examples: {', '.join(examples()) or 'none'}"
    )


def _described(name: str, path: pathlib.Path) -> Example:
    """Read an example's description from the leading comments of its file."""
    comments = itertools.takewhile(
        lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines()
    )
    text = "\n".join(line.removeprefix("#").strip() for line in comments)
    shows, *further = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    takes = next((p.removeprefix("Takes ") for p in further if p.startswith("Takes ")), "")
    return Example(name, path, shows, takes.rstrip("."))
