"""Drawing that the figures share: axes side by side, legends beside them, curves with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.experiments.plots import line_style


def panels(
    rows: int, columns: int, width: float = 4.6, height: float = 3.6
) -> tuple[Plot, list[Axes]]:
    """Make axes side by side, row by row; sizes are in inches each."""
    plot = Plot(figsize=(width * columns, height * rows), layout="constrained")
    axes: list[Axes] = list(plot.subplots(rows, columns, squeeze=False).ravel())
    for each in axes:
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    return plot, axes


def legend_beside(axes: Axes, **options: Any) -> None:
    """Put the legend to the right of the axes, where it hides no curve."""
    place = {"frameon": False, "fontsize": 8, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    axes.legend(**place | options)


def draw_lines(
    axes: Axes, lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], first: int = 0
) -> None:
    """Draw points joined by lines, a style each, from the ``first``-th style on."""
    for index, (label, (x, y)) in enumerate(lines.items()):
        axes.plot(x, y, marker=".", label=label, **line_style(first + index))


def draw_curves(
    axes: Axes, curves: Mapping[str, xr.DataArray], styles: Mapping[str, dict[str, Any]]
) -> None:
    """Draw means over rounds with a band of one standard deviation over replicates.

    Parameters
    ----------
    axes
        What is drawn on.
    curves
        By label, (replicate, round).
    styles
        The look of each line, so that a system looks alike in all panels.
    """
    for label, curve in curves.items():
        mean, look = curve.mean("replicate"), styles[label]
        axes.plot(curve["round"], mean, label=label, **look)
        if curve.sizes["replicate"] > 1:
            spread = curve.std("replicate", ddof=1)
            axes.fill_between(
                curve["round"], (mean - spread).clip(min=1e-3), mean + spread,
                color=look["color"], alpha=0.18, linewidth=0,
            )  # fmt: skip


def styles_of(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return a look for every label, in order."""
    return {label: line_style(index) for index, label in enumerate(labels)}
