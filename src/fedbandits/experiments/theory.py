"""Bounds from theorems, compared with what a run measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.systems.theory import Bound

#: What came of a bound: it held and says something; it says nothing; the run went above it; or
#: numbers are missing.
BoundVerdict = Literal["holds", "vacuous", "exceeded", "unknown"]


class BoundCheck(NamedTuple):
    """A bound beside a run."""

    label: str  # the system's label
    bound: Bound  # what is promised
    limit: float  # the bound at the end of the run
    #: The largest of all replicates at the end; their mean for a bound on an expectation.
    measured: float
    #: ``exceeded`` if the run was above the bound at some checkpoint; else ``vacuous`` if nothing
    #: that can be played would be; else ``holds``. Where the bound ``departs``, that is what was
    #: seen, and not what was promised.
    verdict: BoundVerdict


def measured_curve(result: xr.Dataset, label: str, bound: Bound) -> Floats:
    """Return the curve that a bound is on, (checkpoints,): the largest replicate, or the mean."""
    found = result[bound.quantity].sel(system=label)
    if "party" in found.dims:
        found = found.sum("party", skipna=False)
    over = (
        found.mean("replicate", skipna=False)
        if bound.in_mean
        else found.max("replicate", skipna=False)
    )
    return np.asarray(over.values, dtype=np.float64)


def compare(result: xr.Dataset, bounds: Mapping[str, Sequence[Bound]]) -> list[BoundCheck]:
    """Compare all bounds of all systems, by label, with a run's results.

    A bound is left out where the run is shorter than what it is about.
    """
    rounds = np.asarray(result["round"].values, dtype=np.float64)
    found = []
    for label, of_one in bounds.items():
        for bound in of_one:
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
            found.append(BoundCheck(label, bound, float(limit[-1]), float(curve[-1]), verdict))
    return found
