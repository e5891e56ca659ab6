"""What a sweep comes to: the final regret of one party at each point, with intervals."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.environments.words import Words
from fedbandits.experiments.intervals import interval
from fedbandits.experiments.offline import ANSWERED_BY, INTERVAL_NOTE

#: What intervals are, where results were measured.
BY_STUDENT = "± is half a 95% interval (Student's t over replicates); fewer than 3 have none."


class Ends(NamedTuple):
    """Means over replicates at the last round, by point and system.

    Parameters
    ----------
    mean
        Mean of one party; where one party acts in a round, of all.
    half
        Half the width of its 95% interval (Student's t); NaN for fewer than 3 replicates.
    unit
        What is counted: ``mistakes per hospital``.
    note
        What the intervals are.
    """

    mean: xr.DataArray
    half: xr.DataArray
    unit: str
    note: str = BY_STUDENT


def swept_keys(result: xr.Dataset) -> list[str]:
    """The swept keys that are dimensions of a result, in order; a selection may have fewer."""
    return [name for name in json.loads(result.attrs["sweep"]) if name in result.dims]


def final_runs(result: xr.Dataset) -> xr.DataArray:
    """Final regret of one party in every replicate, by point and system.

    It is the regret of all parties over the number of those that act in a round. Where regret is
    not known, it is the reward.

    Parameters
    ----------
    result
        The result of a sweep, or of some of its points.
    """
    measured = result[_measured(result)].sum("party", min_count=1)
    return _at_end(result, measured) / result["acting"]


def ends(result: xr.Dataset) -> Ends:
    """The mean of :func:`final_runs` over replicates, with its interval and its unit."""
    if "estimator" in result.dims:
        return _estimated(result)
    runs = final_runs(result)
    mean, half = xr.apply_ufunc(
        _interval_of_finished,
        runs,
        input_core_dims=[["replicate"]],
        output_core_dims=[[], []],
        vectorize=True,
    )
    words = Words(**json.loads(result.attrs["words"]))
    what = words.loss if _measured(result) == "regret" else "reward"
    several = bool((result["acting"] > 1).any())
    return Ends(mean, half, f"{what} per {words.party}" if several else what)


def _interval_of_finished(runs: Floats) -> tuple[float, float]:
    """Mean and half-width over the replicates that are finished."""
    found = interval(runs[np.isfinite(runs)])
    return float(found.mean), float(found.half)


def _estimated(result: xr.Dataset) -> Ends:
    """The value on a log, with the interval of one replicate: all replicates use the same log."""
    value, low, high = (
        _at_end(result, result[name].sel(estimator=ANSWERED_BY, drop=True)).mean("replicate")
        for name in ("value", "value_low", "value_high")
    )
    turn = Words(**json.loads(result.attrs["words"])).turn
    return Ends(value, (high - low) / 2.0, f"estimated reward per {turn}", INTERVAL_NOTE)


def _at_end(result: xr.Dataset, array: xr.DataArray) -> xr.DataArray:
    """What an array holds at the last round of each point."""
    position = xr.apply_ufunc(np.searchsorted, result["round"].values, result["rounds"])
    last: xr.DataArray = array.isel(round=position).drop_vars("round", errors="ignore")
    return last


def claimed_epsilon(result: xr.Dataset) -> xr.DataArray:
    """The ε of each claim, by point and system; NaN where encryption protects, and none is claimed.

    Parameters
    ----------
    result
        The result of a sweep, or of some of its points.
    """
    found: xr.DataArray = result["claim_epsilon"].where(result["claim_encrypted"] == 0)
    return found


def _measured(result: xr.Dataset) -> str:
    return "regret" if bool(result["regret"].notnull().any()) else "reward"
