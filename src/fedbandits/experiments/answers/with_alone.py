"""Adding *alone* to an experiment, so that its result can say whether sharing pays."""

from __future__ import annotations

import itertools
import os
import pathlib
import warnings
from collections.abc import Iterator

import msgspec

from fedbandits.experiments.baselines import Claimed, counterpart, presets_for, stands_for
from fedbandits.settings.experiment import Experiment, Variant, load
from fedbandits.systems import find_system

_LABEL = "alone"


def with_alone(experiment: Experiment | str | os.PathLike[str]) -> Experiment:
    """The experiment, and a system whose parties learn alone if it has none.

    The new system has the settings of the first system that claims a finite ε. Settings that say
    what is sent, when, and with which noise are its own. It is labelled ``alone``.

    Parameters
    ----------
    experiment
        An :class:`.Experiment`, or the path of a TOML file.

    Returns
    -------
    Experiment
        The same experiment, if it has such a system, if no system claims a finite ε, or if no
        system whose parties learn alone plays in this environment.

    Raises
    ------
    ConfigError, DataError
        If the experiment cannot be run.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    with warnings.catch_warnings():  # whoever runs it is warned then
        warnings.simplefilter("ignore")
        plans = experiment.check()
    claims = [
        Claimed.of(find_system(entry.system).claim(plan))
        for entry, plan in zip(experiment.systems, plans, strict=True)
    ]
    pairs = list(zip(experiment.systems, claims, strict=True))
    judged = next((entry for entry, claim in pairs if claim.is_private), None)
    if judged is None or any(stands_for(*pair) == "alone" for pair in pairs):
        return experiment
    added = _alone(experiment, judged)
    if added is None:
        return experiment
    return msgspec.structs.replace(experiment, systems=(*experiment.systems, added))


def _alone(experiment: Experiment, judged: Variant) -> Variant | None:
    """A fair *alone* for ``judged``; None if no system has one for this environment."""
    taken = {entry.label for entry in experiment.systems}
    label = next(name for name in _labels() if name not in taken)
    for preset, system in presets_for("alone", judged):
        if system.plays_in(type(experiment.environment)):
            return counterpart(judged, preset, system, label)
    return None


def _labels() -> Iterator[str]:
    yield _LABEL
    yield from (f"{_LABEL} {number}" for number in itertools.count(2))
