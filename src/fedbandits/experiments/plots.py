"""Plots of a run: regret with confidence bands, syncs, ε spent."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedbandits.settings.experiment import Experiment

#: Okabe & Ito (2008): told apart by people with any kind of colour vision.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
_Drawing = Callable[[Axes, Experiment, xr.Dataset], None]
_STYLES = ("-", "--", "-.", ":")


def draw_plots(experiment: Experiment, result: xr.Dataset) -> dict[str, bytes]:
    """All plots as PNG images, by name."""
    drawings = {"regret": _draw_regret, "syncs": _draw_syncs}
    if np.isfinite(result.epsilon.mean("replicate")).all("round").any():
        drawings["epsilon"] = _draw_epsilon
    return {name: _png(draw, experiment, result) for name, draw in drawings.items()}


def _png(draw: _Drawing, experiment: Experiment, result: xr.Dataset) -> bytes:
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    draw(axes, experiment, result)
    legend = axes.get_legend()
    for text in legend.get_texts() if legend else ():
        text.set_parse_math(False)  # a label is a name, not a formula
    axes.title.set_parse_math(False)
    axes.set_xlabel("round")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # scripts that the font lacks
        figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()


def line_style(index: int) -> dict[str, Any]:
    """Colour and dashes of the index-th line."""
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "linestyle": _STYLES[index // len(_COLOURS) % len(_STYLES)],
        "linewidth": max(1.4, 3.0 - 0.5 * index),  # lines that coincide all show
    }


def _draw_regret(axes: Axes, experiment: Experiment, result: xr.Dataset) -> None:
    """Mean regret an acting party, with a 95% band over replicates, on logarithmic axes."""
    per_party = result.regret.sum("party", skipna=False) / experiment.environment.acting
    for index, entry in enumerate(experiment.systems):
        runs = per_party.sel(system=entry.label).dropna("replicate", how="all")
        mean = runs.mean("replicate")
        axes.plot(result["round"], mean, label=entry.label, **line_style(index))
        count = runs.sizes["replicate"]
        if count > 1:
            half = 1.96 * runs.std("replicate", ddof=1) / math.sqrt(count)
            axes.fill_between(
                result["round"],
                np.maximum(mean - half, 1e-3),
                mean + half,
                color=line_style(index)["color"],
                alpha=0.18,
                linewidth=0,
            )
    axes.set_xscale("log")
    final = per_party.isel(round=-1).max()
    axes.set_yscale("log" if final > 0 else "linear")
    several = experiment.environment.acting > 1
    axes.set_ylabel("cumulative regret an agent" if several else "cumulative regret")
    axes.legend(frameon=False)


def _draw_syncs(axes: Axes, experiment: Experiment, result: xr.Dataset) -> None:
    """Syncs so far, the mean over replicates."""
    for index, entry in enumerate(experiment.systems):
        syncs = result.syncs.sel(system=entry.label).mean("replicate")
        axes.plot(
            result["round"], syncs, label=entry.label, drawstyle="steps-post", **line_style(index)
        )
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("syncs so far")
    axes.legend(frameon=False)


def _draw_epsilon(axes: Axes, experiment: Experiment, result: xr.Dataset) -> None:
    """ε that the contents of one party's messages have cost; systems in clear are left out."""
    left_out = []
    for index, entry in enumerate(experiment.systems):
        spent = result.epsilon.sel(system=entry.label).mean("replicate")
        if not np.isfinite(spent).all():
            left_out.append(entry.label)
            continue
        axes.plot(
            result["round"], spent, label=entry.label, drawstyle="steps-post", **line_style(index)
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("ε spent on message contents")
    if left_out:
        axes.set_title(f"no finite ε: {', '.join(left_out)}", fontsize=9)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False)
