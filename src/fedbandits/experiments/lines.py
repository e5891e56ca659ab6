"""Lines over rounds: what each system has come to in every replicate, mean and interval.

Pictures and pages draw the same lines. No picture is made here, so nothing that draws is imported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from fedbandits._typing import Floats, Ints
from fedbandits.experiments.intervals import interval
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.log_values import ANSWERED_BY


class SystemLine(NamedTuple):
    """One system over rounds."""

    label: str  # the system's label
    runs: Floats  # (replicates, points): Each finished replicate
    #: (points,): Their mean, and half the width of its 95% interval: NaN with fewer than 3
    #: replicates.
    mean: Floats
    half: Floats
    replicates: Ints  # (replicates,): Their numbers


class Lines(NamedTuple):
    """Lines of all systems, and what they count."""

    systems: list[SystemLine]
    unit: str  # such as ``mistakes per hospital``
    is_estimate: bool = False  # whether values are estimates from a log


def line_of(label: str, runs: Floats, replicates: Ints) -> SystemLine:
    """Make the line of one system from its finished replicates, (replicates, points)."""
    return SystemLine(label, runs, *interval(runs), replicates)


def lines_of(values: xr.DataArray) -> list[SystemLine]:
    """Make a line for each system, of values by system, replicate and round."""
    found = []
    for system in values.system.values:
        mine = values.sel(system=system).dropna("replicate", how="all")
        runs = np.asarray(mine.transpose("replicate", "round").values, dtype=np.float64)
        found.append(line_of(str(system), runs, np.asarray(mine.replicate.values)))
    return found


def regret_lines(result: xr.Dataset) -> Lines | None:
    """Return the regret of one party; None where it is not known, as of a log."""
    labels = labels_of(result)
    systems = lines_of(result.regret.sum("party", skipna=False) / labels.acting)
    is_known = any(np.isfinite(line.mean).any() for line in systems)
    return Lines(systems, labels.loss) if is_known else None


def reward_lines(result: xr.Dataset) -> Lines:
    """Return the mean reward of all decisions; of a log its doubly robust estimate.

    Intervals of an estimate are those of one replicate: :mod:`.log_values`.
    """
    labels = labels_of(result)
    if "estimator" in result.dims:
        found = result.sel(estimator=ANSWERED_BY)
        halves = lines_of((found.value_high - found.value_low) / 2.0)
        lines = zip(lines_of(found.value), halves, strict=True)
        return Lines([line._replace(half=half.mean) for line, half in lines], labels.gain, True)
    made = [labels.decisions_in(int(round_)).total for round_ in result["round"]]
    decisions = xr.DataArray(made, dims="round")
    mean = result.reward.sum("party", skipna=False) / decisions.where(decisions > 0)
    return Lines(lines_of(mean), labels.gain)
