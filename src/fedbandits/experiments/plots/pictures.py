"""All plots of a run, as images that files and reports hold."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedbandits.experiments.plots.bounds import draw_theory
from fedbandits.experiments.plots.budget import epsilon, has_epsilon
from fedbandits.experiments.plots.curves import regret, reward, syncs
from fedbandits.experiments.plots.style import Look
from fedbandits.systems.theory import Bound

_DOTS_PER_INCH = 130


class Picture(NamedTuple):
    """One plot."""

    #: The image in dots, and in lines.
    png: bytes
    svg: bytes


def draw_plots(
    result: xr.Dataset, bounds: Mapping[str, Sequence[Bound]], look: Look | None = None
) -> dict[str, Picture]:
    """Draw all plots of a result, by name, beside the ``bounds`` of each system."""
    look = look or Look()
    drawings: list[tuple[str, Callable[[Axes], Axes]]] = []

    def add(name: str, draw: Callable[..., Axes]) -> None:
        drawings.append((name, partial(draw, result, font_size=look.font_size)))

    if np.isfinite(result.regret).any():
        add("regret", regret)
    else:
        add("reward", reward)
    if has_epsilon(result):
        add("epsilon", epsilon)
    add("syncs", syncs)
    theorems = partial(draw_theory, result=result, bounds=bounds, look=look)
    abouts = dict.fromkeys(bound.quantity for each in bounds.values() for bound in each)
    drawings += [(f"theory-{about}", partial(theorems, quantity=about)) for about in abouts]
    return {name: picture(draw, look) for name, draw in drawings}


def picture(draw: Callable[[Axes], Axes], look: Look) -> Picture:
    """Make images of one plot, which ``draw`` draws on the axes that it is given."""
    figure = Figure(figsize=look.size, layout="constrained")
    draw(figure.add_subplot())
    png = io.BytesIO()
    with _reproducibly():
        figure.savefig(png, format="png", dpi=_DOTS_PER_INCH)
    return Picture(png.getvalue(), svg_of(figure))


def svg_of(figure: Figure) -> bytes:
    """Return a figure as an SVG image, of which the same result makes the same file."""
    svg = io.BytesIO()
    with _reproducibly():
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()


@contextmanager
def _reproducibly() -> Iterator[None]:
    """Draw the same file from the same result, silently also where a font lacks a script."""
    # Names in an SVG are drawn by chance otherwise.
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "fedbandits"}):
        warnings.filterwarnings("ignore", message="Glyph")
        yield
