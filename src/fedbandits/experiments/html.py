"""HTML pages of reports: their pieces, their style, and the box that stands on real data."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from fedbandits._html import table
from fedbandits._html import text as as_text

__all__ = [
    "MARK", "as_figure", "as_number", "as_table", "as_text", "configuration", "page",
    "real_data_box",
]  # fmt: skip


def as_number(value: Any) -> str:
    """Write a number with as many digits as one reads; text stays as it is."""
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
    """Embed an SVG or PNG image with its caption; ``seen`` describes it in words."""
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
    """Write a table that scrolls sideways where it is wide.

    Cells are text that ``cell`` makes safe, or HTML if it is ``str``; ``kind`` is the table's
    class, for its style.
    """
    whole = table(rows, titles, cell=cell, kind=kind, caption=caption)
    return f'<div class="wide">{whole}</div>'


#: What a browser may load: images that stand in the page itself. No script, nothing from a network.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
:root { --good: #00745a; --bad: #b54708; --plain: #666; --line: #d9d9d9; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; max-width: 1400px; margin: 2rem auto;
       padding: 0 1.5rem; color: #1a1a1a; background: #fff; }
h1 { margin: 0 0 .3rem; overflow-wrap: anywhere; } h2 { margin: 2.4rem 0 .6rem; }
h3 { margin: 1.2rem 0 .4rem; } p, li { max-width: 80ch; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #444; font-size: .9rem; padding: .2rem 0 .4rem; }
th, td { text-align: right; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
td { white-space: nowrap; } td:first-child { white-space: normal; overflow-wrap: anywhere; }
.overview th, .overview td { text-align: left; vertical-align: top; white-space: normal; }
.overview td:first-child { min-width: 9rem; overflow-wrap: anywhere; }
.pairs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr));
         gap: 1rem 2rem; align-items: start; }
.claim, .box { border-left: 5px solid var(--good); padding: .3rem 1rem .6rem; background: #f4faf8; }
.claim.broken { border-color: var(--bad); background: #fdf5ef; }
.claim.clear { border-color: var(--plain); background: #f5f5f5; }
.claim h3 { margin: .5rem 0; overflow-wrap: anywhere; }
.claim th, .claim td { text-align: left; vertical-align: top; white-space: normal; }
.claim th { width: 9.5rem; font-weight: 600; } .claim ul { margin: 0; padding-left: 1.1rem; }
.box.real { border: 2px solid var(--bad); border-left-width: 8px; background: #fff7f0;
            margin: 1.2rem 0; } .box h2 { margin: .5rem 0; }
.box td, .box th { text-align: left; white-space: normal; }
.wide { overflow-x: auto; margin-bottom: 1rem; }
figure { margin: 0 0 1rem; } img { max-width: 100%; height: auto; }
figcaption, .note { color: #444; font-size: .9rem; }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto; font-size: .85rem;
      columns: auto 28rem; column-gap: 2rem; }
.warning { color: var(--bad); font-weight: 600; }
dl { columns: 2 34rem; column-gap: 2rem; } dt { font-weight: 600; break-after: avoid; }
dd { margin: 0 0 .6rem; break-before: avoid; max-width: 75ch; }
@media print {
  html { font-size: 12px; } body { font-size: 1rem; margin: 0; padding: 0; max-width: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h1, h2, h3, caption, h2 + .note, h2 + p, h3 + p { break-after: avoid; }
  tr, figure, .box, li, dd, dt, .officer .claim { break-inside: avoid; }
  thead { display: table-header-group; } h2 { margin-top: 1.6rem; }
  .pairs { display: block; } .pairs > * { margin-bottom: 1rem; }
  figure { text-align: center; } figure img { width: 70%; }
  .wide { overflow: visible; } table { font-size: .92rem; }
  th, td { padding: .2rem .35rem; } th { white-space: normal; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; line-height: 1.3;
        columns: auto; /* in columns, a long text begins only on a page of its own */ }
  dl { columns: 2; font-size: .92rem; } p, li, dd { max-width: none; }
}
"""
_PAPER = """
@page {{ size: A4; margin: 18mm 14mm 18mm 14mm;
  @top-left {{ content: "{title}"; font: 8pt sans-serif; color: #555; }}
  @top-right {{ content: "{mark}"; font: 8pt sans-serif; color: #b54708; }}
  @bottom-right {{ content: counter(page) " / " counter(pages); font: 8pt sans-serif; }}
}}
"""


def page(title: str, parts: Iterable[str], mark: str = "") -> str:
    """Write a whole page; ``mark`` is a few words at the head of every printed page."""
    paper = _PAPER.format(title=_css_text(title), mark=_css_text(mark))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{as_text(title)}</title><style>{_STYLE}{paper}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def configuration(toml: str, versions: str = "") -> str:
    """Write a section with the configuration, and the versions that a result names as JSON."""
    section = (
        "<section><h2>Configuration</h2>"
        "<p class=note>Resolved; save it as a file to run this again.</p>"
        f"<pre>{as_text(toml)}</pre></section>"
    )
    if not versions:
        return section
    named = ", ".join(f"{name} {number}" for name, number in json.loads(versions).items())
    return f"{section}<p class=note>{as_text(f'Made with {named}.')}</p>"


def _css_text(text: str) -> str:
    """Escape text between quotes in a style sheet; letters, digits and spaces stay."""
    return "".join(c if c.isalnum() or c in " -.,:" else f"\\{ord(c):x} " for c in text)


#: At the head of every printed page.
MARK = "made from real data: not private"
_WHY = (
    "This report is itself not private. Its figures and plots are computed from raw data, exactly "
    "and without noise. No ε covers them. Where sites or visits are few, they can tell something "
    "about a single person."
)
_WHO = (
    "Show it only to people who may see the raw data. If these data are public already, nothing of "
    "this applies."
)
_MAY = (
    (
        "what systems claim, what attacks found, and the configuration",
        "Yes, after a look. They follow from settings and public facts. But paths, names of sites "
        "and of columns, and how often people come may stand in them. Take out the digest: who "
        "knows all records but one finds the last one by it.",
    ),
    (
        "this report as a whole; answer.json, summary.csv, results.nc and the plots",
        "No. They are exact figures of raw data. One that must leave needs noise and a price of "
        "its own; nothing here adds that.",
    ),
    (
        "messages of this run, or its seed beside anything computed from it",
        "No. The noise of a simulation comes from the seed, and whoever has the seed can take it "
        "away.",
    ),
)


def real_data_box() -> str:
    """Write the box that a report on real data begins with."""
    rows = [[as_text(cell) for cell in row] for row in _MAY]
    table = as_table(("what", "may it be passed on?"), rows, str)
    return (
        '<aside class="box real" aria-labelledby="real-data">'
        '<h2 id="real-data">This report is made from real data</h2>'
        f"<p><strong>{as_text(_WHY)}</strong></p><p>{as_text(_WHO)}</p>{table}</aside>"
    )
