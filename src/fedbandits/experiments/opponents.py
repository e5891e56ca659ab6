"""Opponents of private systems that every user has: they are played and judged beside a run.

They are a plain LinUCB on prepared rows, and logistic regression of a size that takes a few
seconds. Sizes follow from the experiment alone, so that results are the same on every machine. The
result of a run keeps its opponents, and its answer compares with them.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.errors import FedbanditsError, StoppedError
from fedbandits.experiments.answers.rivals import Opponent, noted, opponents_in
from fedbandits.experiments.baselines import Kind, as_usual, plays_like
from fedbandits.experiments.best_alone import fair_alone
from fedbandits.experiments.folder import kept_in, read_result
from fedbandits.experiments.logistic import Shown, play_alone, play_pooled, shown_to
from fedbandits.experiments.run import Playing, play_trial
from fedbandits.experiments.runner import Options, play
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import Experiment, Variant
from fedbandits.settings.sweeps import Sweep

#: Most parties that learn alone by logistic regression, most replicates, and most of them pooled.
MOST_PARTIES, MOST_REPLICATES, MOST_POOLED = 200, 8, 4
#: Fewest parties, and fewest replicates: with fewer, a comparison says nothing.
_FEWEST = 3
#: Seconds of one processor that logistic regression may take alone, and pooled: about, on any
#: machine.
_MOST_ALONE, _MOST_OF_POOLED = 1.5, 1.0
#: Numbers of all contexts of a replicate, at most; 256 MB.
_MOST_NUMBERS = 2**26


class Size(NamedTuple):
    """The parties and replicates that are played by logistic regression."""

    parties: int
    replicates: int


def logistic_sizes(experiment: Experiment, world: ContextualEnvironment) -> tuple[Size, Size]:
    """Return the sizes of play alone, and pooled; 0 parties where play would take too long.

    Parties alone are few, since they are independent. Pooled all of them count.
    """
    every = world.parties
    most = _MOST_NUMBERS // (experiment.rounds * (world.dimension + world.arm_count))
    replicates = min(MOST_REPLICATES, experiment.replicates)
    alone = _bearable(min(MOST_PARTIES, every, most), replicates, _Cost.of(experiment, world).alone)
    cost = _Cost.of(experiment, world).pooled(every)
    replicates = min(replicates, MOST_POOLED, int(_MOST_OF_POOLED / cost))
    return alone, Size(every if every <= most and replicates else 0, replicates)


class _Cost(NamedTuple):
    """Seconds that logistic regression takes, about, from which all sizes follow."""

    rounds: int
    arms: int
    dimension: int

    @classmethod
    def of(cls, experiment: Experiment, world: ContextualEnvironment) -> _Cost:
        return cls(experiment.rounds, world.arm_count, world.dimension)

    def _rounds(self, parties: int) -> float:
        """Return the seconds in which so many parties see their contexts, and decide."""
        return self.rounds * (1e-4 + 2e-6 * parties)

    def alone(self, parties: int) -> float:
        """Return the seconds of one replicate of so many parties alone."""
        fits = parties * self.arms * min(25.0, 1.0 + self.rounds / self.arms)
        solving = fits * (1e-5 + 5e-10 * self.dimension**3)
        return self._rounds(parties) + solving + 2e-8 * self._squares(parties)

    def pooled(self, parties: int) -> float:
        """Return the seconds of one replicate of so many parties that share all."""
        return self._rounds(parties) + 8e-8 * self._squares(parties)

    def _squares(self, parties: int) -> float:
        """Return how many products of two numbers all contexts have."""
        return float(self.rounds * parties * self.dimension**2)


def _bearable(parties: int, replicates: int, seconds: Callable[[int], float]) -> Size:
    """Leave out parties, then replicates, until the work is bearable; at last all of it."""
    least = min(_FEWEST, parties)
    while parties > least and seconds(parties) * replicates > _MOST_ALONE:
        parties -= 1
    while replicates > _FEWEST and seconds(parties) * replicates > _MOST_ALONE:
        replicates -= 1
    bearable = parties and seconds(parties) * replicates <= 2.0 * _MOST_ALONE
    return Size(parties, replicates) if bearable else Size(0, 0)


ON_PREPARED_ROWS, PLAIN = "LinUCB on prepared rows", "plain LinUCB"
LOGISTIC = "greedy logistic regression"


def opponents_of(
    experiment: Experiment,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> tuple[Opponent, ...]:
    """Play the opponents of an experiment, on its replicates.

    They are LinUCB as it usually is (α = 1, λ = 1), on rows that are prepared, unless the
    experiment has it; and where each arm is right or wrong, logistic regression, alone and pooled
    in clear. None if no system claims a finite ε, or regret is not known.

    Parameters
    ----------
    experiment
        The experiment that :func:`.with_alone` returned.
    jobs, on_event, stop
        How replicates are played; see :func:`fedbandits.run`.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If it was ended before all were played.
    """
    world = experiment.environment
    if not isinstance(world, ContextualEnvironment) or not world.regret_is_known:
        return ()
    fair = fair_alone(experiment)
    if fair is None or world.acting != world.parties:
        return ()
    rows = world.prepared()
    alone, pooled = _logistic(experiment, rows or world, stop)
    sample = list(alone[0].parties) if alone and alone[0].parties else slice(None)
    usual = as_usual(fair)
    if usual is None or (rows is None and _plays(experiment, usual)):
        return (*alone, *pooled)
    name = PLAIN if rows is None else ON_PREPARED_ROWS
    own = msgspec.structs.replace(
        experiment,
        environment=rows or world,
        systems=(msgspec.structs.replace(usual, label=name),),
        best_alone="",
        checkpoints=2,
    )
    result = play_trial(own, Playing(jobs, on_event, stop), warns_of_length=False)
    lost = np.asarray(result.regret.isel(system=0, round=-1).values, np.float64)
    means, sampled = (_tuple(lost[:, place].mean(axis=1)) for place in (slice(None), sample))
    linear = Opponent(name=name, kind="alone", losses=means, sampled=sampled)
    return (linear, *alone, *pooled)


def _plays(experiment: Experiment, entry: Variant) -> bool:
    """Tell whether a system of the experiment plays like the entry."""
    return any(plays_like(entry, one) for one in experiment.systems)


def _tuple(losses: Floats) -> tuple[float, ...]:
    return tuple(map(float, losses))


def _logistic(
    experiment: Experiment, world: ContextualEnvironment, stop: Stop | None
) -> tuple[list[Opponent], list[Opponent]]:
    """Play logistic regression alone, and pooled, where it can be played.

    Rewards are 0 or 1 then, and nothing changes or comes late.
    """
    if not world.right_or_wrong or world.drift or world.delay or world.first_rounds:
        return [], []
    sizes = logistic_sizes(experiment, world)
    both: list[list[Opponent]] = []
    for size, kind, way in zip(sizes, get_args(Kind), (play_alone, play_pooled), strict=True):
        if not size.parties:
            both.append([])
            continue
        chosen = np.linspace(0, world.parties - 1, size.parties).round().astype(int)
        parties = tuple(map(int, chosen)) if len(chosen) < world.parties else ()
        losses = _played(experiment, world, size.replicates, parties, way, stop)
        both.append(
            [Opponent(name=LOGISTIC, kind=kind, losses=losses, parties=parties, linear=False)]
        )
    return both[0], both[1]


def _played(
    experiment: Experiment, world: ContextualEnvironment, replicates: int, parties: Sequence[int],
    way: Callable[[Shown], Floats], stop: Stop | None,
) -> tuple[float, ...]:  # fmt: skip
    """Return the mean loss of a party in each of the first replicates."""
    losses = []
    for replicate in range(replicates):
        if stop:
            raise StoppedError("stopped before all were played")
        key = replicate_key(experiment.seed, replicate)
        shown = shown_to(world, key, experiment.rounds, parties or range(world.parties))
        losses.append(float(way(shown).mean()))
    return tuple(losses)


def with_opponents(
    experiment: Experiment,
    result: xr.Dataset,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> xr.Dataset:
    """Play the opponents of a run, which need no private system; ``fedbandits run`` does so too.

    :func:`.answer` then compares with it, replicate by replicate. Parties alone play LinUCB as it
    usually is (α = 1, λ = 1), on rows that are prepared. If each arm is right or wrong, they play
    logistic regression too, alone and pooled in clear: it is greedy, and few parties and replicates
    are played, so that it takes about 3 seconds at most.

    Parameters
    ----------
    experiment
        The experiment, as :func:`.with_alone` returned it.
    result
        Its result.
    jobs, on_event, stop
        How replicates are played; see :func:`fedbandits.run`.

    Returns
    -------
    xarray.Dataset
        The result with ``attrs["opponents"]``.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If it was ended before all were played.
    """
    opponents = opponents_of(experiment, jobs=jobs, on_event=on_event, stop=stop)
    return result.assign_attrs(noted(opponents))


def run_beside(
    experiment: Experiment, opponents: tuple[Opponent, ...] | None, **options: Any
) -> xr.Dataset:
    """Run an experiment as :func:`fedbandits.run` does, and keep opponents in its result.

    ``opponents`` are None if none were looked for.
    """
    kept = {} if opponents is None else noted(opponents)
    return play(Sweep(experiment, ()), Options(**options, noted=kept))


def opponents_for(
    out: pathlib.Path,
    experiment: Experiment,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> tuple[Opponent, ...]:
    """Return the opponents that a run of the same experiment in a folder has, or play them.

    An experiment without ``best_alone`` has no opponents, because it asks for no verdict.
    Parameters and errors are the same as of :func:`.opponents_of`.
    """
    if not experiment.best_alone:
        return ()
    if kept_in(out, experiment) is not None:
        try:
            stored = opponents_in(read_result(out).attrs)
        except (FedbanditsError, OSError):
            stored = None
        if stored is not None:
            return stored
    return opponents_of(experiment, jobs=jobs, on_event=on_event, stop=stop)
