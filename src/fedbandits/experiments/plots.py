"""Plots of a run: regret with confidence bands, syncs, ε spent."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedbandits.experiments.theory import measured_curve
from fedbandits.settings.experiment import Experiment
from fedbandits.systems.theory import Bound, Quantity

#: Okabe & Ito (2008): told apart by people with any kind of colour vision.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
_Drawing = Callable[[Axes], None]
_STYLES = ("-", "--", "-.", ":")


def draw_plots(
    experiment: Experiment, result: xr.Dataset, bounds: Mapping[str, Sequence[Bound]]
) -> dict[str, bytes]:
    """All plots as PNG images, by name.

    Parameters
    ----------
    experiment, result
        What was run, and what came of it.
    bounds
        What theorems promise, by the systems' labels.
    """
    drawings: dict[str, _Drawing] = {
        "regret": partial(_draw_regret, experiment=experiment, result=result),
        "syncs": partial(_draw_syncs, experiment=experiment, result=result),
    }
    if np.isfinite(result.epsilon.mean("replicate")).all("round").any():
        drawings["epsilon"] = partial(_draw_epsilon, experiment=experiment, result=result)
    for quantity in dict.fromkeys(bound.quantity for each in bounds.values() for bound in each):
        drawings[f"theory-{quantity}"] = partial(
            draw_bounds, result=result, bounds=bounds, quantity=quantity
        )
    return {name: _png(draw) for name, draw in drawings.items()}


def _png(draw: _Drawing) -> bytes:
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    draw(axes)
    legend = axes.get_legend()
    if legend:
        legend.set_in_layout(False)  # of many systems it is taller than the axes
        for text in legend.get_texts():
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


def draw_bounds(
    axes: Axes, result: xr.Dataset, bounds: Mapping[str, Sequence[Bound]], quantity: Quantity
) -> None:
    """What was measured, solid, and below it or above it what theorems promise, dashed.

    Dotted: the most that could be, whatever is played. A dashed line above it promises nothing.
    """
    rounds = result["round"].values.astype(np.float64)
    largest = []
    for index, (label, of_one) in enumerate(bounds.items()):
        mine = [bound for bound in of_one if bound.quantity == quantity]
        look = line_style(index) | {"linestyle": "-"}
        for number, bound in enumerate(mine):
            shown = rounds >= bound.since
            if number == 0:
                curve = measured_curve(result, label, bound)
                axes.plot(rounds[shown], curve[shown], label=label, **look)
            name = bound.theorem.rpartition(", ")[2]
            dashes = look | {"linestyle": "--" if number == 0 else "-.", "linewidth": 1.4}
            axes.plot(rounds[shown], bound.at(rounds[shown]), label=f"{label}: {name}", **dashes)
            largest.append(bound.largest)
    most = max((each for each in largest if math.isfinite(each)), default=None)
    if most is not None:
        axes.plot(rounds, most * rounds, ":", color="black", label="the most that can be")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylabel(f"{quantity} of all parties")
    axes.legend(frameon=False, fontsize=8)
