"""The result of an experiment: a labelled dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fedbandits._typing import Floats
from fedbandits.experiments.labels import attributes, label
from fedbandits.experiments.offline import with_estimates
from fedbandits.experiments.trace import PER_GROUP, PER_PARTY, ReplicateTrace
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.settings.experiment import Experiment

#: Variables that every result has.
COMMON = (*PER_PARTY, *PER_GROUP, "epsilon_contents", "seconds")

_Variables = dict[str, tuple[tuple[str, ...], NDArray[np.float64]]]


def build_dataset(
    experiment: Experiment, traces: list[ReplicateTrace], interrupted: bool
) -> xr.Dataset:
    """Arrange traces by system, replicate, party and round; a missing replicate is NaN.

    Traces note the ε of contents. The result has it as ``epsilon_contents``. Its ``epsilon`` is
    what the claim of each system accounts for everything that leaves.

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
    variables: _Variables = {}
    for name in PER_PARTY:
        data = np.full((*shape, parties, len(rounds)), np.nan)
        variables[name] = (("system", "replicate", "party", "round"), data)
    for name in PER_GROUP:
        data = np.full((*shape, len(rounds)), np.nan)
        variables[name] = (("system", "replicate", "round"), data)
    for trace in traces:
        for name, (_, data) in variables.items():
            data[trace.system, trace.replicate] = getattr(trace, name)
    claims = experiment.claims()
    variables |= spent([claims[name] for name in labels], variables["epsilon"][1])
    variables |= _metrics(traces, (*shape, parties, len(rounds)))
    seconds = [busy_seconds([t for t in traces if t.system == i]) for i in range(len(labels))]
    variables["seconds"] = (("system",), np.array(seconds))
    coordinates = {
        "system": labels,
        "replicate": np.arange(experiment.replicates),
        "party": list(experiment.environment.party_names) or np.arange(parties),
        "round": rounds,
    }
    result = xr.Dataset(variables, coordinates, attributes(experiment, claims, interrupted))
    if not experiment.environment.regret_is_known:
        result = with_estimates(result)
    label(result, experiment.environment.words)
    return result


def spent(claims: Iterable[PrivacyClaim], noted: Floats) -> _Variables:
    """ε accounted so far, and ε of contents so far, by system, replicate and round.

    Where message times depend on data, no finite ε holds from the first round on: an observer also
    sees that there is no message. Where statistics leave in clear, it holds until the first leaves.

    Parameters
    ----------
    claims
        The claim of each system.
    noted : (systems, replicates, rounds)
        ε of contents, as replicates have noted it.
    """
    dims = ("system", "replicate", "round")
    contents, accounted = noted.copy(), noted.copy()
    for claim, of_contents, of_all in zip(claims, contents, accounted, strict=True):
        if claim.encrypted:  # what encryption protects has no ε
            of_contents[:] = of_all[:] = np.nan
        elif not claim.is_private:
            by_times = math.isfinite(claim.epsilon_contents)
            of_all[(of_all >= 0.0) if by_times else (of_all > 0.0)] = np.inf
    return {"epsilon": (dims, accounted), "epsilon_contents": (dims, contents)}


def _metrics(traces: list[ReplicateTrace], shape: tuple[int, ...]) -> _Variables:
    """The systems' own metrics, NaN where a system has none of that name."""
    variables: _Variables = {}
    for name in dict.fromkeys(name for trace in traces for name in trace.metrics):
        data = np.full(shape, np.nan)
        for trace in traces:
            if name in trace.metrics:
                data[trace.system, trace.replicate] = trace.metrics[name]
        variables[name] = (("system", "replicate", "party", "round"), data)
    return variables


def own_metrics(result: xr.Dataset) -> list[str]:
    """Names of the variables in ``result`` that only some systems report."""
    own = (str(name) for name in result.data_vars if name not in COMMON)
    return [name for name in own if "party" in result[name].dims]


def busy_seconds(traces: list[ReplicateTrace]) -> float:
    """Wall time during which at least one of several replicates was being played, in seconds.

    Parameters
    ----------
    traces
        Traces of these replicates.
    """
    total, until = 0.0, -math.inf
    for began, ended in sorted(spell for trace in traces for spell in trace.spells):
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total
