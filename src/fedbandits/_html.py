"""Text and tables as HTML: for reports, and for how a notebook shows an object."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from itertools import chain, repeat


def text(value: object) -> str:
    """Write any value as text that is safe inside a page."""
    return html.escape(str(value))


def lines(value: object) -> str:
    """Write text of several lines safely; each stays on a line of its own."""
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

    ``head`` has the titles of the columns; without it the first cell of a row is the row's title.
    ``cell`` says what a cell becomes: safe text by default; with ``str`` cells are HTML already.
    ``kind`` is the table's class, for its style. ``caption`` says what the table shows, for whoever
    sees it and whoever hears it.
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
    cells = (f"{begin}{cell(each)}{end}" for (begin, end), each in zip(tags, row, strict=False))
    return f"<tr>{''.join(cells)}</tr>"
