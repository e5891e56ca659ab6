"""Parties that learn alone at their best: their settings are tried on replicates of their own.

A party that learns alone chooses its exploration scale and its regularization. A system that shares
is compared with the best of these choices, so that sharing does not gain over a choice that no
party would make. The replicates of the run itself are not used: no party could know the best choice
on them.
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
from fedbandits.experiments.measure import measure_run
from fedbandits.experiments.run import Playing, play_trial
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.experiments.tuning import LEAST_PLAYED, MORE, OF_THE_RUN, Bounds, Place, Race, climb
from fedbandits.settings.experiment import Experiment, Variant, load
from fedbandits.systems import find_system

#: Turns the seed of a run into the seed of other replicates.
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

    Settings are tried on replicates of their own, not on replicates of the experiment. Tried are
    values of ``exploration_scale``, and of ``regularization`` if a system has the setting, and all
    systems of the experiment with parties that learn alone. The search goes on if the best value is
    the last value. Other settings come from the first system that claims a finite ε, except the
    settings of messages, their times and noise. The best system is added, unless the experiment has
    it already. If the private system explores by a proved radius, and no parties of the experiment
    learn alone, parties with the same radius are added too.

    Parameters
    ----------
    experiment
        An :class:`.Experiment`, or the path of a TOML file.
    jobs, on_event, stop
        Options of the trials; see :func:`fedbandits.run`.

    Returns
    -------
    Experiment
        The same experiment, if it names ``best_alone``, if no system claims a finite ε, or if no
        system with parties alone plays in this environment. If regret is not known, as with a log,
        no settings are tried.

    Raises
    ------
    ConfigError, DataError
        If the experiment cannot be run.
    KeyboardInterrupt, StoppedError
        If the search was ended early.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    if experiment.best_alone:
        return experiment
    judged, present = _judged_and_alone(experiment)
    fair = _alone(experiment, judged) if judged is not None else None
    if fair is None:
        return experiment
    best = as_people_explore(fair)
    added = [] if present else [fair] if fair != best else []
    others = [*present, *added]
    if not experiment.environment.regret_is_known or not (is_tunable(best) or len(others) > 1):
        return _with(experiment, [] if present else [fair])
    winner = _best_of(experiment, best, others, Playing(jobs, on_event, stop))
    same = next((entry for entry in others if plays_like(entry, winner)), None)
    if same is None:
        taken = {entry.label for entry in (*experiment.systems, *added)}
        label = _free(_BEST_LABEL if others else _LABEL, taken)
        same = msgspec.structs.replace(winner, label=label)
        added.append(same)
    return _with(experiment, added, same.label)


def fair_alone(experiment: Experiment) -> Variant | None:
    """Return parties that learn alone with the settings of the first system that claims a finite ε.

    None without such a system, or if no preset with parties alone plays in the environment.
    """
    judged, _ = _judged_and_alone(experiment)
    return None if judged is None else _alone(experiment, judged)


def _with(experiment: Experiment, added: Sequence[Variant], best_alone: str = "") -> Experiment:
    systems = (*experiment.systems, *added)
    return msgspec.structs.replace(experiment, systems=systems, best_alone=best_alone)


def _judged_and_alone(experiment: Experiment) -> tuple[Variant | None, list[Variant]]:
    """Find the first system that claims a finite ε, and all systems with parties alone."""
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
    """Make a fair *alone* for ``judged``; None if no preset of that kind plays here."""
    label = _free(_LABEL, {entry.label for entry in experiment.systems})
    for preset, declared in presets_for("alone", judged):
        if declared.plays_in(type(experiment.environment)):
            return counterpart(judged, preset, declared, label)
    return None


def _free(label: str, taken: Collection[str]) -> str:
    """Return the label, with a number if another system has it."""
    numbered = (f"{label} {number}" for number in itertools.count(2))
    return next(name for name in itertools.chain([label], numbered) if name not in taken)


def _best_of(
    experiment: Experiment, default: Variant, others: Sequence[Variant], playing: Playing
) -> Variant:
    """Try settings around the default, and return the best of these and of ``others``.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If the search was ended early.
    """
    sizes = _batches(tried_on(experiment))
    tried = _Tried(experiment, default, sizes, playing)
    most = max(LEAST_PLAYED, OF_THE_RUN * experiment.replicates * len(experiment.systems))
    first = 2 if sizes[0] < tried_on(experiment) else 1
    race = Race[Place | Variant](tried.play, sizes, first, most)
    climb(race, Bounds(default_ridge(default)), is_tunable(default))
    known = [tried.variant(candidate) for candidate in race.candidates]
    race.enter(entry for entry in others if not any(plays_like(entry, same) for same in known))
    return tried.variant(race.settle())


def _batches(first: int) -> tuple[int, ...]:
    """Return the replicates of each batch; the first batches have ``first`` together."""
    begun = (first // 2, first - first // 2) if first > 3 else (first,)
    return (*begun, *(first,) * (MORE - 1))


class _Tried:
    """Player of candidates: settings of parties alone, and variants, on other replicates."""

    def __init__(
        self, experiment: Experiment, default: Variant, sizes: Sequence[int], playing: Playing
    ) -> None:
        self._experiment, self._default = experiment, default
        self._sizes, self._playing = sizes, playing
        self._numbers: list[Place | Variant] = []

    def variant(self, candidate: Place | Variant) -> Variant:
        """Return the variant of a candidate."""
        return tuned(self._default, candidate) if isinstance(candidate, Place) else candidate

    def _numbered(self, candidate: Place | Variant) -> Variant:
        """Return the variant of a candidate with a numbered label."""
        entry = self.variant(candidate)
        if candidate not in self._numbers:
            self._numbers.append(candidate)
        label = f"try {self._numbers.index(candidate) + 1}: {entry.label}"
        return msgspec.structs.replace(entry, label=label[:60].rstrip())

    def play(self, candidates: Sequence[Place | Variant], batch: int) -> Floats:
        """Play a batch, and return the loss of each candidate, (candidates, replicates)."""
        begun = bool(self._numbers)
        own = msgspec.structs.replace(
            self._experiment,
            systems=tuple(map(self._numbered, candidates)),
            best_alone="",
            seed=self._experiment.seed ^ _OTHER_SEED ^ (batch << 48),
            replicates=self._sizes[batch],
            checkpoints=2,
        )
        result = play_trial(own, self._playing, warns_of_length=not begun)  # warn once
        losses = measure_run(result)
        return losses.direction * losses.totals
