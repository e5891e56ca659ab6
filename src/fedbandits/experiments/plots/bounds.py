"""Bounds from theorems: compared with the measurements of a run, and drawn beside them."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from fedbandits._typing import Floats
from fedbandits.errors import DataError
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.plots.style import (
    Look,
    finish,
    line_style,
    logarithmic_rounds,
    own_axes,
)
from fedbandits.settings.experiment import Experiment
from fedbandits.systems.theory import Bound, Quantity

#: Verdicts on a bound: it holds; it is larger than anything possible; the run exceeds the bound; or
#: numbers are missing.
BoundVerdict = Literal["holds", "vacuous", "exceeded", "unknown"]


class BoundCheck(NamedTuple):
    """A bound beside a run."""

    label: str  # label of the system
    bound: Bound  # the bound of a theorem
    limit: float  # the bound at the end of the run
    #: The largest of all replicates at the end; their mean for a bound on an expectation.
    measured: float
    #: ``exceeded`` if the run was above the bound at some checkpoint; else ``vacuous`` if no play
    #: could exceed the bound; else ``holds``. If the bound ``departs``, a condition of the theorem
    #: is not met, and the verdict is an observation.
    verdict: BoundVerdict


def measured_curve(result: xr.Dataset, label: str, bound: Bound) -> Floats:
    """Return the curve of a bound, (checkpoints,): of the largest replicate, or the mean."""
    curve = result[bound.quantity].sel(system=label)
    if "party" in curve.dims:
        curve = curve.sum("party", skipna=False)
    over = (
        curve.mean("replicate", skipna=False)
        if bound.in_mean
        else curve.max("replicate", skipna=False)
    )
    return np.asarray(over.values, dtype=np.float64)


def compare(result: xr.Dataset, bounds: Mapping[str, Sequence[Bound]]) -> list[BoundCheck]:
    """Compare all bounds of all systems, by label, with a run's results.

    A bound is left out if it begins after the end of the run.
    """
    rounds = np.asarray(result["round"].values, dtype=np.float64)
    checks = []
    for label, of_system in bounds.items():
        for bound in of_system:
            about = rounds >= bound.since
            if not about.any():
                continue
            curve, limit = measured_curve(result, label, bound)[about], bound.at(rounds[about])
            verdict: BoundVerdict = "holds"
            if not (np.isfinite(curve).all() and np.isfinite(limit).all()):
                verdict = "unknown"
            elif (curve > limit).any():
                verdict = "exceeded"
            elif math.isfinite(bound.largest) and limit[-1] >= bound.largest * rounds[-1]:
                verdict = "vacuous"
            checks.append(BoundCheck(label, bound, float(limit[-1]), float(curve[-1]), verdict))
    return checks


def theory(
    result: xr.Dataset,
    axes: Axes | None = None,
    *,
    quantity: Quantity = "regret",
    size: tuple[float, float] = Look().size,
    font_size: float = Look().font_size,
) -> Axes:
    """Draw measurements, solid, and bounds of theorems, dashed, both of all parties.

    The dotted line is the most that any play can have. A dashed line above it promises nothing.

    The theorems are about a ``quantity``: ``regret``, ``syncs`` or ``messages``.
    :mod:`fedbandits.experiments.plots` explains ``result``, ``axes``, ``size`` and ``font_size``.

    Raises
    ------
    DataError
        Without a theorem about the quantity for these systems.
    """
    labels_of(result)
    # Code that the configuration names is not run, so that a result need not be trusted.
    bounds = Experiment.from_table(tomllib.loads(result.attrs["config"]), modules=()).bounds()
    if not any(bound.quantity == quantity for bound in itertools.chain(*bounds.values())):
        raise DataError(f"quantity: given {quantity}, of which no theorem speaks here")
    axes, look = own_axes(axes, size, font_size)
    return draw_theory(axes, result, bounds, quantity, look)


def draw_theory(
    axes: Axes,
    result: xr.Dataset,
    bounds: Mapping[str, Sequence[Bound]],
    quantity: Quantity,
    look: Look,
) -> Axes:
    """Draw known bounds, with the legend beside the axes."""
    draw_bounds(axes, result, bounds, quantity)
    unit = labels_of(result).words.loss if quantity == "regret" else quantity
    axes.set_ylabel(f"{unit} of all parties so far")
    logarithmic_rounds(axes, result["round"].values)
    entries: list[Artist] = [*axes.get_lines()]
    return finish(axes, look, entries)


def draw_bounds(
    axes: Axes, result: xr.Dataset, bounds: Mapping[str, Sequence[Bound]], quantity: Quantity
) -> None:
    """Draw measurements, solid, and bounds of theorems, dashed.

    The dotted line is the most that any play can have. A dashed line above it promises nothing.
    """
    rounds = result["round"].values.astype(np.float64)
    largest = []
    for index, (label, of_system) in enumerate(bounds.items()):
        mine = [bound for bound in of_system if bound.quantity == quantity]
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
    most = max(filter(math.isfinite, largest), default=None)
    if most is not None:
        axes.plot(rounds, most * rounds, ":", color="black", label="the most that can be")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylabel(f"{quantity} of all parties")
    axes.legend(frameon=False, fontsize=8)
