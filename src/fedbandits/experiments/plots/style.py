"""The look of plots: colours, sizes, axes, a legend beside the lines; and their images."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fedbandits._typing import Floats

#: Okabe & Ito (2008): distinct for all kinds of colour vision.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
_STYLES = ("-", "--", "-.", ":")
_NOTE = "#444444"
#: Most characters of a line of the legend.
_LABEL_WIDTH = 26
#: Height of a line of text in inches, for each point of its size.
_LINE_HEIGHT = 1.45 / 72.0
_DOTS_PER_INCH = 130


class Look(NamedTuple):
    """Size of a plot."""

    size: tuple[float, float] = (7.2, 4.0)  # width and height, in inches
    font_size: float = 10.0  # size of all text, in points


def line_style(index: int) -> dict[str, Any]:
    """Return the colour and the dashes of the index-th line."""
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "linestyle": _STYLES[index // len(_COLOURS) % len(_STYLES)],
        "linewidth": max(1.4, 3.0 - 0.5 * index),  # so that coinciding lines all show
    }


def own_axes(axes: Axes | None, size: tuple[float, float], font_size: float) -> tuple[Axes, Look]:
    """Return the given axes, or the axes of a new figure, and their look."""
    drawn = axes or Figure(figsize=size, layout="constrained").add_subplot()
    return drawn, Look(size, font_size)


def logarithmic_rounds(axes: Axes, rounds: Floats) -> None:
    """Make the axis of rounds logarithmic."""
    axes.set(xscale="log", xlabel="round (logarithmic)")
    axes.set_xlim(float(rounds[0]), float(rounds[-1]))
    axes.xaxis.set_major_formatter(plain_number)


def plain_number(value: float, _: float) -> str:
    """Write a tick of an axis: 2,000 or 0.25."""
    return f"{value:,.6g}"


def finish(axes: Axes, look: Look, entries: Sequence[Artist], notes: Sequence[str] = ()) -> Axes:
    """Set sizes and a light grid, and put the legend beside the axes.

    The legend shows ``entries`` from the top, and sentences below them.
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
    """Make a figure of its own higher if its legend is higher."""
    figure = axes.figure
    needed = (lines + 4) * look.font_size * _LINE_HEIGHT
    if isinstance(figure, Figure) and len(figure.axes) == 1 and needed > figure.get_figheight():
        figure.set_figheight(needed)


def _folded(text: str) -> str:
    """Fold text into lines, without a cut."""
    return textwrap.fill(text, _LABEL_WIDTH, break_on_hyphens=False)


#: Curves that are nearer than this share of the height of a plot share a line.
_NEAR = 0.004
#: Length of a dash, in line widths.
_DASH = 3.5
_WIDTH = 1.8


def coinciding(curves: Sequence[Floats], low: float, high: float) -> list[tuple[int, ...]]:
    """Group the numbers of curves that cannot be told apart in a plot.

    A curve is an array of heights; NaN in both is no difference. The plot reaches from ``low`` to
    ``high``.
    """
    groups: list[list[int]] = []
    for number, curve in enumerate(curves):
        for group in groups:
            other = curves[group[0]]
            apart = np.where(np.isnan(curve) & np.isnan(other), 0.0, np.abs(curve - other))
            if (apart <= _NEAR * (high - low)).all():
                group.append(number)
                break
        else:
            groups.append([number])
    return [tuple(group) for group in groups]


def looks(groups: Sequence[Sequence[int]]) -> dict[int, dict[str, Any]]:
    """Return the look of every curve; curves of a group share a line, a dash each in turn."""
    styles = {}
    for group in groups:
        for turn, number in enumerate(group):
            styles[number] = line_style(number) | {"linewidth": _WIDTH}
            if len(group) > 1:
                period = _DASH * len(group)
                dashes = (_DASH, period - _DASH)
                start = (period - _DASH * turn) % period
                styles[number] |= {"linestyle": (start, dashes), "dash_capstyle": "butt"}
    return styles


def notes(groups: Sequence[Sequence[int]], labels: Sequence[str]) -> list[str]:
    """Write a sentence for every group of several curves."""
    return [
        f"{', '.join(labels[i] for i in group[:-1])} and {labels[group[-1]]} coincide"
        for group in groups
        if len(group) > 1
    ]


class Picture(NamedTuple):
    """One plot."""

    #: The image in pixels, and in vectors.
    png: bytes
    svg: bytes


def picture(draw: Callable[[Axes], Axes], look: Look) -> Picture:
    """Make images of a plot, which ``draw`` draws on given axes."""
    figure = Figure(figsize=look.size, layout="constrained")
    draw(figure.add_subplot())
    png = io.BytesIO()
    with _reproducibly():
        figure.savefig(png, format="png", dpi=_DOTS_PER_INCH)
    return Picture(png.getvalue(), svg_of(figure))


def svg_of(figure: Figure) -> bytes:
    """Return a figure as an SVG image, the same file for the same result."""
    svg = io.BytesIO()
    with _reproducibly():
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()


@contextmanager
def _reproducibly() -> Iterator[None]:
    """Draw the same file from the same result, without warnings of missing glyphs."""
    # Without the salt, names in an SVG are random.
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "fedbandits"}):
        warnings.filterwarnings("ignore", message="Glyph")
        yield
