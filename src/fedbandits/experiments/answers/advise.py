"""Advice on the number of parties, or the ε, from which on learning together privately pays."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from fedbandits.environments.base import decisions_of
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.experiments.answers.advice import (
    Advice,
    Axis,
    Curve,
    Tried,
    advice_how,
    advice_lines,
)
from fedbandits.experiments.baselines import Claimed, closest, stands_for
from fedbandits.experiments.best_alone import with_alone
from fedbandits.experiments.estimate import estimate, estimate_workload
from fedbandits.experiments.intervals import paired
from fedbandits.experiments.measure import measure
from fedbandits.experiments.result import at_point
from fedbandits.experiments.run import sweep
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.experiments.workload import Workload
from fedbandits.settings.experiment import Experiment, Variant, load
from fedbandits.settings.sweeps import Point, Sweep, sweep_of

if TYPE_CHECKING:
    import xarray as xr


#: Most replicates of each value.
REPLICATES = 5
_FEWEST = 3
#: Numbers of parties that are tried, over that of the experiment.
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


class Trial(NamedTuple):
    """One sweep of an advice."""

    axis: Axis  # what is varied
    sweep: Sweep  # all values. The first system is private, the parties of the second learn alone
    left_out: tuple[str, ...]  # values that the experiment cannot have, each with the reason

    @property
    def values(self) -> tuple[Any, ...]:
        """The values that are tried."""
        return self.sweep.axes[0].values


def advise(
    experiment: Experiment | str | os.PathLike[str],
    system: str | None = None,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> Advice:
    """Try other numbers of parties and other ε, and say where learning together privately pays.

    It plays two small sweeps: the number of parties at the ε of the experiment, and ε at its number
    of parties. Each has at most 5 replicates.

    Parameters
    ----------
    experiment
        An :class:`.Experiment`, or the path of a TOML file. Parties that learn alone at their best
        are added, as :func:`.with_alone` does.
    system
        Label of the private system that is tried. By default the first that claims a finite ε.
    jobs
        Number of replicates that run at the same time. By default the number of processors.
    on_event
        A function that is called with every event of the sweeps.
    stop
        A :class:`.Stop`. When it is set, the advice is made of what is finished.

    Returns
    -------
    Advice
        The advice. ``print`` shows its lines. It speaks of the tried values alone.

    Raises
    ------
    ConfigError
        If the system claims no finite ε, if no system learns alone in this environment, or if
        regret is not known there, as with a log.
    StoppedError
        If ``stop`` ended it before anything was finished.
    KeyboardInterrupt
        If Ctrl-C ended it before anything was finished.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    curves = []
    base = pair_of(experiment, system, jobs=jobs, on_event=on_event, stop=stop)
    for trial in trials(base):
        result = sweep(trial.sweep, jobs=jobs, on_event=on_event, stop=stop)
        tried = tuple(one for one in _tried(trial.sweep, result) if one.replicates >= _FEWEST)
        if tried:
            key = trial.sweep.axes[0].path
            curves.append(Curve(trial.axis, key, tried, trial.left_out))
        if result.attrs["interrupted"]:
            break
    return _advice(base, curves)


