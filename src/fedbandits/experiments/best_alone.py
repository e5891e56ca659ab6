"""Parties that learn alone at their best: their settings are tried on replicates of their own.

A party that learns alone chooses how far to explore, and how strongly to hold an estimate down. A
system that shares is compared with the best of these choices, so that sharing does not gain over a
choice that no party would make. The replicates of the run itself choose nothing: no party could
know the best choice on them by chance.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import warnings
from collections.abc import Collection, Sequence

import msgspec

from fedbandits._typing import Floats
from fedbandits.errors import ConfigWarning
from fedbandits.experiments.baselines import (
    Claimed,
    as_people_explore,
    counterpart,
    default_ridge,
    is_tunable,
    plays_like,
    presets_for,
    stands_for,
    tried_on,
    tuned,
)
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.measure import measure
from fedbandits.experiments.run import Playing, play_trial
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.experiments.tuning import LEAST_PLAYED, MORE, OF_THE_RUN, Bounds, Place, Race, climb
from fedbandits.settings.experiment import Experiment, Variant, load
from fedbandits.systems import find_system

#: Turns the seed of a run into that of other replicates.
_OTHER_SEED = 0x2545F4914F6CDD1D
_LABEL, _BEST_LABEL = "alone", "alone at its best"


def with_alone(
    experiment: Experiment | str | os.PathLike[str],
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> Experiment:
    """Add parties that learn alone at their best, and name them in ``best_alone``.

    Their settings are tried on replicates of their own, which are not those of the experiment.
    Tried are values of ``exploration_scale``, and of ``regularization`` where there is such a
    setting, and every system of the experiment whose parties learn alone. The search goes on where
    the best value is the last one. Other settings are those of the first system that claims a
    finite ε, but for those that say what is sent, when, and with which noise. The best is added,
    unless it is in the experiment already. If the private system explores by a radius that is
    proved, and the experiment has no parties that learn alone, those with the same radius are added
    too.

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
    others = [*there, *added]
    if not experiment.environment.regret_is_known or not (is_tunable(best) or len(others) > 1):
        return _with(experiment, [] if there else [fair])
    winner = _best_of(experiment, best, others, Playing(jobs, on_event, stop))
    same = next((one for one in others if plays_like(one, winner)), None)
    if same is None:
        taken = {entry.label for entry in (*experiment.systems, *added)}
        label = _free(_BEST_LABEL if others else _LABEL, taken)
        same = msgspec.structs.replace(winner, label=label)
        added.append(same)
    return _with(experiment, added, same.label)


def fair_alone(experiment: Experiment) -> Variant | None:
    """Return parties that learn alone with the settings of the first system that claims a finite ε.

    None if there is no such system, or if no preset whose parties learn alone plays here.
    """
    judged, _ = _judged_and_alone(experiment)
    return None if judged is None else _alone(experiment, judged)


def _with(experiment: Experiment, added: Sequence[Variant], best_alone: str = "") -> Experiment:
    systems = (*experiment.systems, *added)
    return msgspec.structs.replace(experiment, systems=systems, best_alone=best_alone)


def _judged_and_alone(experiment: Experiment) -> tuple[Variant | None, list[Variant]]:
    """Find the first system that claims a finite ε, and all whose parties learn alone."""
    with warnings.catch_warnings():  # the run itself warns
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
    for preset, declared in presets_for("alone", judged):
        if declared.plays_in(type(experiment.environment)):
            return counterpart(judged, preset, declared, label)
    return None


def _free(label: str, taken: Collection[str]) -> str:
    """Return the label, with a number if it is taken."""
    numbered = (f"{label} {number}" for number in itertools.count(2))
    return next(name for name in itertools.chain([label], numbered) if name not in taken)


def _best_of(
    experiment: Experiment, default: Variant, others: Sequence[Variant], playing: Playing
) -> Variant:
    """Try settings around the default, and return the best of them and of the others.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If it was ended before all were played.
    """
    sizes = _batches(tried_on(experiment))
    tried = _Tried(experiment, default, sizes, playing)
    most = max(LEAST_PLAYED, OF_THE_RUN * experiment.replicates * len(experiment.systems))
    first = 2 if sizes[0] < tried_on(experiment) else 1
    race = Race[Place | Variant](tried.play, sizes, first, most)
    climb(race, Bounds(default_ridge(default)), is_tunable(default))
    known = [tried.variant(one) for one in race.candidates]
    race.enter(one for one in others if not any(plays_like(one, other) for other in known))
    return tried.variant(race.settle())


def _batches(first: int) -> tuple[int, ...]:
    """Return how many replicates each batch has, of which the first ones are ``first`` together."""
    begun = (first // 2, first - first // 2) if first > 3 else (first,)
    return (*begun, *(first,) * (MORE - 1))


class _Tried:
    """Plays settings of a system whose parties learn alone, on replicates of their own."""

    def __init__(
        self, experiment: Experiment, default: Variant, sizes: Sequence[int], playing: Playing
    ) -> None:
        self._experiment, self._default = experiment, default
        self._sizes, self._playing = sizes, playing
        self._numbers: list[Place | Variant] = []

    def variant(self, candidate: Place | Variant) -> Variant:
        """Return the variant that a candidate stands for."""
        return tuned(self._default, candidate) if isinstance(candidate, Place) else candidate

    def _numbered(self, candidate: Place | Variant) -> Variant:
        """Return the variant of a candidate under a label of its own."""
        entry = self.variant(candidate)
        if candidate not in self._numbers:
            self._numbers.append(candidate)
        label = f"try {self._numbers.index(candidate) + 1}: {entry.label}"
        return msgspec.structs.replace(entry, label=label[:60].rstrip())

    def play(self, candidates: Sequence[Place | Variant], batch: int) -> Floats:
        """Play a batch, and return what each candidate loses, (candidates, replicates)."""
        begun = bool(self._numbers)
        own = msgspec.structs.replace(
            self._experiment,
            systems=tuple(self._numbered(one) for one in candidates),
            best_alone="",
            seed=self._experiment.seed ^ _OTHER_SEED ^ (batch << 48),
            replicates=self._sizes[batch],
            checkpoints=2,
        )
        result = play_trial(own, self._playing, warns_of_length=not begun)  # once is enough
        labels = labels_of(result)
        losses = measure(labels.words, labels.decisions, result)
        return losses.direction * losses.totals
