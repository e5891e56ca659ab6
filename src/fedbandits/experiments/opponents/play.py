"""Playing the opponents of a run: a plain LinUCB on prepared rows, and logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import get_args

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.errors import ConfigWarning, LongRunWarning, StoppedError
from fedbandits.experiments.baselines import Kind, as_usual, plays_like
from fedbandits.experiments.best_alone import fair_alone
from fedbandits.experiments.opponents.logistic import Shown, play_alone, play_pooled, shown_to
from fedbandits.experiments.opponents.opponent import Opponent
from fedbandits.experiments.opponents.sizes import logistic_sizes
from fedbandits.experiments.run import run
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import Experiment, Variant

ON_PREPARED_ROWS, PLAIN = "LinUCB on prepared rows", "plain LinUCB"
LOGISTIC = "greedy logistic regression"


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
    lost = _lost(own, jobs, on_event, stop)
    means, sampled = (_tuple(lost[:, place].mean(axis=1)) for place in (slice(None), sample))
    linear = Opponent(name=name, kind="alone", losses=means, sampled=sampled)
    return (linear, *alone, *pooled)


def _plays(experiment: Experiment, entry: Variant) -> bool:
    """Tell whether a system of the experiment plays like the entry."""
    return any(plays_like(entry, one) for one in experiment.systems)


def _tuple(losses: Floats) -> tuple[float, ...]:
    return tuple(map(float, losses))


def _lost(
    own: Experiment, jobs: int | None, on_event: Listener | None, stop: Stop | None
) -> Floats:
    """Play an experiment of one system; return what each party loses, (replicates, parties)."""
    with warnings.catch_warnings():  # whoever runs the experiment is warned then
        warnings.simplefilter("ignore", ConfigWarning)
        warnings.simplefilter("ignore", LongRunWarning)
        result = run(own, jobs=jobs, on_event=on_event, stop=stop)
    if result.attrs["interrupted"]:
        raise StoppedError("stopped before all were played") if stop else KeyboardInterrupt
    return np.asarray(result.regret.isel(system=0, round=-1).values, np.float64)


def _logistic(
    experiment: Experiment, world: ContextualEnvironment, stop: Stop | None
) -> tuple[list[Opponent], list[Opponent]]:
    """Play logistic regression alone, and pooled, where it can be played.

    Rewards are 0 or 1 then, and nothing changes or comes late.
    """
    if not world.right_or_wrong or world.drift or world.delay or world.first_rounds:
        return [], []
    sizes = logistic_sizes(experiment, world)
    found: list[list[Opponent]] = []
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
    """Return the mean loss of a party in each of the first replicates."""
    losses = []
    for replicate in range(replicates):
        if stop:
            raise StoppedError("stopped before all were played")
        key = replicate_key(experiment.seed, replicate)
        shown = shown_to(world, key, experiment.rounds, parties or range(world.parties))
        losses.append(float(play(shown).mean()))
    return tuple(losses)
