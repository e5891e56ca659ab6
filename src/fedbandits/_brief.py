"""Short forms of objects, for a line and for a cell of a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbandits._html import text

#: Entries of a list that are shown, and characters of anything else.
_ENTRIES = 6
_CHARACTERS = 80


def brief(value: Any) -> str:
    """Write a value as Python does; long lists and texts are cut, and say how long they are."""
    if isinstance(value, tuple | list) and len(value) > _ENTRIES:
        shown = ", ".join(brief(entry) for entry in value[: _ENTRIES // 2])
        left, right = "()" if isinstance(value, tuple) else "[]"
        return f"{left}{shown}, … {len(value):,} entries{right}"
    whole = repr(value)
    if len(whole) <= _CHARACTERS:
        return whole
    return f"{whole[:_CHARACTERS]}… ({len(whole):,} characters)"


def call_of(name: str, arguments: Mapping[str, Any], *first: Any) -> str:
    """Write a call that makes something: ``Linear(agents=5)``.

    Arguments without names come ``first``.
    """
    named = [f"{key}={brief(value)}" for key, value in arguments.items()]
    return f"{name}({', '.join([*map(repr, first), *named])})"


def titled(title: str, html: str) -> str:
    """Put HTML under a title, which is text."""
    return f"<div><b>{text(title)}</b>{html}</div>"
