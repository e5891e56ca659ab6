"""Short texts of objects, and text and tables as HTML: for reports and cells of a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, repeat
from typing import Any

#: Number of shown entries of a list, and of shown characters of other values.
_ENTRIES = 6
_CHARACTERS = 80


def text(value: object) -> str:
    """Write any value as text that is safe inside a page."""
    return html.escape(str(value))


def lines(value: object) -> str:
    """Write text of several lines safely, with a break between lines."""
    return text(value).replace("\n", "<br>")


def table(
    rows: Iterable[Iterable[object]],
    head: Iterable[object] | None = None,
    *,
    cell: Callable[..., str] = lines,
    kind: str = "",
    caption: str = "",
) -> str:
    """Write rows of cells as a table of HTML.

    ``head`` has the titles of the columns; without ``head`` the first cell of a row is the row's
    title. ``cell`` turns a cell into HTML: safe text by default; with ``str`` cells are HTML
    already. ``kind`` is the table's class, for its style. ``caption`` describes the table, also for
    readers with a screen reader.
    """
    titles = "".join(f'<th scope="col">{text(title)}</th>' for title in head or ())
    above = f"<thead><tr>{titles}</tr></thead>" if head is not None else ""
    body = (_row(row, cell, titled=head is None) for row in rows)
    named = f"<caption>{text(caption)}</caption>" if caption else ""
    of_kind = f' class="{text(kind)}"' if kind else ""
    return f"<table{of_kind}>{named}{above}<tbody>{''.join(body)}</tbody></table>"


def _row(row: Iterable[object], cell: Callable[..., str], titled: bool) -> str:
    first = ('<th scope="row">', "</th>") if titled else ("<td>", "</td>")
    tags = chain([first], repeat(("<td>", "</td>")))
    cells = (f"{begin}{cell(value)}{end}" for (begin, end), value in zip(tags, row, strict=False))
    return f"<tr>{''.join(cells)}</tr>"


def brief(value: Any) -> str:
    """Write a value as Python does; long lists and texts are cut, with their length at the end."""
    if isinstance(value, tuple | list) and len(value) > _ENTRIES:
        shown = ", ".join(brief(entry) for entry in value[: _ENTRIES // 2])
        left, right = "()" if isinstance(value, tuple) else "[]"
        return f"{left}{shown}, … {len(value):,} entries{right}"
    whole = repr(value)
    if len(whole) <= _CHARACTERS:
        return whole
    return f"{whole[:_CHARACTERS]}… ({len(whole):,} characters)"


def call_of(name: str, arguments: Mapping[str, Any], *first: Any) -> str:
    """Write a constructor call: ``Linear(agents=5)``.

    Positional arguments come ``first``.
    """
    named = [f"{key}={brief(value)}" for key, value in arguments.items()]
    return f"{name}({', '.join([*map(repr, first), *named])})"


def titled(title: str, html: str) -> str:
    """Put HTML under a title, which is text."""
    return f"<div><b>{text(title)}</b>{html}</div>"
