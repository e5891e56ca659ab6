"""Plots of a result: regret, reward, syncs and ε over rounds; theorems beside measurements.

Each function takes the ``result`` of a run, and returns matplotlib axes, which
``axes.figure.savefig(path)`` saves. The result has all facts of a plot. All functions take:

* ``axes``: the axes to draw on. By default axes of a new figure.
* ``size``, ``font_size``: width and height of a new figure, in inches; size of text, in points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from fedbandits.experiments.plots.bounds import draw_bounds, draw_theory, theory
from fedbandits.experiments.plots.curves import epsilon, has_epsilon, regret, reward, syncs
from fedbandits.experiments.plots.style import Look, Picture, line_style, picture
from fedbandits.systems.theory import Bound

__all__ = [
    "Look", "Picture", "draw_bounds", "draw_plots", "epsilon", "line_style", "regret", "reward",
    "syncs", "theory",
]  # fmt: skip


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
    drawings += [
        (f"theory-{quantity}", partial(theorems, quantity=quantity))
        for quantity in dict.fromkeys(b.quantity for b in itertools.chain(*bounds.values()))
    ]
    return {name: picture(draw, look) for name, draw in drawings}
