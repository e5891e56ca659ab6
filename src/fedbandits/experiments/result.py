"""The result of a run or a sweep: a labelled dataset, and its summary as in ``summary.csv``."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fedbandits._typing import Floats
from fedbandits.environments.base import decisions_of
from fedbandits.experiments.intervals import interval
from fedbandits.experiments.labels import attributes, label
from fedbandits.experiments.log_values import estimated, with_estimates
from fedbandits.experiments.replicate import checkpoint_rounds
from fedbandits.experiments.trace import PER_GROUP, PER_PARTY, TRACED, ReplicateTrace
from fedbandits.experiments.workload import Unit, Workload
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Axis, Point, Sweep, value_text

__all__ = ["at_point", "build_dataset", "busy_seconds", "own_metrics", "spent"]

#: Variables that every result has.
COMMON = (*PER_PARTY, *PER_GROUP, "epsilon_contents", "seconds")
#: Other names of measurements whose name is a swept key.
_OTHERWISE = {"epsilon": "epsilon_spent"}
#: Facts of every point of a sweep that are known before the play.
_SIZES = ("parties", "acting", "rounds")
_CLAIMED = ("epsilon", "epsilon_contents", "delta", "encrypted")

Variables = dict[str, tuple[tuple[str, ...], NDArray[Any]]]
#: The claims of the systems of one point, by their labels.
Claims = Mapping[str, PrivacyClaim]


class Finished(NamedTuple):
    """A finished replicate, with its unit."""

    unit: Unit
    trace: ReplicateTrace


def build_dataset(
    experiment: Experiment, traces: Iterable[ReplicateTrace], interrupted: bool
) -> xr.Dataset:
    """Arrange the traces of a run by system, replicate, party and round.

    A missing replicate is NaN. Traces have the ε of contents, which the result calls
    ``epsilon_contents``. Its ``epsilon`` is the ε by accounting of everything that leaves.

    Parameters
    ----------
    experiment
        The experiment.
    traces
        Traces of the replicates that are finished.
    interrupted
        Whether the run was interrupted.
    """
    work = Workload.of_run(experiment)
    return dataset_of(work, [Finished(work.units[0], trace) for trace in traces], interrupted)


def dataset_of(work: Workload, finished: Sequence[Finished], interrupted: bool) -> xr.Dataset:
    """Arrange the traces of a run or a sweep with at least one ``finished`` replicate.

    The dataset of a sweep has a dimension for each swept key. It is NaN for parties and rounds that
    a point does not have. See :func:`build_dataset`.
    """
    axes, experiment = work.sweep.axes, work.sweep.experiment
    claims = [point.experiment.claims() for point in work.points]
    names = tuple(axis.name for axis in axes)
    rounds = _rounds(work) if axes else finished[0].trace.rounds
    variables = _measured(work, finished, claims, rounds) | (_known(work, claims) if axes else {})
    named = {
        _variable_name(name, names): (names + dims, data)
        for name, (dims, data) in variables.items()
        if not (name in _SIZES and name in names)
    }
    result = xr.Dataset(named, _coordinates(work, rounds), _attributes(work, claims, interrupted))
    if not experiment.environment.regret_is_known:
        result = with_estimates(result)
    label(result, experiment.environment.words)
    for axis in axes:
        result[axis.name].attrs |= {"path": axis.path, "long_name": axis.words}
    return result


def _coordinates(work: Workload, rounds: NDArray[np.int64]) -> dict[str, Any]:
    experiment = work.sweep.experiment
    named = () if work.sweep.axes else experiment.environment.party_names
    return {axis.name: _coordinate(axis) for axis in work.sweep.axes} | {
        "system": list(work.labels),
        "replicate": np.arange(experiment.replicates),
        "party": list(named) or np.arange(_parties(work)),
        "round": rounds,
    }


def _coordinate(axis: Axis) -> xr.Variable:
    values: Any = list(axis.values)
    kinds = {type(value) for value in values}
    if not (kinds <= {int, float} or kinds == {bool}):
        values = np.array([value_text(value) for value in values], dtype=object)
    return xr.Variable(axis.name, values)


def _attributes(work: Workload, claims: Sequence[Claims], interrupted: bool) -> dict[str, Any]:
    experiment, axes = work.points[0].experiment, work.sweep.axes
    if not axes:
        return attributes(experiment, claims[0], interrupted)
    # Claims differ from point to point: they are variables.
    return attributes(experiment, {}, interrupted) | {
        "config": work.sweep.to_toml(),
        "sweep": json.dumps({axis.name: axis.path for axis in axes}),
        "units": work.named,
    }


def _parties(work: Workload) -> int:
    return max(point.experiment.environment.parties for point in work.points)


def _rounds(work: Workload) -> NDArray[np.int64]:
    """Return all rounds that some point records, in order."""
    horizons = {point.experiment.rounds for point in work.points}
    count = work.sweep.experiment.checkpoints
    return np.unique(np.concatenate([checkpoint_rounds(h, count) for h in horizons]))


def _measured(
    work: Workload,
    finished: Sequence[Finished],
    claims: Sequence[Claims],
    rounds: NDArray[np.int64],
) -> Variables:
    """Arrange all measurements of replicates, by name."""
    parties, replicates = _parties(work), work.sweep.experiment.replicates
    systems = (*work.sweep.shape, len(work.labels))
    variables: Variables = {}
    seconds = np.full(systems, np.nan)
    traces: dict[str, list[ReplicateTrace]] = {unit.digest: [] for unit in work.units}
    for unit, trace in finished:
        traces[unit.digest].append(trace)
    for unit in work.units:
        for trace in traces[unit.digest]:
            where = np.searchsorted(rounds, trace.rounds)
            for name, array in ({n: getattr(trace, n) for n in TRACED} | trace.metrics).items():
                dims = ("system", "replicate", "party", "round")
                size = (parties, len(rounds)) if array.ndim == 2 else (len(rounds),)
                if name not in variables:
                    kept = dims if array.ndim == 2 else (*dims[:2], "round")
                    variables[name] = (kept, np.full((*systems, replicates, *size), np.nan))
                for point, system in unit.places[trace.system]:
                    place = (*work.points[point].index, system, trace.replicate)
                    cell = variables[name][1][place]
                    cell[(*(slice(n) for n in array.shape[:-1]), where)] = array
        for number, places in enumerate(unit.places):
            busy = busy_seconds(t for t in traces[unit.digest] if t.system == number)
            for point, system in places:
                seconds[(*work.points[point].index, system)] = busy
    variables |= _spent(work, variables["epsilon"][1], claims)
    ordered = {name: variables[name] for name in (*TRACED, "epsilon_contents")}
    return ordered | variables | {"seconds": (("system",), seconds)}


def _spent(work: Workload, noted: Floats, claims: Sequence[Claims]) -> Variables:
    """Return the accounted ε so far, and the ε of contents so far, which traces have."""
    epsilons = {name: np.empty_like(noted) for name in ("epsilon", "epsilon_contents")}
    for point, of_point in zip(work.points, claims, strict=True):
        in_order = [of_point[name] for name in work.labels]
        accounted, contents = spent(in_order, noted[point.index])
        epsilons["epsilon"][point.index] = accounted
        epsilons["epsilon_contents"][point.index] = contents
    return {name: (("system", "replicate", "round"), values) for name, values in epsilons.items()}


def spent(claims: Iterable[PrivacyClaim], noted: Floats) -> tuple[Floats, Floats]:
    """Return the accounted ε so far, and the ε of contents so far, shaped as ``noted``.

    If message times depend on data, no finite ε holds from the first round on: an observer also
    sees the absence of a message. If statistics leave in clear, the ε is finite until the first
    message.

    Parameters
    ----------
    claims
        The claim of each system.
    noted : (systems, replicates, rounds)
        ε of contents in the traces.
    """
    contents, accounted = noted.copy(), noted.copy()
    for claim, of_contents, of_all in zip(claims, contents, accounted, strict=True):
        if claim.encrypted:  # encryption has no ε
            of_contents[:] = of_all[:] = np.nan
        elif not claim.is_private:
            by_times = math.isfinite(claim.epsilon_contents)
            of_all[(of_all >= 0.0) if by_times else (of_all > 0.0)] = np.inf
    return accounted, contents


def _known(work: Workload, claims: Sequence[Claims]) -> Variables:
    """Return the sizes and the claims of every point."""
    shape, labels = work.sweep.shape, work.labels
    worlds = [(p.experiment.environment, p.experiment.rounds) for p in work.points]
    sizes = np.array([(e.parties, e.acting, rounds) for e, rounds in worlds], np.int64)
    variables: Variables = {name: ((), sizes[:, i].reshape(shape)) for i, name in enumerate(_SIZES)}
    for name in _CLAIMED:
        values = [[getattr(of_point[label], name) for label in labels] for of_point in claims]
        if name == "encrypted":  # a sentence, or an empty one
            values = [[bool(value) for value in row] for row in values]
        array = np.array(values, np.float64).reshape((*shape, len(labels)))
        variables[f"claim_{name}"] = (("system",), array)
    return variables


def _variable_name(name: str, taken: Sequence[str]) -> str:
    """Return the name of a variable that is no swept key."""
    return _OTHERWISE.get(name, f"measured_{name}") if name in taken else name


def own_metrics(result: xr.Dataset) -> list[str]:
    """Return the names of the variables in ``result`` that only some systems report."""
    own = (str(name) for name in result.data_vars if name not in COMMON)
    return [name for name in own if "party" in result[name].dims]


def busy_seconds(traces: Iterable[ReplicateTrace]) -> float:
    """Return the seconds in which at least one replicate of ``traces`` was played."""
    total, until = 0.0, -math.inf
    for began, ended in sorted(spell for trace in traces for spell in trace.spells):
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total


def at_point(result: xr.Dataset, index: Mapping[str, int]) -> xr.Dataset:
    """Return the result of one point of a sweep, as ``fb.run`` returns it.

    Parameters
    ----------
    result
        The result of a sweep.
    index
        The number of the point's value on each axis, by the names of axes.
    """
    point = result.isel(dict(index), drop=True)
    sizes = {name: int(_size(result, index, name)) for name in ("parties", "rounds")}
    point = point.isel(party=slice(sizes["parties"]))
    dims = ("system", "replicate", "party")
    known = point["round"] <= sizes["rounds"]
    if "reward" in point:  # some replicate of the sweep is finished
        recorded = point.reward.notnull().any(dims)
        known &= recorded | ~recorded.any()
    dropped = [name for name in (*_SIZES, *(f"claim_{n}" for n in _CLAIMED)) if name in point]
    point = point.isel(round=np.flatnonzero(known.values)).drop_vars(dropped)
    back = {new: old for old, new in _OTHERWISE.items() if old in index}
    return point.rename(back)


def _size(result: xr.Dataset, index: Mapping[str, int], name: str) -> Any:
    """Return the number of parties or rounds of a point; a swept key may have the name."""
    return result[name].isel({dim: n for dim, n in index.items() if dim in result[name].dims})


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

    Only finished replicates count. Metrics of some systems follow: the mean over parties and, with
    the ending ``_max``, the largest value of a party in a replicate.
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
