"""Playing the opponents of a run: a plain LinUCB on prepared rows, and logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple, get_args

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.errors import ConfigWarning, StoppedError
from fedbandits.experiments.baselines import Kind, as_usual, plays_like
from fedbandits.experiments.best_alone import fair_alone
from fedbandits.experiments.opponents.logistic import Shown, play_alone, play_pooled, shown_to
from fedbandits.experiments.opponents.opponent import Opponent
from fedbandits.experiments.run import run
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import Experiment

ON_PREPARED_ROWS, PLAIN = "LinUCB on prepared rows", "plain LinUCB"
LOGISTIC = "greedy logistic regression"
#: Most parties that learn alone by logistic regression, most replicates, and most of them pooled.
MOST_PARTIES, MOST_REPLICATES, MOST_POOLED = 200, 8, 4
#: Fewest of both: less would say nothing.
_FEWEST = 3
#: Seconds on one processor that it may take alone, and pooled: about, on whatever machine.
_MOST_ALONE, _MOST_OF_POOLED = 1.5, 1.0
#: Numbers of all contexts of a replicate, at most; 256 MB.
_MOST_NUMBERS = 2**26


def opponents_of(
    experiment: Experiment,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> tuple[Opponent, ...]:
    """Play what a user has without a private system, on the replicates of the experiment.

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
    entry, found = as_usual(fair), []
    known = rows is None and any(plays_like(entry, one) for one in experiment.systems)
    if entry is not None and not known:
        name = PLAIN if rows is None else ON_PREPARED_ROWS
        own = msgspec.structs.replace(
            experiment,
            environment=rows or world,
            systems=(msgspec.structs.replace(entry, label=name),),
            best_alone="",
            checkpoints=2,
        )
        lost = _lost(own, jobs, on_event, stop)
        means, sampled = (lost[:, place].mean(axis=1) for place in (slice(None), sample))
        found.append(
            Opponent(name=name, kind="alone", losses=_tuple(means), sampled=_tuple(sampled))
        )
    return (*found, *alone, *pooled)


def _tuple(losses: Floats) -> tuple[float, ...]:
    return tuple(map(float, losses))


def _lost(
    own: Experiment, jobs: int | None, on_event: Listener | None, stop: Stop | None
) -> Floats:
    """Play an experiment of one system; return what each party loses, (replicates, parties)."""
    with warnings.catch_warnings():  # whoever runs the experiment is warned then
        warnings.simplefilter("ignore", ConfigWarning)
        result = run(own, jobs=jobs, on_event=on_event, stop=stop)
    if result.attrs["interrupted"]:
        raise StoppedError("stopped before all were played") if stop else KeyboardInterrupt
    return np.asarray(result.regret.isel(system=0, round=-1).values, np.float64)


class Size(NamedTuple):
    """How much is played by logistic regression."""

    parties: int
    replicates: int


def logistic_sizes(experiment: Experiment, world: ContextualEnvironment) -> tuple[Size, Size]:
    """Return how much is played alone, and pooled; 0 parties for what would take too long.

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

    @property
    def _a_round(self) -> float:
        return 1e-4

    def _decisions(self, parties: int) -> float:
        """Return the seconds in which worlds show so many parties what they meet."""
        return 2e-6 * self.rounds * parties

    def alone(self, parties: int) -> float:
        """Return the seconds of one replicate of so many parties alone."""
        fits = parties * self.arms * min(25.0, 1.0 + self.rounds / self.arms)
        records = 20.0 * self.rounds * parties
        return (
            self._a_round * self.rounds + self._decisions(parties)
            + fits * (1e-5 + 5e-10 * self.dimension**3) + 1e-9 * records * self.dimension**2
        )  # fmt: skip

    def pooled(self, parties: int) -> float:
        """Return the seconds of one replicate of so many parties that share all."""
        records = 20.0 * self.rounds * parties
        return (
            self._a_round * self.rounds + self._decisions(parties)
            + 4e-9 * records * self.dimension**2
        )  # fmt: skip


def _bearable(parties: int, replicates: int, seconds: Callable[[int], float]) -> Size:
    """Leave out parties, then replicates, until the work is bearable; at last all of it."""
    least = min(_FEWEST, parties)
    while parties > least and seconds(parties) * replicates > _MOST_ALONE:
        parties -= 1
    while replicates > _FEWEST and seconds(parties) * replicates > _MOST_ALONE:
        replicates -= 1
    bearable = parties and seconds(parties) * replicates <= 2.0 * _MOST_ALONE
    return Size(parties, replicates) if bearable else Size(0, 0)


def _logistic(
    experiment: Experiment, world: ContextualEnvironment, stop: Stop | None
) -> tuple[list[Opponent], list[Opponent]]:
    """Play logistic regression alone, and pooled, where it can be played.

    Rewards are 0 or 1 then, and nothing changes or comes late.
    """
    if not world.right_or_wrong or world.drift or world.delay or world.first_rounds:
        return [], []
    sizes, found = logistic_sizes(experiment, world), []
    for size, kind, play in zip(sizes, get_args(Kind), (play_alone, play_pooled), strict=True):
        if not size.parties:
            found.append([])
            continue
        chosen = np.linspace(0, world.parties - 1, size.parties).round().astype(int)
        parties = tuple(map(int, chosen)) if len(chosen) < world.parties else ()
        losses = _played(experiment, world, size.replicates, parties, play, stop)
        found.append(
            [Opponent(name=LOGISTIC, kind=kind, losses=losses, parties=parties, linear=False)]
        )
    return found[0], found[1]


def _played(
    experiment: Experiment, world: ContextualEnvironment, replicates: int, parties: Sequence[int],
    play: Callable[[Shown], Floats], stop: Stop | None,
) -> tuple[float, ...]:  # fmt: skip
    """Return what one of the parties loses in each of the first replicates."""
    losses = []
    for replicate in range(replicates):
        if stop:
            raise StoppedError("stopped before all were played")
        key = replicate_key(experiment.seed, replicate)
        shown = shown_to(world, key, experiment.rounds, parties or range(world.parties))
        losses.append(float(play(shown).mean()))
    return tuple(losses)
