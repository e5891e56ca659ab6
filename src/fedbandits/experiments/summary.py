"""The summary of a result: one row for each system, as ``summary.csv`` has it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fedbandits.environments.base import decisions_of
from fedbandits.experiments.intervals import interval
from fedbandits.experiments.log_values import estimated
from fedbandits.experiments.result import at_point, own_metrics
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Point, Sweep, value_text

#: Columns of ``summary.csv``, in order.
SUMMARY_COLUMNS = (
    "system",
    "replicates",
    "rounds",
    "regret_mean",
    "regret_sem",
    "regret_ci95",
    "reward_mean",
    "reward_ci95",
    "messages",
    "bytes",
    "syncs",
    "epsilon_claimed",
    "epsilon_accounted",
    "epsilon_contents",
    "delta",
    "seconds",
    "agent_steps_per_second",
)


def summarise(experiment: Experiment, result: xr.Dataset) -> list[dict[str, Any]]:
    """Summarise each system in a row: totals over parties at the end, mean over replicates.

    Only finished replicates count. A system's own metrics follow: the mean over its parties and,
    with the ending ``_max``, the largest value of any party in any replicate.
    """
    claims = experiment.claims()
    return [
        _summary_row(experiment, result.sel(system=entry.label), entry.label, claims[entry.label])
        for entry in experiment.systems
    ]


def _summary_row(
    experiment: Experiment, result: xr.Dataset, label: str, claim: Any
) -> dict[str, Any]:
    last = result.isel(round=-1)
    regret = last.regret.sum("party", skipna=False).dropna("replicate").values
    reward = last.reward.sum("party", skipna=False).dropna("replicate").values
    count, seconds = len(reward), float(result.seconds)
    steps = count * decisions_of(experiment.environment, experiment.rounds).total
    paper = claim.paper_claims[0] if claim.paper_claims else claim.epsilon
    row: dict[str, Any] = {
        "system": label,
        "replicates": count,
        "rounds": experiment.rounds,
        "regret_mean": _mean(regret),
        "regret_sem": float(regret.std(ddof=1) / math.sqrt(count)) if len(regret) > 1 else math.nan,
        "regret_ci95": float(interval(regret).half),
        "reward_mean": _mean(reward),
        "reward_ci95": float(interval(reward).half),
        "epsilon_claimed": math.nan if claim.encrypted else paper,
        "epsilon_accounted": math.nan if claim.encrypted else claim.epsilon,
        "epsilon_contents": math.nan if claim.encrypted else claim.epsilon_contents,
        "delta": claim.delta,
        "seconds": seconds,
        "agent_steps_per_second": steps / seconds if seconds > 0.0 else math.nan,
    }
    for name in ("messages", "bytes", "syncs"):
        row[name] = _mean(last[name].dropna("replicate").values)
    own: dict[str, float] = {}
    for name in own_metrics(result):
        own |= {name: float(last[name].mean()), f"{name}_max": float(last[name].max())}
    return {column: row[column] for column in SUMMARY_COLUMNS} | own | estimated(result)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else math.nan


def summary_csv(rows: list[dict[str, Any]]) -> str:
    """Write the summary, given as its ``rows``, as CSV text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: f"{v:.10g}" if isinstance(v, float) else v for key, v in row.items()} for row in rows
    )
    return text.getvalue()


def sweep_rows(sweep: Sweep, points: Iterable[Point], result: xr.Dataset) -> list[dict[str, Any]]:
    """Summarise a sweep in a row for each point and system.

    The swept values come first, then the columns of a run's summary.
    """
    rows = []
    for point in points:
        index = {axis.name: n for axis, n in zip(sweep.axes, point.index, strict=True)}
        values = {axis.name: _cell(point.values[axis.name]) for axis in sweep.axes}
        for row in summarise(point.experiment, at_point(result, index)):
            own = {
                f"{k}_claimed" if k in values and k != "rounds" else k: v for k, v in row.items()
            }
            rows.append(values | own)
    return rows


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float) else value_text(value)