def pair_of(
    experiment: Experiment,
    system: str | None = None,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> Experiment:
    """Reduce an experiment to two systems: a private one, and one whose parties learn alone.

    The private one is that of the label, or the first. Parties alone are at their best, which is
    looked for if the experiment does not name it. Raises ConfigError if there is no such pair.
    """
    if not experiment.environment.regret_is_known:
        raise ConfigError("advise: regret is not known here, so other values cannot be tried")
    both = with_alone(experiment, jobs=jobs, on_event=on_event, stop=stop)
    claims = {label: Claimed.of(claim) for label, claim in both.claims().items()}
    private = [one for one in both.systems if claims[one.label].is_private]
    judged = next((one for one in private if system in (None, one.label)), None)
    if judged is None:
        allowed = ", ".join(one.label for one in private) or "none here"
        given = "no system" if system is None else repr(system)
        raise ConfigError(f"advise: {given} claims a finite ε; allowed: {allowed}")
    named = [entry for entry in both.systems if entry.label == both.best_alone]
    there = [entry for entry in both.systems if stands_for(entry, claims[entry.label]) == "alone"]
    alone = closest(judged, named or there)
    if alone is None:
        raise ConfigError("advise: no system learns alone in this environment; add one")
    replicates = min(REPLICATES, max(_FEWEST, both.replicates))
    return msgspec.structs.replace(
        both,
        systems=(judged, alone),
        best_alone=alone.label if named else "",
        replicates=replicates,
        checkpoints=2,
    )


def trials(base: Experiment) -> list[Trial]:
    """List the trials of such a pair: the number of parties, and ε, where each can be varied."""
    axes = [
        _trial(base, "parties", "environment.agents", _numbers_of_parties(base)),
        _trial(base, "epsilon", "systems.0.epsilon", _epsilons(base.systems[0])),
    ]
    return [trial for trial in axes if trial is not None]


def work(experiment: Experiment) -> float:
    """Estimate the seconds of an experiment on one processor; 0 if nothing is known."""
    with warnings.catch_warnings():  # the run itself warns
        warnings.simplefilter("ignore", ConfigWarning)
        return sum(estimate(experiment, experiment.check(), 1).seconds)


def trial_work(trial: Trial) -> float:
    """Estimate the seconds of a sweep on one processor; what points share is played once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return sum(estimate_workload(Workload.of(trial.sweep), 1)[1].seconds)


def _numbers_of_parties(base: Experiment) -> Sequence[int]:
    """Return numbers around that of the experiment; none if its parties are given by the data."""
    environment = base.environment
    agents = getattr(environment, "agents", 0)
    if not agents or agents != environment.parties or agents != environment.acting:
        return ()
    return sorted({max(2, round(agents * factor)) for factor in _FACTORS})


def _epsilons(judged: Variant) -> Sequence[float]:
    own = getattr(judged.config, "epsilon", None)
    return sorted({*_EPSILONS, float(own)}) if isinstance(own, int | float) else ()


def _trial(base: Experiment, axis: Axis, key: str, values: Sequence[Any]) -> Trial | None:
    """Make a sweep over those values that can be played; None if there are not two."""
    fitting, reasons = [], []
    for value in values:
        try:
            with warnings.catch_warnings():  # the sweep warns
                warnings.simplefilter("ignore", ConfigWarning)
                sweep_of(base, {key: [value]}).points()[0].experiment.check()
        except (ConfigError, DataError) as error:
            reasons.append(f"{key} = {value} ({error})")
        else:
            fitting.append(value)
    if len(fitting) < 2:
        return None
    return Trial(axis, sweep_of(base, {key: fitting}), tuple(reasons))


def _tried(swept: Sweep, result: xr.Dataset) -> Iterator[Tried]:
    name = swept.axes[0].name
    for point in swept.points():
        claimed = float(result["claim_epsilon"].isel({name: point.index[0]}).values[0])
        yield _at(point, point.values[name], claimed, result)


def _at(point: Point, value: Any, claimed: float, result: xr.Dataset) -> Tried:
    """Measure what both systems lost at one value."""
    environment = point.experiment.environment
    index = dict.fromkeys(point.values, point.index[0])
    decisions = decisions_of(environment, point.experiment.rounds)
    measured = measure(environment.words, decisions, at_point(result, index))
    differences = measured.differences(1, 0)
    difference, both = paired(differences), np.isfinite(differences)
    base = float(measured.totals[1][both].mean()) if both.any() else 0.0
    return Tried(
        value=float(value),
        epsilon=claimed,
        parties=environment.parties,
        replicates=difference.replicates,
        unit=measured.unit,
        saves=difference.mean,
        half_width=difference.half_width,
        share=difference.mean / base if base > 0.0 else None,
        pays=None if difference.sign is None else difference.sign > 0,
    )


def _advice(base: Experiment, curves: Sequence[Curve]) -> Advice:
    words, (judged, alone) = base.environment.words, base.systems
    return Advice(
        lines=advice_lines(curves, words),
        how=advice_how(curves, base.replicates, judged.label, alone.label),
        unit=curves[0].tried[0].unit if curves else "",
        parties=words.parties,
        system=judged.label,
        baseline=alone.label,
        replicates=base.replicates,
        curves=tuple(curves),
    )
