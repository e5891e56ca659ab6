"""Pieces of HTML that reports are made of."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Callable, Iterable
from typing import Any


def as_text(value: object) -> str:
    """Any value, safe inside a page."""
    return html.escape(str(value))


def as_number(value: Any) -> str:
    """A number of a table, with as many digits as one reads; text stays what it is."""
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def as_figure(caption: str, image: bytes) -> str:
    """A PNG image inside the page, with its caption."""
    data, text = base64.b64encode(image).decode("ascii"), as_text(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
        f"<figcaption class=note>{text}</figcaption></figure>"
    )


def as_table(
    titles: Iterable[object],
    rows: Iterable[Iterable[str]],
    cell: Callable[[str], str] = as_text,
    kind: str = "",
) -> str:
    """A table that scrolls sideways where it is wide.

    Parameters
    ----------
    titles
        Of the columns.
    rows
        Cells of each row.
    cell
        What a cell becomes: safe text by default, else HTML.
    kind
        The table's class, for its style.
    """
    head = "".join(f"<th>{as_text(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell(each)}</td>' for each in row)}</tr>" for row in rows)
    style = f" class={kind}" if kind else ""
    return f"<div class=wide><table{style}><tr>{head}</tr>{body}</table></div>"
