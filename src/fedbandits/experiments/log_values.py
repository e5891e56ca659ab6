"""Values of systems on a log: variables of the result, and rows for texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.environments.tables.forms import NOTED
from fedbandits.offline.estimates import (
    FEW,
    METHODS,
    NAMES,
    PARTS,
    intervals,
    is_far,
    mean_weights,
)

#: Note on the missing regret of a log.
NO_REGRET = (
    "The regret is not known: a log does not tell what the actions that were not taken would have "
    "earned. Systems are compared by their estimated value, the mean reward of a decision."
)
#: The method that compares systems, whose intervals are usually the narrowest.
ANSWERED_BY = "dr"
#: Methods whose intervals must overlap, because they use the same events.
_COMPARED = ("ips", "snips", "dr")
#: Note on intervals of values.
INTERVAL_NOTE = (
    "Value: mean reward of a decision over the whole run, learning included, with a 95% interval. "
    "All replicates use the same log. So the interval is the mean one of a replicate; it does not "
    "become narrower with more replicates."
)

#: Note on ± in tables.
BAND_NOTE = "Estimated from the log. ± is half of the 95% interval for the chance of the log."


class Row(NamedTuple):
    """The value of one system by one method, for tables."""

    system: str  # label of the system
    #: The method: ``ips``, and in words.
    method: str
    name: str
    #: Mean over replicates, and its 95% interval.
    value: float
    low: float
    high: float
    #: Events of all parties, matching events, and the effective number of matching events; means
    #: over replicates.
    events: float
    matched: float
    effective: float

    @property
    def few(self) -> bool:
        """True if too few events match for an interval that can be trusted."""
        return not self.effective >= FEW


def with_estimates(result: xr.Dataset) -> xr.Dataset:
    """Replace a log's sums in a result by estimates, and its regret by NaN.

    New variables are ``value``, ``value_low``, ``value_high``, ``matched`` and ``effective``, with
    the dimension ``estimator``; and ``events`` and ``observed`` for each party.

    Parameters
    ----------
    result
        The result with the sums of each replicate. The result of a sweep has its keys as further
        dimensions.
    """
    result = result.assign(regret=result.regret * math.nan)
    noted = f"{NOTED}{METHODS[0]}.{PARTS[0]}"
    if noted not in result:
        return result
    *lead, _, _ = result[noted].dims
    sums = _sums_of(result)
    result = result.drop_vars([name for name in result.data_vars if str(name).startswith(NOTED)])
    whole = np.nansum(sums, axis=-3)  # some points of a sweep have fewer parties
    whole[np.isnan(sums).all(axis=-3)] = math.nan
    estimated, matched = intervals(whole), PARTS.index("matched")
    across = (*lead, "estimator", "round")
    estimates = {
        "value": estimated.value, "value_low": estimated.low, "value_high": estimated.high,
        "matched": whole[..., matched], "effective": estimated.effective,
    }  # fmt: skip
    replay = sums[..., METHODS.index("replay"), :, :, :]
    of_party = (*lead, "party", "round")
    result = result.assign({name: (across, values) for name, values in estimates.items()})
    result = result.assign(
        events=(of_party, replay[..., PARTS.index("events")]),
        observed=(of_party, replay[..., matched]),
    )
    weights = mean_weights(whole[..., METHODS.index("ips"), :, :])
    names = ("weight", "weight_error")
    result = result.assign({n: ((*lead, "round"), v) for n, v in zip(names, weights, strict=True)})
    result = result.assign_coords(estimator=list(METHODS))
    named = "; ".join(f"{method}: {NAMES[method]}" for method in METHODS)
    result.attrs["estimates"] = f"{NO_REGRET} {INTERVAL_NOTE} Methods: {named}."
    return result


def _sums_of(result: xr.Dataset) -> Floats:
    """Collect the sums of replicates, (…, system, replicate, method, party, round, part)."""
    noted = [[result[f"{NOTED}{m}.{part}"].values for part in PARTS] for m in METHODS]
    sums: Floats = np.moveaxis(np.array(noted), (0, 1), (-4, -1))
    return sums


def estimates_of(result: xr.Dataset) -> list[Row]:
    """Return the value of every system at the last round, a row for each method.

    Only finished replicates count. Without a log there are no rows.
    """
    if "estimator" not in result.dims:
        return []
    last = result.isel(round=-1)
    return [
        _row(last.sel(system=label, estimator=method), str(label), method)
        for label in result.system.values
        for method in METHODS
    ]


def _row(at_end: xr.Dataset, system: str, method: str) -> Row:
    """Make the row of one system and method."""
    names = ("value", "value_low", "value_high", "matched", "effective")
    means = {name: _mean(at_end[name].values) for name in names}
    events = _mean(at_end.events.sum("party", skipna=False).values)
    return Row(
        system, method, NAMES[method], means["value"], means["value_low"], means["value_high"],
        events, means["matched"], means["effective"],
    )  # fmt: skip


def _mean(values: Floats) -> float:
    """Return the mean of values without NaN."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def few_said(rows: Sequence[Row]) -> str:
    """Warn of estimates from too few events; empty without such estimates."""
    few = list(dict.fromkeys(row.system for row in rows if row.few))
    if not few:
        return ""
    least = min(row.effective for row in rows)
    return (
        f"Too few events tell something of {', '.join(few)}: the fewest are {least:.3g} effective "
        f"events, and an interval needs about {FEW:g}. Do not rely on these numbers. Use a longer "
        "log, fewer actions, or a log whose policy took every action more often."
    )


