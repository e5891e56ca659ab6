"""The result of an experiment: a labelled dataset, and a summary with one row for each system."""

from __future__ import annotations

import csv
import io
import json
import math
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import msgspec
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fedbandits.experiments.offline import estimated, with_estimates
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import Simulation

#: Columns of ``summary.csv``, in order.
SUMMARY_COLUMNS = (
    "system",
    "replicates",
    "rounds",
    "regret_mean",
    "regret_sem",
    "reward_mean",
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
_PER_PARTY = ("regret", "reward")
_PER_GROUP = ("messages", "bytes", "syncs", "epsilon")
#: What a trace notes at every checkpoint.
TRACED = (*_PER_PARTY, *_PER_GROUP)
_OWN = "metrics."

#: When a replicate was being played: (began, ended), one a process that worked on it, in seconds
#: of the system's clock, so that the spells of different processes can be laid side by side.
Spells = tuple[tuple[float, float], ...]


class ReplicateTrace(msgspec.Struct, frozen=True):
    """Measurements of one replicate of one system at every checkpoint; all are cumulative.

    Parameters
    ----------
    system, replicate
        Numbers of the system and of the replicate.
    rounds : (checkpoints,) int
        The rounds of the checkpoints.
    regret, reward : (parties, checkpoints)
        Regret and reward of each party.
    messages, bytes, syncs : (checkpoints,)
        Numbers of messages, of bytes of payload, and of syncs.
    epsilon : (checkpoints,)
        ε spent on the contents of one party's messages.
    spells
        Begin and end of each period in which the replicate was played, in seconds.
    metrics : (parties, checkpoints)
        The system's own measurements, by name.
    """

    system: int
    replicate: int
    rounds: NDArray[np.int64]
    regret: NDArray[np.float64]  # (parties, checkpoints), cumulative, like all below
    reward: NDArray[np.float64]
    messages: NDArray[np.float64]  # (checkpoints,)
    bytes: NDArray[np.float64]
    syncs: NDArray[np.float64]
    epsilon: NDArray[np.float64]
    spells: Spells = ()
    metrics: dict[str, NDArray[np.float64]] = {}  # the system's own, (parties, checkpoints)

    @classmethod
    def empty(
        cls,
        system: int,
        replicate: int,
        rounds: NDArray[np.int64],
        parties: int,
        metrics: Iterable[str] = (),
    ) -> ReplicateTrace:
        """An empty trace, which :meth:`record` fills.

        Parameters
        ----------
        system, replicate
            Numbers of the system and of the replicate.
        rounds
            The rounds of the checkpoints.
        parties
            Number of parties.
        metrics
            Names of the system's own metrics.
        """
        count = len(rounds)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_PER_PARTY, (parties, count))
        shapes |= dict.fromkeys(_PER_GROUP, (count,))
        arrays: dict[str, Any] = {name: np.zeros(shape) for name, shape in shapes.items()}
        own = {name: np.zeros((parties, count)) for name in metrics}
        return cls(system, replicate, rounds, **arrays, metrics=own)

    @classmethod
    def of(
        cls,
        system: int,
        replicate: int,
        rounds: NDArray[np.int64],
        arrays: Mapping[str, NDArray[np.float64]],
        spells: Spells,
    ) -> ReplicateTrace:
        """A trace made from saved arrays.

        Parameters
        ----------
        system, replicate
            Numbers of the system and of the replicate.
        rounds
            The rounds of the checkpoints.
        arrays
            What :meth:`arrays` returned.
        spells
            Times at which the replicate was played.
        """
        common: dict[str, Any] = {name: arrays[name] for name in TRACED}
        own = {n.removeprefix(_OWN): a for n, a in arrays.items() if n.startswith(_OWN)}
        return cls(system, replicate, rounds, **common, spells=spells, metrics=own)

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """All measurements by name; names of the system's own metrics begin with ``metrics.``."""
        own = {f"{_OWN}{name}": values for name, values in self.metrics.items()}
        return {name: getattr(self, name) for name in TRACED} | own

    def record(self, position: int, simulation: Simulation) -> None:
        """Record the state of ``simulation`` at the checkpoint with index ``position``."""
        self.regret[:, position] = simulation.regret
        self.reward[:, position] = simulation.reward
        for name in _PER_GROUP:
            getattr(self, name)[position] = getattr(simulation, name)
        found = simulation.metrics if self.metrics else {}
        for name, values in self.metrics.items():
            values[:, position] = found[name]


