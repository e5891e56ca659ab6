"""Advice on the number of parties, and the ε, from which private collaboration pays."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Sequence
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
from fedbandits.experiments.run import DEFAULTS, Playing, sweep
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.experiments.workload import Workload
from fedbandits.settings.experiment import Experiment, Variant, load
from fedbandits.settings.sweeps import Point, Sweep, sweep_of

if TYPE_CHECKING:
    import xarray as xr


#: Most and fewest replicates of each value.
REPLICATES, _FEWEST = 5, 3
#: Tried numbers of parties, in units of the number in the experiment.
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


class Trial(NamedTuple):
    """One sweep of an advice."""

    axis: Axis  # what is varied
    sweep: Sweep  # of a private system, then of a system with parties that learn alone
    left_out: tuple[str, ...]  # values that the experiment cannot have, with reasons

    @property
    def values(self) -> tuple[Any, ...]:
        """The tried values."""
        return self.sweep.axes[0].values


def advise(
    experiment: Experiment | str | os.PathLike[str],
    system: str | None = None,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> Advice:
    """Try other numbers of parties and other ε, and find where private collaboration pays.

    The advice rests on two small sweeps: the number of parties at the ε of the experiment, and ε at
    its number of parties. Each has at most 5 replicates.

    Parameters
    ----------
    experiment
        An :class:`.Experiment`, or the path of a TOML file. Parties that learn alone at their best
        are added, as :func:`.with_alone` does.
    system
        Label of the private system. By default the first system that claims a finite ε.
    jobs
        Number of replicates that run at the same time. By default the number of processors.
    on_event
        A function that is called with every event of the sweeps.
    stop
        A :class:`.Stop`. When it is set, the advice is made of the finished replicates.

    Returns
    -------
    Advice
        The advice, about the tried values alone. ``print`` shows its lines.

    Raises
    ------
    ConfigError
        If the system claims no finite ε, if no system learns alone in this environment, or if
        regret is not known there, as with a log.
    StoppedError
        If ``stop`` ended the sweeps before any replicate was finished.
    KeyboardInterrupt
        If Ctrl-C ended the sweeps before any replicate was finished.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    curves = []
    playing = Playing(jobs, on_event, stop)
    base = pair_of(experiment, system, playing)
    for trial in trials(base):
        result = sweep(trial.sweep, **playing._asdict())
        points = (_tried(point, result) for point in trial.sweep.points())
        tried = tuple(one for one in points if one.replicates >= _FEWEST)
        if tried:
            key = trial.sweep.axes[0].path
            curves.append(Curve(trial.axis, key, tried, trial.left_out))
        if result.attrs["interrupted"]:
            break
    return _advice(base, curves)


def pair_of(
    experiment: Experiment, system: str | None = None, playing: Playing = DEFAULTS
) -> Experiment:
    """Reduce an experiment to a private system, and a system with parties that learn alone.

    The private system has the label ``system``; by default it is the first. Parties alone are at
    their best, which is searched for if the experiment does not name it. Raises ConfigError without
    such a pair.
    """
    if not experiment.environment.regret_is_known:
        raise ConfigError("advise: regret is not known here, so other values cannot be tried")
    both = with_alone(experiment, **playing._asdict())
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
    """List the trials of a pair: the number of parties, and ε, as far as they can be varied."""
    axes = [
        _trial(base, "parties", "environment.agents", _numbers_of_parties(base)),
        _trial(base, "epsilon", "systems.0.epsilon", _epsilons(base.systems[0])),
    ]
    return [trial for trial in axes if trial is not None]


def work(experiment: Experiment) -> float:
    """Estimate the seconds of an experiment on one processor; 0 without an estimate."""
    with warnings.catch_warnings():  # the run itself warns
        warnings.simplefilter("ignore", ConfigWarning)
        return sum(estimate(experiment, experiment.check(), 1).seconds)


def trial_work(trial: Trial) -> float:
    """Estimate the seconds of a sweep on one processor; shared replicates count once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return sum(estimate_workload(Workload.of(trial.sweep), 1)[1].seconds)


def _numbers_of_parties(base: Experiment) -> Sequence[int]:
    """Return numbers around that of the experiment; none if the data determine the parties."""
    environment = base.environment
    agents = getattr(environment, "agents", 0)
    if not agents or agents != environment.parties or agents != environment.acting:
        return ()
    return sorted({max(2, round(agents * factor)) for factor in _FACTORS})


def _epsilons(judged: Variant) -> Sequence[float]:
    own = getattr(judged.config, "epsilon", None)
    return sorted({*_EPSILONS, float(own)}) if isinstance(own, int | float) else ()


def _trial(base: Experiment, axis: Axis, key: str, values: Sequence[Any]) -> Trial | None:
    """Make a sweep over the values that can be played; None with fewer than two."""
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


def _tried(point: Point, result: xr.Dataset) -> Tried:
    """Compare the losses of both systems at the value of a point."""
    environment = point.experiment.environment
    ((name, value),) = point.values.items()
    index = {name: point.index[0]}
    decisions = decisions_of(environment, point.experiment.rounds)
    measured = measure(environment.words, decisions, at_point(result, index))
    differences = measured.differences(1, 0)
    difference, both = paired(differences), np.isfinite(differences)
    base = float(measured.totals[1][both].mean()) if both.any() else 0.0
    return Tried(
        value=float(value),
        epsilon=float(result["claim_epsilon"].isel(index).values[0]),
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
