"""Opponents of private systems that every user has: they are played and judged beside a run.

Opponents are a plain LinUCB on prepared rows, and logistic regression of a size that takes a few
seconds, alone and pooled in clear. Sizes follow from the experiment alone, so that results are the
same on every machine. The result of a run keeps its opponents, and its answer compares with them.

Logistic regression is the usual model of rewards 0 and 1. Where it is far better than a linear
model, a linear model is the wrong one. It is greedy: it plays the arm that is most likely right. An
arm without a record is right with probability ½, and so it is soon tried. It is played outside the
compiled loops, on the contexts and rewards that all systems of a replicate meet.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np
import xarray as xr

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.errors import FedbanditsError, StoppedError
from fedbandits.experiments.answers.rivals import Opponent, noted, opponents_in
from fedbandits.experiments.baselines import Kind, as_usual, plays_like
from fedbandits.experiments.best_alone import fair_alone
from fedbandits.experiments.folder import kept_in, read_result
from fedbandits.experiments.run import DEFAULTS, Playing, play_trial
from fedbandits.experiments.runner import Options, play
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.learners.logistic import fit_logistic
from fedbandits.random import Key, Purpose, replicate_key, uniforms
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Sweep

#: Most parties that learn alone by logistic regression, most replicates, and most pooled ones.
MOST_PARTIES, MOST_REPLICATES, MOST_POOLED = 200, 8, 4
#: Fewest parties, and fewest replicates, of a comparison.
_FEWEST = 3
#: Approximate seconds of one processor that logistic regression may take alone, and pooled.
_MOST_ALONE, _MOST_OF_POOLED = 1.5, 1.0
#: Most numbers in all contexts of a replicate; 256 MB.
_MOST_NUMBERS = 2**26
#: Growth of the records of a model until its next fit: alone, and pooled.
_GROWTH_ALONE, _GROWTH_POOLED = 1.2, 1.25
#: Most numbers of rows that are copied for a fit of several models; 32 MB.
_MOST_AT_ONCE = 2**22


class Size(NamedTuple):
    """The number of parties and replicates of logistic regression."""

    parties: int
    replicates: int


def logistic_sizes(experiment: Experiment, world: ContextualEnvironment) -> tuple[Size, Size]:
    """Return the sizes of play alone, and pooled; 0 parties if play would take too long.

    Few parties alone are enough, since they are independent. Pooled all parties play.
    """
    every = world.parties
    most = _MOST_NUMBERS // (experiment.rounds * (world.dimension + world.arm_count))
    replicates = min(MOST_REPLICATES, experiment.replicates)
    alone = _bearable(min(MOST_PARTIES, every, most), replicates, _Cost.of(experiment, world).alone)
    cost = _Cost.of(experiment, world).pooled(every)
    replicates = min(replicates, MOST_POOLED, int(_MOST_OF_POOLED / cost))
    return alone, Size(every if every <= most and replicates else 0, replicates)


class _Cost(NamedTuple):
    """Approximate cost of logistic regression, which determines all sizes."""

    rounds: int
    arms: int
    dimension: int

    @classmethod
    def of(cls, experiment: Experiment, world: ContextualEnvironment) -> _Cost:
        return cls(experiment.rounds, world.arm_count, world.dimension)

    def _rounds(self, parties: int) -> float:
        """Return the seconds of the decisions of all parties."""
        return self.rounds * (1e-4 + 2e-6 * parties)

    def alone(self, parties: int) -> float:
        """Return the seconds of a replicate of parties alone."""
        fits = parties * self.arms * min(25.0, 1.0 + self.rounds / self.arms)
        solving = fits * (1e-5 + 5e-10 * self.dimension**3)
        return self._rounds(parties) + solving + 2e-8 * self._squares(parties)

    def pooled(self, parties: int) -> float:
        """Return the seconds of a replicate of parties that pool all records."""
        return self._rounds(parties) + 8e-8 * self._squares(parties)

    def _squares(self, parties: int) -> float:
        """Return the number of products of two numbers in all contexts."""
        return float(self.rounds * parties * self.dimension**2)


def _bearable(parties: int, replicates: int, seconds: Callable[[int], float]) -> Size:
    """Reduce parties, then replicates, until the work is bearable; else return no parties."""
    least = min(_FEWEST, parties)
    while parties > least and seconds(parties) * replicates > _MOST_ALONE:
        parties -= 1
    while replicates > _FEWEST and seconds(parties) * replicates > _MOST_ALONE:
        replicates -= 1
    bearable = parties and seconds(parties) * replicates <= 2.0 * _MOST_ALONE
    return Size(parties, replicates) if bearable else Size(0, 0)


class Shown(NamedTuple):
    """The contexts and expected rewards of some parties in a replicate."""

    contexts: Floats32  # (rounds, parties, d), coordinates of about 1 in size
    expected: Floats32  # (rounds, parties, arms): 0 or 1
    draws: Floats  # (rounds, parties): uniform, to choose among equally good arms


def shown_to(
    environment: ContextualEnvironment, key: Key, rounds: int, parties: Sequence[int]
) -> Shown:
    """Return the contexts and rewards of ``parties`` in ``rounds`` rounds of a replicate."""
    world, facts = environment.open(key), environment.facts
    size = rounds, len(parties)
    contexts = np.empty((*size, facts.dimension), np.float32)
    expected = np.empty((*size, facts.arms), np.float32)
    draws = np.empty(size)
    features, paid = world.features, world.expected
    for place, party in enumerate(parties):
        draws[:, place] = uniforms(rounds, key, party, 0, Purpose.LEARNER)
        for round_ in range(rounds):
            world.fill(party, round_ + 1)
            contexts[round_, place] = features[:, 0]
            expected[round_, place] = paid
    world.check()
    contexts *= np.float32(math.sqrt(facts.dimension))
    return Shown(contexts, expected, draws)


def play_alone(shown: Shown) -> Floats:
    """Play parties that learn alone; return the loss of each, (parties,).

    Each arm of each party has a model, fitted to the records in which the party chose the arm.
    """
    rounds, parties, arms = shown.expected.shape
    models = np.zeros((parties, arms, shown.contexts.shape[2]))
    rewards = np.zeros((rounds, parties))
    records = np.zeros((parties, arms, rounds), np.int32)  # rounds in which the arm was chosen
    counts, fitted = np.zeros((2, parties, arms), np.int64)
    lost, every = np.zeros(parties), np.arange(parties)
    for round_ in range(rounds):
        contexts, expected = shown.contexts[round_], shown.expected[round_]
        scores = np.einsum("pkd,pd->pk", models, contexts)
        chosen = _chosen(scores, shown.draws[round_])
        rewards[round_] = earned = expected[every, chosen]
        lost += expected.max(axis=1) - earned
        records[every, chosen, counts[every, chosen]] = round_
        counts[every, chosen] += 1
        now = counts[every, chosen]
        before = fitted[every, chosen]
        due = np.flatnonzero(now >= np.maximum(before + 1, np.ceil(before * _GROWTH_ALONE)))
        for some in _at_once(due, now[due], shown.contexts.shape[2]):
            due_models = some, chosen[some]
            fitted[due_models] = many = counts[due_models]
            when = records[due_models][:, : many.max()]
            weights = (np.arange(when.shape[1]) < many[:, None]).astype(np.float64)
            rows = shown.contexts[when, some[:, None]].astype(np.float64)
            paid = rewards[when, some[:, None]]
            models[due_models] = fit_logistic(rows, paid, weights, models[due_models])
    return lost


def play_pooled(shown: Shown) -> Floats:
    """Play parties that pool all records in clear; return the loss of each, (parties,)."""
    rounds, parties, arms = shown.expected.shape
    models = np.zeros((arms, shown.contexts.shape[2]))
    rewards, choices = np.zeros((rounds, parties)), np.zeros((rounds, parties), np.int64)
    lost, every = np.zeros(parties), np.arange(parties)
    fitted = 0
    for round_ in range(rounds):
        contexts, expected = shown.contexts[round_], shown.expected[round_]
        choices[round_] = chosen = _chosen(contexts @ models.T, shown.draws[round_])
        rewards[round_] = earned = expected[every, chosen]
        lost += expected.max(axis=1) - earned
        total = (round_ + 1) * parties
        if total >= fitted * _GROWTH_POOLED:
            fitted = total
            for arm in range(arms):
                of_arm = choices[: round_ + 1] == arm
                rows = shown.contexts[: round_ + 1][of_arm].astype(np.float64)
                paid = rewards[: round_ + 1][of_arm]
                start = models[arm : arm + 1]
                weights = np.ones((1, len(paid)))
                models[arm] = fit_logistic(rows[None], paid[None], weights, start)[0]
    return lost


def _chosen(scores: Floats, draws: Floats) -> Ints:
    """Choose the best arm of each party, or a random arm of equally good ones."""
    arms = scores.shape[1]
    turns = (np.arange(arms) + (draws[:, None] * arms).astype(np.int64)) % arms
    best = np.take_along_axis(scores, turns, axis=1).argmax(axis=1)
    return np.asarray(np.take_along_axis(turns, best[:, None], axis=1)[:, 0])


def _at_once(due: Ints, counts: Ints, dimension: int) -> Iterator[Ints]:
    """Group parties whose models are due, so that copies of their records stay small."""
    order = due[np.argsort(counts, kind="stable")]
    most = max(1, int(counts.max(initial=1)) * dimension)
    size = max(1, _MOST_AT_ONCE // most)
    for first in range(0, len(order), size):
        yield order[first : first + size]


ON_PREPARED_ROWS, PLAIN = "LinUCB on prepared rows", "plain LinUCB"
LOGISTIC = "greedy logistic regression"


def opponents_of(experiment: Experiment, playing: Playing = DEFAULTS) -> tuple[Opponent, ...]:
    """Play the opponents of an experiment, on its replicates.

    Opponents are LinUCB as usual (α = 1, λ = 1) on prepared rows, unless the experiment has it;
    and if each arm is right or wrong, logistic regression, alone and pooled in clear. There are no
    opponents if no system claims a finite ε, or regret is not known.

    Parameters
    ----------
    experiment
        The experiment that :func:`.with_alone` returned.
    playing
        Options of the trials.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If the play of opponents was ended early.
    """
    world = experiment.environment
    if not isinstance(world, ContextualEnvironment) or not world.regret_is_known:
        return ()
    fair = fair_alone(experiment)
    if fair is None or world.acting != world.parties:
        return ()
    rows = world.prepared()
    alone, pooled = _logistic(experiment, rows or world, playing.stop)
    sample = list(alone[0].parties) if alone and alone[0].parties else slice(None)
    usual = as_usual(fair)
    if usual is None or (
        rows is None and any(plays_like(usual, system) for system in experiment.systems)
    ):
        return (*alone, *pooled)
    name = PLAIN if rows is None else ON_PREPARED_ROWS
    own = msgspec.structs.replace(
        experiment,
        environment=rows or world,
        systems=(msgspec.structs.replace(usual, label=name),),
        best_alone="",
        checkpoints=2,
    )
    result = play_trial(own, playing, warns_of_length=False)
    lost = np.asarray(result.regret.isel(system=0, round=-1).values, np.float64)
    means, sampled = (
        tuple(lost[:, place].mean(axis=1).tolist()) for place in (slice(None), sample)
    )
    linear = Opponent(name=name, kind="alone", losses=means, sampled=sampled)
    return (linear, *alone, *pooled)


def _logistic(
    experiment: Experiment, world: ContextualEnvironment, stop: Stop | None
) -> tuple[list[Opponent], list[Opponent]]:
    """Play logistic regression alone, and pooled, if the world fits.

    A world fits if rewards are 0 or 1, without drift, delays and late joiners.
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
    """Play the opponents of a run, which need no private system, as ``fedbandits run`` does.

    :func:`.answer` then compares with them, replicate by replicate. Parties alone play LinUCB as
    usual (α = 1, λ = 1) on prepared rows. If each arm is right or wrong, they also play greedy
    logistic regression, alone and pooled in clear. It has few parties and replicates, and takes
    about 3 seconds at most.

    Parameters
    ----------
    experiment
        The experiment that :func:`.with_alone` returned.
    result
        Its result.
    jobs, on_event, stop
        Options of the trials; see :func:`fedbandits.run`.

    Returns
    -------
    xarray.Dataset
        The result with ``attrs["opponents"]``.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If the play of opponents was ended early.
    """
    return result.assign_attrs(noted(opponents_of(experiment, Playing(jobs, on_event, stop))))


def run_beside(
    experiment: Experiment, opponents: tuple[Opponent, ...] | None, **options: Any
) -> xr.Dataset:
    """Run an experiment as :func:`fedbandits.run` does, and keep opponents in its result.

    ``opponents`` are None without a search for opponents.
    """
    kept = {} if opponents is None else noted(opponents)
    return play(Sweep(experiment, ()), Options(**options, noted=kept))


def opponents_for(
    out: pathlib.Path, experiment: Experiment, playing: Playing = DEFAULTS
) -> tuple[Opponent, ...]:
    """Return the opponents of a run of the same experiment in a folder, or play them.

    An experiment without ``best_alone`` has no opponents, because it asks for no verdict. Errors
    are the same as of :func:`.opponents_of`.
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
    return opponents_of(experiment, playing)
