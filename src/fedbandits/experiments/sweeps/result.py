"""The result of a sweep: a dataset with a dimension for each swept key, and a table of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fedbandits.experiments.labels import attributes, label
from fedbandits.experiments.offline import with_estimates
from fedbandits.experiments.replicate import checkpoint_rounds
from fedbandits.experiments.result import busy_seconds, spent
from fedbandits.experiments.summary import summarise
from fedbandits.experiments.sweeps.units import Unit
from fedbandits.experiments.trace import TRACED, ReplicateTrace
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.settings.sweeps import Axis, Point, Sweep, value_text

#: Measurements that give way to a swept key of their name.
_OTHERWISE = {"epsilon": "epsilon_spent"}
_PER_PARTY = ("system", "replicate", "party", "round")
_PER_GROUP = ("system", "replicate", "round")
_SIZES = ("parties", "acting", "rounds")
_CLAIMED = ("epsilon", "epsilon_contents", "delta", "encrypted")

Claims = Sequence[Mapping[str, PrivacyClaim]]
Variables = dict[str, tuple[tuple[str, ...], NDArray[Any]]]


class SweepParts:
    """What a sweep's dataset is made of, gathered while it is played.

    Parameters
    ----------
    sweep, points, units
        What is run.
    claims
        What each point's systems claim.
    """

    def __init__(
        self, sweep: Sweep, points: Sequence[Point], units: Sequence[Unit], claims: Claims
    ) -> None:
        self.sweep, self.points, self.units, self.claims = sweep, points, units, claims
        self.traces: dict[str, list[ReplicateTrace]] = {unit.digest: [] for unit in units}
        self.finished_points = 0
        self._points = {unit.digest: {point for point, _ in unit.places} for unit in units}
        #: Units of each point that are not finished.
        self._left = Counter(point for of_unit in self._points.values() for point in of_unit)

    def add(self, digest: str, trace: ReplicateTrace) -> list[int]:
        """Add what a replicate of a unit left; returns the points that it finishes."""
        self.traces[digest].append(trace)
        if len(self.traces[digest]) < self.sweep.experiment.replicates:
            return []
        self._left.subtract(self._points[digest])
        finished = [point for point in sorted(self._points[digest]) if not self._left[point]]
        self.finished_points += len(finished)
        return finished

    def dataset(self, interrupted: bool) -> xr.Dataset:
        """The result; NaN for what is not played, and for parties and rounds a point has not."""
        axes, experiment = self.sweep.axes, self.sweep.experiment
        labels = [entry.label for entry in experiment.systems]
        variables = self._measured() | self._known()
        names = tuple(axis.name for axis in axes)
        renamed = {name: _name(name, names) for name in variables}
        coordinates: dict[str, Any] = {axis.name: _coordinate(axis) for axis in axes}
        coordinates |= {
            "system": labels,
            "replicate": np.arange(experiment.replicates),
            "party": np.arange(self._parties),
            "round": self._rounds,
        }
        made = {
            renamed[name]: (names + dims, data)
            for name, (dims, data) in variables.items()
            if not (name in _SIZES and name in names)
        }
        result = xr.Dataset(made, coordinates, self._attributes(interrupted))
        if not experiment.environment.regret_is_known:
            result = with_estimates(result)
        label(result, experiment.environment.words)
        for axis in axes:
            result[axis.name].attrs |= {"path": axis.path, "long_name": axis.words}
        return result

    @property
    def named(self) -> str:
        """The digests of all units, as text: of the same settings, other data have others."""
        return " ".join(unit.digest for unit in self.units)

    @property
    def _parties(self) -> int:
        return max(point.experiment.environment.parties for point in self.points)

    @property
    def _rounds(self) -> NDArray[np.int64]:
        """The rounds that any point records."""
        horizons = {point.experiment.rounds for point in self.points}
        count = self.sweep.experiment.checkpoints
        return np.unique(np.concatenate([checkpoint_rounds(h, count) for h in horizons]))

    def _measured(self) -> Variables:
        """All measurements of replicates, by name."""
        shape, rounds, parties = self.sweep.shape, self._rounds, self._parties
        runs = (*shape, len(self.sweep.experiment.systems), self.sweep.experiment.replicates)
        made: Variables = {}
        seconds = np.full(runs[:-1], np.nan)
        for unit in self.units:
            traces = self.traces[unit.digest]
            for trace in traces:
                where = np.searchsorted(rounds, trace.rounds)
                for name, array in (*_traced(trace), *trace.metrics.items()):
                    dims = _PER_PARTY if array.ndim == 2 else _PER_GROUP
                    size = (parties, len(rounds)) if array.ndim == 2 else (len(rounds),)
                    if name not in made:
                        made[name] = (dims, np.full((*runs, *size), np.nan))
                    for point, system in unit.places:
                        place = (*self.points[point].index, system, trace.replicate)
                        cell = made[name][1][place]
                        cell[(*(slice(n) for n in array.shape[:-1]), where)] = array
            for point, system in unit.places:
                seconds[(*self.points[point].index, system)] = busy_seconds(traces)
        return made | self._spent(made) | {"seconds": (("system",), seconds)}

    def _spent(self, made: Variables) -> Variables:
        """ε accounted so far, and ε of contents so far; traces note that of contents alone."""
        if "epsilon" not in made:
            return {}
        dims, noted = made["epsilon"]
        found = {name: np.empty_like(noted) for name in ("epsilon", "epsilon_contents")}
        for point, claims in zip(self.points, self.claims, strict=True):
            each = [claims[entry.label] for entry in self.sweep.experiment.systems]
            for name, (_, values) in spent(each, noted[point.index]).items():
                found[name][point.index] = values
        return {name: (dims, values) for name, values in found.items()}

    def _known(self) -> Variables:
        """What is known of every point before it is played."""
        shape, labels = self.sweep.shape, [s.label for s in self.sweep.experiment.systems]
        worlds = [(p.experiment.environment, p.experiment.rounds) for p in self.points]
        sizes = np.array([(e.parties, e.acting, rounds) for e, rounds in worlds], np.int64)
        made: Variables = {name: ((), sizes[:, i].reshape(shape)) for i, name in enumerate(_SIZES)}
        for name in _CLAIMED:
            values = [[getattr(claims[label], name) for label in labels] for claims in self.claims]
            if name == "encrypted":  # a sentence that says how, or none
                values = [[bool(value) for value in row] for row in values]
            array = np.array(values, np.float64).reshape((*shape, len(labels)))
            made[f"claim_{name}"] = (("system",), array)
        return made

    def _attributes(self, interrupted: bool) -> dict[str, Any]:
        # Claims differ from point to point: they are variables.
        made = attributes(self.points[0].experiment, {}, interrupted)
        return made | {
            "config": self.sweep.to_toml(),
            "sweep": json.dumps({axis.name: axis.path for axis in self.sweep.axes}),
            "units": self.named,
        }


def _traced(trace: ReplicateTrace) -> Iterable[tuple[str, NDArray[np.float64]]]:
    return ((name, getattr(trace, name)) for name in TRACED)


def _name(name: str, taken: Sequence[str]) -> str:
    """The name of a variable, which is no swept key's."""
    return _OTHERWISE.get(name, f"measured_{name}") if name in taken else name


