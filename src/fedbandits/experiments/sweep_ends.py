"""What a sweep comes to: the final regret of one party at each point, with intervals."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from fedbandits.environments.words import Words
from fedbandits.experiments.intervals import FEWEST, LEVEL

#: Of Student's t, beyond which lies half of what a 95% interval leaves out.
_TAIL = 0.5 + LEVEL / 2.0


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
    """

    mean: xr.DataArray
    half: xr.DataArray
    unit: str


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
    position = xr.apply_ufunc(np.searchsorted, result["round"].values, result["rounds"])
    last: xr.DataArray = measured.isel(round=position) / result["acting"]
    return last.drop_vars("round", errors="ignore")


def ends(result: xr.Dataset) -> Ends:
    """The mean of :func:`final_runs` over replicates, with its interval and its unit."""
    runs = final_runs(result)
    count = runs.count("replicate")
    mean, deviation = runs.mean("replicate"), runs.where(count >= FEWEST).std("replicate", ddof=1)
    quantile = xr.apply_ufunc(stdtrit, np.maximum(count - 1, 1), _TAIL)
    words = Words(**json.loads(result.attrs["words"]))
    what = words.loss if _measured(result) == "regret" else "reward"
    several = bool((result["acting"] > 1).any())
    half = quantile * deviation / np.sqrt(np.maximum(count, 1))
    return Ends(mean, half, f"{what} per {words.party}" if several else what)


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