def doubts(result: xr.Dataset) -> dict[str, str]:
    """Return for each system with wrong estimates the reason.

    Estimates are wrong if the intervals of three methods lie apart, or if the mean weight of an
    event is far from 1, its value with right propensities.
    """
    reasons = dict[str, str]()
    if "weight" not in result:
        return reasons
    rows = {(row.system, row.method): row for row in estimates_of(result)}
    for label in dict.fromkeys(system for system, _ in rows):
        last = result.isel(round=-1).sel(system=label)
        weight, error = _mean(last.weight.values), _mean(last.weight_error.values)
        if is_far(weight, error):
            reasons[label] = f"the mean weight of an event is {weight:.3g}, and not about 1"
            continue
        three = [rows[label, method] for method in _COMPARED]
        known = [row for row in three if row.low <= row.high]
        lowest = min(known, key=lambda row: row.high, default=None)
        highest = max(known, key=lambda row: row.low, default=None)
        if lowest is not None and highest is not None and lowest.high < highest.low:
            reasons[label] = (
                f"the intervals of {lowest.name} ({lowest.low:.3g} to {lowest.high:.3g}) and "
                f"{highest.name} ({highest.low:.3g} to {highest.high:.3g}) lie apart"
            )
    return reasons


def doubts_said(reasons: Mapping[str, str]) -> str:
    """Warn of wrong estimates; empty without ``reasons``."""
    if not reasons:
        return ""
    listed = "; ".join(f"{label}: {why}" for label, why in reasons.items())
    return (
        f"The log and its propensities do not fit together, so no number of it is to be relied on. "
        f"{listed}. Check that propensities are those of the logging policy, and that it was "
        "random."
    )


def estimated(result: xr.Dataset) -> dict[str, float]:
    """Return the summary columns of a system's value by each method; none without a log."""
    if "estimator" not in result.dims:
        return {}
    last, columns = result.isel(round=-1), dict[str, float]()
    for method in METHODS:
        row = _row(last.sel(estimator=method), "", method)
        name = f"value_{method}"
        columns |= {name: row.value, f"{name}_low": row.low, f"{name}_high": row.high}
        columns[f"effective_{method}"] = row.effective
    return columns


def of_decision(row: Mapping[str, Any], decisions: int) -> tuple[float, float]:
    """Return the mean reward of a decision, and half the width of its 95% interval.

    On a log it is the estimate, because only some rewards are observed.
    """
    name = f"value_{ANSWERED_BY}"
    if name in row:
        return row[name], (row[f"{name}_high"] - row[f"{name}_low"]) / 2.0
    return row["reward_mean"] / decisions, row["reward_ci95"] / decisions


def is_of_log(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the rows of a summary are of a run on a log."""
    return any(f"value_{ANSWERED_BY}" in row for row in rows)