def _coordinate(axis: Axis) -> xr.Variable:
    values: Any = list(axis.values)
    kinds = {type(value) for value in values}
    if not (kinds <= {int, float} or kinds == {bool}):
        values = np.array([value_text(value) for value in values], dtype=object)
    return xr.Variable(axis.name, values)


def at_point(result: xr.Dataset, index: Mapping[str, int]) -> xr.Dataset:
    """The result of one point, without what only other points have: as ``fb.run`` would return it.

    Parameters
    ----------
    result
        The result of a sweep.
    index
        The number of its value on each axis, by the axes' names.
    """
    point = result.isel(dict(index), drop=True)
    sizes = {name: int(_size(result, index, name)) for name in ("parties", "rounds")}
    point = point.isel(party=slice(sizes["parties"]))
    dims = ("system", "replicate", "party")
    known = point["round"] <= sizes["rounds"]
    if "reward" in point:  # something is played, if not of this point
        recorded = point.reward.notnull().any(dims)
        known &= recorded | ~recorded.any()
    dropped = [name for name in (*_SIZES, *(f"claim_{n}" for n in _CLAIMED)) if name in point]
    point = point.isel(round=np.flatnonzero(known.values)).drop_vars(dropped)
    back = {new: old for old, new in _OTHERWISE.items() if old in index}
    return point.rename(back)


def _size(result: xr.Dataset, index: Mapping[str, int], name: str) -> Any:
    """The number of parties or rounds of a point; a swept key may have that name."""
    return result[name].isel({dim: n for dim, n in index.items() if dim in result[name].dims})


def sweep_rows(sweep: Sweep, points: Iterable[Point], result: xr.Dataset) -> list[dict[str, Any]]:
    """A row for each point and system: the swept values, then the columns of a run's summary.

    Parameters
    ----------
    sweep, points
        What was run.
    result
        What came of it.
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
