"""How plots look: colours, sizes, axes, and a legend that never covers a line."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fedbandits._typing import Floats

#: Okabe & Ito (2008): told apart by people with any kind of colour vision.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
_STYLES = ("-", "--", "-.", ":")
_NOTE = "#444444"
#: Characters of a line of the legend.
_LABEL_WIDTH = 26
#: Inches that a line of text takes, for each point of its size.
_LINE_HEIGHT = 1.45 / 72.0


class Look(NamedTuple):
    """Size of a plot.

    Parameters
    ----------
    size
        Width and height, in inches.
    font_size
        Size of all text, in points.
    """

    size: tuple[float, float] = (7.2, 4.0)
    font_size: float = 10.0


def line_style(index: int) -> dict[str, Any]:
    """Colour and dashes of the index-th line."""
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "linestyle": _STYLES[index // len(_COLOURS) % len(_STYLES)],
        "linewidth": max(1.4, 3.0 - 0.5 * index),  # lines that coincide all show
    }


def own_axes(axes: Axes | None, look: Look) -> Axes:
    """The given axes, or those of a new figure of their own."""
    if axes is not None:
        return axes
    return Figure(figsize=look.size, layout="constrained").add_subplot()


def logarithmic_rounds(axes: Axes, rounds: Floats) -> None:
    """An axis of rounds on which ten times as many are as far as ten times as many again."""
    axes.set(xscale="log", xlabel="round (logarithmic)")
    axes.set_xlim(float(rounds[0]), float(rounds[-1]))
    axes.xaxis.set_major_formatter(plain_number)


def plain_number(value: float, _: float) -> str:
    """A tick of an axis: 2,000 or 0.25."""
    return f"{value:,.6g}"


def finish(axes: Axes, look: Look, entries: Sequence[Artist], notes: Sequence[str] = ()) -> Axes:
    """Sizes, a light grid, and the legend beside the axes.

    Parameters
    ----------
    axes
        What is drawn on.
    look
        Sizes.
    entries
        What the legend shows, from the top; each has a label.
    notes
        Sentences below them.
    """
    small = look.font_size * 0.9
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=small)
    for title in (axes.xaxis.label, axes.yaxis.label, axes.title):
        title.set_fontsize(look.font_size)
        title.set_parse_math(False)  # a name is not a formula
    blank = [Line2D([], [], linestyle="none") for _ in notes]
    folded = [_folded(str(entry.get_label())) for entry in entries] + [_folded(n) for n in notes]
    legend = axes.legend(
        [*entries, *blank], folded, frameon=False, fontsize=small, loc="upper left",
        bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=2.4,
    )  # fmt: skip
    for place, text in enumerate(legend.get_texts()):
        text.set_parse_math(False)
        if place >= len(entries):
            text.set_color(_NOTE)
            text.set_fontsize(look.font_size * 0.8)
    _make_room(axes, look, sum(text.count("\n") + 1 for text in folded))
    return axes


def _make_room(axes: Axes, look: Look, lines: int) -> None:
    """Make a plot of its own higher where its legend is."""
    figure = axes.figure
    needed = (lines + 4) * look.font_size * _LINE_HEIGHT
    if isinstance(figure, Figure) and len(figure.axes) == 1 and needed > figure.get_figheight():
        figure.set_figheight(needed)


def _folded(text: str) -> str:
    """Text in lines, none of it cut."""
    return textwrap.fill(text, _LABEL_WIDTH, break_on_hyphens=False)
