"""Plots of results: ``fb.plot.regret(result)`` draws a plot, and returns matplotlib axes.

A result holds all that a plot needs, so the result may come from a file. Functions draw on given
axes, or make a figure: ``fb.plot.regret(result).figure.savefig("regret.svg")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily

__all__ = ["epsilon", "regret", "reward", "sweep", "syncs", "theory"]

if TYPE_CHECKING:
    from fedbandits.experiments.plots import epsilon, regret, reward, syncs, theory
    from fedbandits.experiments.plots.swept import draw_sweep as sweep
else:
    __getattr__, __dir__ = lazily(__name__, __all__)
