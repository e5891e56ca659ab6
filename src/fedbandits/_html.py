"""Text and tables as HTML: for reports, and for how a notebook shows an object."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from itertools import chain, repeat


def text(value: object) -> str:
    """Any value as text that is safe inside a page."""
    return html.escape(str(value))


def lines(value: object) -> str:
    """The same for text of several lines: each stays on a line of its own."""
    return text(value).replace("\n", "<br>")


def table(
    rows: Iterable[Iterable[object]],
    head: Iterable[object] | None = None,
    *,
    cell: Callable[..., str] = lines,
    kind: str = "",
) -> str:
    """A table.

    Parameters
    ----------
    rows
        The cells of each row. Without ``head`` the first cell of a row is the row's title.
    head
        The titles of the columns.
    cell
        What a cell becomes: safe text by default. With ``str`` the cells are HTML already.
    kind
        The table's class, for its style.

    Returns
    -------
    str
        HTML.
    """
    titles = [] if head is None else [[f"<th>{text(title)}</th>" for title in head]]
    body = [_cells(row, cell, titled=head is None) for row in rows]
    inside = "".join(f"<tr>{''.join(row)}</tr>" for row in (*titles, *body))
    return f'<table class="{text(kind)}">{inside}</table>' if kind else f"<table>{inside}</table>"


def _cells(row: Iterable[object], cell: Callable[..., str], titled: bool) -> list[str]:
    tags = chain(["th" if titled else "td"], repeat("td"))
    return [f"<{tag}>{cell(each)}</{tag}>" for tag, each in zip(tags, row, strict=False)]
