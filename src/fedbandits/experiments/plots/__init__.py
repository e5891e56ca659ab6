"""Plots of a result: regret, reward, syncs and ε over rounds; theorems beside what was measured.

Each function takes a result and returns matplotlib axes. What a plot must know is in the result.
"""

from fedbandits.experiments.plots.bounds import draw_bounds, theory
from fedbandits.experiments.plots.budget import epsilon
from fedbandits.experiments.plots.curves import regret, reward, syncs
from fedbandits.experiments.plots.pictures import Picture, draw_plots
from fedbandits.experiments.plots.style import Look, line_style

__all__ = [
    "Look", "Picture", "draw_bounds", "draw_plots", "epsilon", "line_style", "regret", "reward",
    "syncs", "theory",
]  # fmt: skip
