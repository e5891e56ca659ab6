"""Parties that learn alone at their best: how far they explore is tried on replicates of its own.

Whoever learns alone chooses how far to explore. A system that shares is compared with the best of
these choices, so that it does not gain over a choice that nobody would make. The replicates of the
run itself choose nothing: nobody could know what is best on them by chance.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import warnings
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from fedbandits.errors import ConfigWarning, StoppedError
from fedbandits.experiments.baselines import (
    Claimed,
    as_people_explore,
    counterpart,
    presets_for,
    scaled,
    stands_for,
    tried_on,
    without_doubles,
)
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.measure import measure
from fedbandits.experiments.run import run
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.settings.experiment import Experiment, Variant, load
from fedbandits.systems import find_system

#: Turns the seed of a run into that of other replicates.
_OTHER_SEED = 0x2545F4914F6CDD1D
_LABEL, _BEST_LABEL = "alone", "alone at its best"


class _Playing(NamedTuple):
    """Options of :func:`fedbandits.run` with which candidates are played."""

    jobs: int | None = None
    on_event: Listener | None = None
    stop: Stop | None = None


def with_alone(
    experiment: Experiment | str | os.PathLike[str],
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> Experiment:
    """Add parties that learn alone at their best, and name them in ``best_alone``.

    How far they explore is tried on replicates of its own, which are not those of the experiment.
    Tried are a few values of ``exploration_scale``, and every system of the experiment whose
    parties learn alone. Other settings are those of the first system that claims a finite ε, but
    for those that say what is sent, when, and with which noise. The best is added, unless it is in
    the experiment already. If the private system explores by a radius that is proved, and the
    experiment has no parties that learn alone, those with the same radius are added too.

    Parameters
    ----------
    experiment
        An :class:`.Experiment`, or the path of a TOML file.
    jobs, on_event, stop
        How replicates are played; see :func:`fedbandits.run`.

    Returns
    -------
    Experiment
        The same experiment, if ``best_alone`` is known already, if no system claims a finite ε, or
        if no system whose parties learn alone plays in this environment. Where regret is not known,
        as with a log, nothing is tried.

    Raises
    ------
    ConfigError, DataError
        If the experiment cannot be run.
    KeyboardInterrupt, StoppedError
        If it was ended before all were tried.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    if experiment.best_alone:
        return experiment
    judged, there = _judged_and_alone(experiment)
    fair = _alone(experiment, judged) if judged is not None else None
    if fair is None:
        return experiment
    best = as_people_explore(fair)
    added = [] if there else [fair] if fair != best else []
    tried = without_doubles([*there, *added, *scaled(best)])
    if not experiment.environment.regret_is_known or len(tried) < 2:
        return _with(experiment, [] if there else [fair])
    found = _best_of(experiment, tried, _Playing(jobs, on_event, stop))
    if found not in (*there, *added):
        taken = {entry.label for entry in (*experiment.systems, *added)}
        label = _free(_BEST_LABEL if there or added else _LABEL, taken)
        found = msgspec.structs.replace(found, label=label)
        added.append(found)
    return _with(experiment, added, found.label)


def _with(experiment: Experiment, added: Sequence[Variant], best_alone: str = "") -> Experiment:
    systems = (*experiment.systems, *added)
    return msgspec.structs.replace(experiment, systems=systems, best_alone=best_alone)


def _judged_and_alone(experiment: Experiment) -> tuple[Variant | None, list[Variant]]:
    """Find the first system that claims a finite ε, and all whose parties learn alone."""
    with warnings.catch_warnings():  # whoever runs it is warned then
        warnings.simplefilter("ignore", ConfigWarning)
        plans = experiment.check()
    claims = [
        Claimed.of(find_system(entry.system).claim(plan))
        for entry, plan in zip(experiment.systems, plans, strict=True)
    ]
    pairs = list(zip(experiment.systems, claims, strict=True))
    judged = next((entry for entry, claim in pairs if claim.is_private), None)
    return judged, [pair[0] for pair in pairs if stands_for(*pair) == "alone"]


def _alone(experiment: Experiment, judged: Variant) -> Variant | None:
    """Make a fair *alone* for ``judged``; None if no system has one for this environment."""
    label = _free(_LABEL, {entry.label for entry in experiment.systems})
    for preset, found in presets_for("alone", judged):
        if found.plays_in(type(experiment.environment)):
            return counterpart(judged, preset, found, label)
    return None


def _free(label: str, taken: Collection[str]) -> str:
    """Return the label, with a number if it is taken."""
    numbered = (f"{label} {number}" for number in itertools.count(2))
    return next(name for name in itertools.chain([label], numbered) if name not in taken)


def _best_of(experiment: Experiment, candidates: Sequence[Variant], playing: _Playing) -> Variant:
    """Play candidates on replicates of their own, and return the best; of equals the first.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If it was ended before all were played.
    """
    own = msgspec.structs.replace(
        experiment,
        systems=tuple(
            msgspec.structs.replace(entry, label=f"try {number}: {entry.label}"[:60].rstrip())
            for number, entry in enumerate(candidates, 1)
        ),
        best_alone="",
        seed=experiment.seed ^ _OTHER_SEED,
        replicates=tried_on(experiment),
        checkpoints=2,
    )
    with warnings.catch_warnings():  # whoever runs the experiment is warned then
        warnings.simplefilter("ignore", ConfigWarning)
        result = run(own, jobs=playing.jobs, on_event=playing.on_event, stop=playing.stop)
    if result.attrs["interrupted"]:
        raise StoppedError("stopped before all were played") if playing.stop else KeyboardInterrupt
    labels = labels_of(result)
    found = measure(labels.words, labels.decisions, result)
    return candidates[int(np.argmin(found.direction * found.totals.mean(axis=-1)))]
