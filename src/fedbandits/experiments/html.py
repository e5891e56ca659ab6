"""Pieces of HTML that reports are made of."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable
from typing import Any

from fedbandits._html import table
from fedbandits._html import text as as_text

__all__ = ["as_figure", "as_number", "as_table", "as_text"]


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


#: How a PNG image begins. A browser shows an image only under its own media type.
_PNG = b"\x89PNG\r\n\x1a\n"


def as_figure(caption: str, image: bytes, seen: str = "") -> str:
    """An SVG or PNG image inside the page, with its caption; ``seen`` says what it shows."""
    data, text = base64.b64encode(image).decode("ascii"), as_text(caption)
    kind = "png" if image.startswith(_PNG) else "svg+xml"
    return (
        f'<figure><img alt="{as_text(seen) or text}" src="data:image/{kind};base64,{data}">'
        f"<figcaption>{text}</figcaption></figure>"
    )


def as_table(
    titles: Iterable[object],
    rows: Iterable[Iterable[str]],
    cell: Callable[[str], str] = as_text,
    kind: str = "",
    caption: str = "",
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
    caption
        What the table shows.
    """
    whole = table(rows, titles, cell=cell, kind=kind, caption=caption)
    return f'<div class="wide">{whole}</div>'
