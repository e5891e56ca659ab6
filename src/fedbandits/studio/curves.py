"""Curves of a run: a number of each replicate at every recorded round, mean and interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.environments.base import Words, plural
from fedbandits.environments.first_rounds import Decisions, decisions_in
from fedbandits.experiments.events import Row
from fedbandits.experiments.intervals import FEWEST, interval
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.measure import with_article
from fedbandits.settings.experiment import Experiment


class Axes(NamedTuple):
    """The words at the axes of a run's picture."""

    unit: str  # of the vertical axis
    decisions: str  # what the horizontal axis counts


class Scale(NamedTuple):
    """The computation of a run's values from rows.

    Parameters
    ----------
    words
        The words of the environment.
    acting
        How many parties act in a round.
    first_rounds
        The first round of each party; empty if all begin in the first one.
    is_regret
        Whether regret is known; else it is the reward of a decision.
    """

    words: Words
    acting: int
    first_rounds: tuple[int, ...]
    is_regret: bool

    @classmethod
    def of(cls, experiment: Experiment) -> Scale:
        """Return the scale of an experiment."""
        world = experiment.environment
        return cls(world.words, world.acting, world.first_rounds, world.regret_is_known)

    def value(self, row: Row) -> float:
        """Return the value of a row: regret of one party, or reward of one decision."""
        if self.is_regret:
            return row.regret / self.acting
        return row.reward / self._decisions(row.round).total

    def _decisions(self, rounds: int) -> Decisions:
        return decisions_in(rounds, self.acting, self.first_rounds)

    @property
    def axes(self) -> Axes:
        """The words at the axes."""
        words = self.words
        if not self.is_regret:
            return Axes(f"reward of {with_article(words.turn)}", "rounds")
        if self.acting == 1:
            return Axes(words.loss, plural(words.turn))
        party = with_article(words.party)
        return Axes(f"{words.loss} of {party}", f"{plural(words.turn)} of {party}")


#: Values of replicates, by their numbers.
Runs = Mapping[int, Sequence[float]]


def curve_table(
    system: str, rounds: Sequence[int], finished: Runs, playing: Runs
) -> dict[str, Any]:
    """Return the curve of one system for the page.

    Parameters
    ----------
    system
        Its label.
    rounds
        The recorded rounds.
    finished, playing
        Values of finished replicates, and of those that are being played: as many as there are.
    """
    runs = np.array(list(finished.values()), np.float64).reshape(len(finished), len(rounds))
    count, everything = len(finished), {**playing, **finished}
    mean = runs.mean(axis=0) if count else runs.sum(axis=0)[:0]
    last = runs[:, -1] if count > 1 else None
    deviation = None if last is None else float(last.std(ddof=1))
    return {
        "system": system,
        "rounds": list(rounds),
        # By number, so that the k-th of two systems are a pair; one that is missing is empty.
        "replicates": [
            _finite(everything.get(number, ())) for number in range(max(everything, default=-1) + 1)
        ],
        "mean": _finite(mean),
        "half": _finite(interval(runs).half) if count >= FEWEST else None,
        "n": count,
        "deviation": deviation,
        "error": None if deviation is None else deviation / math.sqrt(count),
    }


def curves_of(result: xr.Dataset) -> tuple[Axes, list[dict[str, Any]]]:
    """Return the words at the axes of a result, and the curve of every system."""
    labels = labels_of(result)
    regret = np.asarray(result["regret"].sum("party").values, np.float64)
    reward = np.asarray(result["reward"].sum("party").values, np.float64)
    done = np.isfinite(reward[..., -1])
    is_regret = bool(done.any() and np.isfinite(regret[done]).all())
    scale = Scale(labels.words, labels.acting, labels.first_rounds, is_regret)
    rounds = [int(each) for each in result["round"].values]
    values = regret / labels.acting
    if not is_regret:
        values = reward / np.array([labels.decisions_in(each).total for each in rounds])
    return scale.axes, [
        curve_table(
            str(system), rounds,
            {int(k): values[place, k].tolist() for k in np.flatnonzero(done[place])}, {},
        )
        for place, system in enumerate(result["system"].values)
    ]  # fmt: skip


def _finite(values: Iterable[float] | Floats) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]