def build_dataset(
    experiment: Experiment, traces: list[ReplicateTrace], interrupted: bool
) -> xr.Dataset:
    """Arrange traces by system, replicate, party and round; a missing replicate is NaN.

    Parameters
    ----------
    experiment
        The experiment.
    traces
        Traces of the replicates that are finished.
    interrupted
        Whether the run was interrupted.
    """
    labels = [entry.label for entry in experiment.systems]
    rounds, parties = traces[0].rounds, traces[0].regret.shape[0]
    shape = (len(labels), experiment.replicates)
    variables: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
    for name in _PER_PARTY:
        data = np.full((*shape, parties, len(rounds)), np.nan)
        variables[name] = (("system", "replicate", "party", "round"), data)
    for name in _PER_GROUP:
        data = np.full((*shape, len(rounds)), np.nan)
        variables[name] = (("system", "replicate", "round"), data)
    for trace in traces:
        for name, (_, data) in variables.items():
            data[trace.system, trace.replicate] = getattr(trace, name)
    variables |= _metrics(traces, (*shape, parties, len(rounds)))
    seconds = [_busy_seconds([t for t in traces if t.system == i]) for i in range(len(labels))]
    variables["seconds"] = (("system",), np.array(seconds))
    coordinates = {
        "system": labels,
        "replicate": np.arange(experiment.replicates),
        "party": np.arange(parties),
        "round": rounds,
    }
    made = xr.Dataset(variables, coordinates, _attributes(experiment, interrupted))
    return made if experiment.environment.regret_is_known else with_estimates(made)


def _metrics(
    traces: list[ReplicateTrace], shape: tuple[int, ...]
) -> dict[str, tuple[tuple[str, ...], NDArray[np.float64]]]:
    """The systems' own metrics, NaN where a system has none of that name."""
    variables: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
    for name in dict.fromkeys(name for trace in traces for name in trace.metrics):
        data = np.full(shape, np.nan)
        for trace in traces:
            if name in trace.metrics:
                data[trace.system, trace.replicate] = trace.metrics[name]
        variables[name] = (("system", "replicate", "party", "round"), data)
    return variables


def own_metrics(result: xr.Dataset) -> list[str]:
    """Names of the variables in ``result`` that only some systems report."""
    own = (str(name) for name in result.data_vars if name not in TRACED)
    return [name for name in own if "party" in result[name].dims]


def regret_ratio(result: xr.Dataset, system: str, baseline: str) -> float:
    """Final regret of ``system`` divided by that of ``baseline``, as a mean over replicates.

    Both regrets are summed over all parties. With a baseline whose parties learn alone, this is the
    federated regret ratio of Solanki et al. (2022).

    Parameters
    ----------
    result
        The result of a run.
    system, baseline
        Labels of the two systems.
    """
    last = result.regret.isel(round=-1).sum("party", skipna=False).mean("replicate")
    return float(last.sel(system=system) / last.sel(system=baseline))


def _attributes(experiment: Experiment, interrupted: bool) -> dict[str, Any]:
    packages = ("fedbandits", "numpy", "numba", "scipy", "xarray", "networkx")
    return {
        "name": experiment.name,
        "seed": experiment.seed,
        "config": experiment.to_toml(),
        "claims": json.dumps(
            {k: _finite(msgspec.to_builtins(c)) for k, c in experiment.claims().items()}
        ),
        "versions": json.dumps(
            {"python": platform.python_version()} | {name: version(name) for name in packages}
        ),
        "interrupted": int(interrupted),
    }


def _finite(value: Any) -> Any:
    """JSON has no infinity: write it as a word."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def _busy_seconds(traces: list[ReplicateTrace]) -> float:
    """Wall time during which at least one of these replicates was being played."""
    total, until = 0.0, -math.inf
    for began, ended in sorted(spell for trace in traces for spell in trace.spells):
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total


def summarise(experiment: Experiment, result: xr.Dataset) -> list[dict[str, Any]]:
    """One row for each system: totals over all parties at the last round, mean over replicates.

    Only finished replicates count. A system's own metrics follow: the mean over its parties and,
    with the ending ``_max``, the largest value of any party in any replicate.

    Parameters
    ----------
    experiment
        The experiment.
    result
        Its result.
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
    steps = count * experiment.rounds * experiment.environment.acting
    paper = claim.paper_claims[0] if claim.paper_claims else claim.epsilon
    row: dict[str, Any] = {
        "system": label,
        "replicates": count,
        "rounds": experiment.rounds,
        "regret_mean": _mean(regret),
        "regret_sem": float(regret.std(ddof=1) / math.sqrt(count)) if len(regret) > 1 else math.nan,
        "reward_mean": _mean(reward),
        "epsilon_claimed": paper,
        "epsilon_accounted": claim.epsilon,
        "epsilon_contents": claim.epsilon_contents,
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
    """The summary, given as its ``rows``, as CSV text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: f"{v:.10g}" if isinstance(v, float) else v for key, v in row.items()} for row in rows
    )
    return text.getvalue()
