"""The docstrings of a struct and of its fields, as plain text."""

from __future__ import annotations

import inspect
import re

_ENTRY = re.compile(r"^(?P<names>\w+(?:, \w+)*)(?: : .*)?$")
_ROLE = re.compile(r":\w+:`[~.\w]*?(\w+)`")
_UNDERLINE = re.compile(r"^-{3,}$")


def summary_of(kind: type) -> str:
    """Return the first line of a class's docstring; empty without a docstring."""
    return _plain(_lines(kind)[0]) if _lines(kind) else ""


def description_of(kind: type) -> list[str]:
    """Return the paragraphs of a class's docstring, without its sections, each on one line."""
    return [_plain(text) for text in _paragraphs(_before_sections(_lines(kind)))]


def meanings_of(kind: type) -> dict[str, str]:
    """Return the meaning of each field of a struct, by its name, as plain text in one paragraph."""
    return {name: _plain(text) for name, text in marked_meanings_of(kind).items()}


def marked_meanings_of(kind: type) -> dict[str, str]:
    """Return the meaning of each field as written, with the marks of reStructuredText.

    Meanings are read from the section "Parameters" of the class's docstring, and of its base
    classes. A field that no docstring names is left out.
    """
    meanings: dict[str, str] = {}
    for base in kind.__mro__:
        for name, meaning in _parameters(_lines(base)).items():
            meanings.setdefault(name, meaning)
    return meanings


def _lines(kind: type) -> list[str]:
    """Return the lines of a class's own docstring, not of an inherited docstring."""
    text = kind.__dict__.get("__doc__")
    return inspect.cleandoc(text).splitlines() if isinstance(text, str) else []


def _before_sections(lines: list[str]) -> list[str]:
    for number, line in enumerate(lines):
        if _UNDERLINE.match(line) and number:
            return lines[: number - 1]
    return lines


def _parameters(lines: list[str]) -> dict[str, str]:
    try:
        start = lines.index("Parameters") + 2
    except ValueError:
        return {}
    meanings: dict[str, str] = {}
    names: list[str] = []
    texts: list[str] = []
    for line in [*_before_sections(lines[start:]), "end"]:
        if line.startswith(" ") or not line:
            texts.append(line)
            continue
        meaning = " ".join(_paragraphs(texts))
        meanings |= {name: meaning for name in names if meaning}
        match = _ENTRY.match(line)
        names, texts = (match["names"].split(", ") if match else []), []
    return meanings


def _paragraphs(lines: list[str]) -> list[str]:
    blocks = "\n".join(line.strip() for line in lines).strip().split("\n\n")
    return [" ".join(block.split()) for block in blocks if block.strip()]


def _plain(text: str) -> str:
    """Remove the marks of reStructuredText."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`")
