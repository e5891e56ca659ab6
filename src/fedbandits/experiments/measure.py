"""What systems are compared by: regret of one party, or reward where regret is not known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.environments.joins import Decisions
from fedbandits.environments.words import Words
from fedbandits.experiments.offline import ANSWERED_BY
from fedbandits.offline.estimates import FEW

#: Words that begin with a vowel, and are spoken as if they began with a consonant.
_SPOKEN_AS_CONSONANT = ("eu", "one", "uni", "us", "ut")


class Measure(NamedTuple):
    """One number for each system and replicate at the end of a run, and its words.

    Parameters
    ----------
    parties : (systems, replicates, parties)
        The number of each party; NaN where a replicate is not finished.
    totals : (systems, replicates)
        What is compared: a mean over parties or decisions, or the total if one party acts a round.
    unit
        Its unit in words: ``mistakes a hospital in 100 visits``.
    loss
        What is lost, in a word: ``mistakes``. Empty if more is better: then it is reward.
    errors : (systems, replicates), optional
        Half-widths of 95% intervals of ``totals``, if they are estimates from one log; NaN if too
        few events match. None if they were measured.
    """

    parties: Floats
    totals: Floats
    unit: str
    loss: str
    errors: Floats | None = None

    @property
    def direction(self) -> int:
        """1 if less is better, -1 if more is."""
        return 1 if self.loss else -1

    def differences(self, baseline: int, system: int) -> Floats:
        """(replicates,) what ``system`` saves beside ``baseline``, without errors of rounding."""
        both = self.totals[baseline], self.totals[system]
        differences = self.direction * (both[0] - both[1])
        largest = float(np.nanmax(np.abs(both), initial=0.0))
        return _even(differences, largest)


def _even(values: Floats, largest: float) -> Floats:
    """Values that differ by errors of rounding alone, as equal ones."""
    digits = 12 - math.ceil(math.log10(largest)) if largest > 0.0 else 12
    return np.round(values, digits)


def measure(words: Words, decisions: Decisions, result: xr.Dataset) -> Measure:
    """Regret at the end of a run; reward for each decision if regret is not known (NaN).

    Parameters
    ----------
    words
        Words of the environment.
    decisions
        How many decisions there are in the run.
    result
        Its result.
    """
    last = result.isel(round=-1)
    if "estimator" in result.dims:
        return _estimated(words, last)
    regret = np.asarray(last.regret.values, np.float64)
    reward = np.asarray(last.reward.values, np.float64)
    finished = np.isfinite(reward)
    if finished.any() and not np.isfinite(regret[finished]).all():
        unit = f"reward {with_article(words.turn)}"
        return Measure(reward, reward.sum(axis=-1) / decisions.total, unit, "")
    turns = f"in {decisions.each(words.turn)}"
    if decisions.acting == 1:
        return Measure(regret, regret.sum(axis=-1), f"{words.loss} {turns}", words.loss)
    unit = f"{words.loss} {with_article(words.party)} {turns}"
    return Measure(regret, regret.sum(axis=-1) / decisions.acting, unit, words.loss)


def _estimated(words: Words, last: xr.Dataset) -> Measure:
    """The value on a log, by the doubly robust estimate; that of one party is by replay."""
    value = last.sel(estimator=ANSWERED_BY)
    halves = np.asarray((value.value_high - value.value_low).values, np.float64) / 2.0
    halves[~(value.effective.mean("replicate").values >= FEW)] = np.nan
    reward, seen = (np.asarray(last[name].values, np.float64) for name in ("reward", "observed"))
    parties = np.divide(reward, seen, out=np.full(reward.shape, np.nan), where=seen > 0)
    unit = f"reward {with_article(words.turn)}"
    return Measure(parties, np.asarray(value.value.values, np.float64), unit, "", halves)


def with_article(noun: str) -> str:
    """A ``noun`` behind its article: ``a hospital``, ``an agent``, ``a user``."""
    vowel = noun[:1].lower() in "aeiou" and not noun.lower().startswith(_SPOKEN_AS_CONSONANT)
    return f"an {noun}" if vowel else f"a {noun}"
