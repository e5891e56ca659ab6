"""Measures of systems: regret of one party, or reward if regret is unknown.

The end of a run has a :class:`Measure`, and the end of a sweep :class:`Ends`; rounds have
:class:`Lines`, which pictures and pages draw. No drawing code is imported here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import Decisions, Words
from fedbandits.experiments.intervals import interval
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.log_values import ANSWERED_BY, INTERVAL_NOTE
from fedbandits.offline.estimates import FEW
from fedbandits.settings.sweeps import Point

#: Beginnings of words with a vowel that are spoken as a consonant.
_SPOKEN_AS_CONSONANT = ("eu", "one", "uni", "us", "ut")


class Measure(NamedTuple):
    """One number for each system and replicate at the end of a run, and its words."""

    #: (systems, replicates, parties): The number of each party; NaN in unfinished replicates.
    parties: Floats
    #: (systems, replicates): The compared number: a mean over parties or decisions, or the total if
    #: one party acts in a round.
    totals: Floats
    unit: str  # unit in words: ``mistakes a hospital in 100 visits``
    loss: str  # the loss in a word: ``mistakes``; empty for rewards, of which more is better
    #: (systems, replicates), optional: Half-widths of 95% intervals of ``totals``, if they are
    #: estimates from one log; NaN if too few events match. None if they were measured.
    errors: Floats | None = None

    @property
    def direction(self) -> int:
        """Sign of losses: 1; -1 for rewards."""
        return 1 if self.loss else -1

    def differences(self, baseline: int, system: int) -> Floats:
        """Return the loss that ``system`` saves beside ``baseline``, (replicates,)."""
        return self.saved(self.totals[baseline], self.totals[system])

    def saved(self, baseline: Floats, system: Floats) -> Floats:
        """Return the loss saved beside a ``baseline``, from the totals of both, (replicates,)."""
        both = baseline, system
        differences = self.direction * (both[0] - both[1])
        largest = float(np.nanmax(np.abs(both), initial=0.0))
        return _even(differences, largest)


def _even(values: Floats, largest: float) -> Floats:
    """Round values, so that values with different rounding errors are equal."""
    digits = 12 - math.ceil(math.log10(largest)) if largest > 0.0 else 12
    return np.round(values, digits)


def measure(words: Words, decisions: Decisions, result: xr.Dataset) -> Measure:
    """Measure regret at the end of a run; reward for each decision if regret is not known (NaN)."""
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


def measure_run(result: xr.Dataset) -> Measure:
    """Measure the end of a run with the words of its own result; see :func:`measure`."""
    labels = labels_of(result)
    return measure(labels.words, labels.decisions, result)


def _estimated(words: Words, last: xr.Dataset) -> Measure:
    """Return the doubly robust value on a log, with the replay values of parties."""
    value = last.sel(estimator=ANSWERED_BY)
    halves = np.asarray((value.value_high - value.value_low).values, np.float64) / 2.0
    halves[~(value.effective.mean("replicate").values >= FEW)] = np.nan
    reward, seen = (np.asarray(last[name].values, np.float64) for name in ("reward", "observed"))
    parties = np.divide(reward, seen, out=np.full(reward.shape, np.nan), where=seen > 0)
    unit = f"reward {with_article(words.turn)}"
    return Measure(parties, np.asarray(value.value.values, np.float64), unit, "", halves)


def with_article(noun: str) -> str:
    """Put an article before a ``noun``: ``a hospital``, ``an agent``, ``a user``."""
    vowel = noun[:1].lower() in "aeiou" and not noun.lower().startswith(_SPOKEN_AS_CONSONANT)
    return f"an {noun}" if vowel else f"a {noun}"


#: Note on intervals of measured results.
BY_STUDENT = "± is half a 95% interval (Student's t over replicates); fewer than 3 have none."


class Ends(NamedTuple):
    """Means over replicates at the last round, by point and system."""

    mean: xr.DataArray  # mean of one party; if one party acts in a round, of all
    #: Half the width of its 95% interval (Student's t); NaN for fewer than 3 replicates.
    half: xr.DataArray
    unit: str  # unit in words: ``mistakes per hospital``
    note: str = BY_STUDENT  # note on the intervals


def swept_keys(result: xr.Dataset) -> list[str]:
    """List the swept keys that are dimensions of a result or of a selection."""
    return [name for name in json.loads(result.attrs["sweep"]) if name in result.dims]


def final_runs(result: xr.Dataset) -> xr.DataArray:
    """Return the final regret of one party in every replicate, by point and system.

    It is the regret of all parties over the number of acting parties. If regret is not known, it is
    the reward.
    """
    measured = result[_measured(result)].sum("party", min_count=1)
    return _at_end(result, measured) / result["acting"]


def ends(result: xr.Dataset) -> Ends:
    """Return the mean of :func:`final_runs` over replicates, with its interval and its unit."""
    if "estimator" in result.dims:
        return _estimated_ends(result)
    runs = final_runs(result)
    mean, half = xr.apply_ufunc(
        _interval_of_finished,
        runs,
        input_core_dims=[["replicate"]],
        output_core_dims=[[], []],
        vectorize=True,
    )
    words = Words(**json.loads(result.attrs["words"]))
    noun = words.loss if _measured(result) == "regret" else "reward"
    several = bool((result["acting"] > 1).any())
    return Ends(mean, half, f"{noun} per {words.party}" if several else noun)


def _interval_of_finished(runs: Floats) -> tuple[float, float]:
    """Return mean and half-width over finished replicates."""
    band = interval(runs[np.isfinite(runs)])
    return float(band.mean), float(band.half)


def _estimated_ends(result: xr.Dataset) -> Ends:
    """Return the value on a log with the interval of one replicate, since all use one log."""
    value, low, high = (
        _at_end(result, result[name].sel(estimator=ANSWERED_BY, drop=True)).mean("replicate")
        for name in ("value", "value_low", "value_high")
    )
    turn = Words(**json.loads(result.attrs["words"])).turn
    return Ends(value, (high - low) / 2.0, f"estimated reward per {turn}", INTERVAL_NOTE)


def _at_end(result: xr.Dataset, array: xr.DataArray) -> xr.DataArray:
    """Take an array at the last round of each point."""
    position = xr.apply_ufunc(np.searchsorted, result["round"].values, result["rounds"])
    last: xr.DataArray = array.isel(round=position).drop_vars("round", errors="ignore")
    return last


def claimed_epsilon(result: xr.Dataset) -> xr.DataArray:
    """Return the ε of each claim, by point and system; NaN for encryption."""
    claimed: xr.DataArray = result["claim_epsilon"].where(result["claim_encrypted"] == 0)
    return claimed


def _measured(result: xr.Dataset) -> str:
    return "regret" if bool(result["regret"].notnull().any()) else "reward"


class SystemLine(NamedTuple):
    """One system over rounds."""

    label: str  # the system's label
    runs: Floats  # (replicates, points): Values of finished replicates
    #: (points,): Mean, and half the width of its 95% interval: NaN with fewer than 3 replicates.
    mean: Floats
    half: Floats
    replicates: Ints  # (replicates,): Numbers of the replicates


class Lines(NamedTuple):
    """Lines of all systems, and their unit."""

    systems: list[SystemLine]
    unit: str  # such as ``mistakes per hospital``
    is_estimate: bool = False  # whether values are estimates from a log


def line_of(label: str, runs: Floats, replicates: Ints) -> SystemLine:
    """Make the line of one system from its finished replicates, (replicates, points)."""
    return SystemLine(label, runs, *interval(runs), replicates)


def lines_of(values: xr.DataArray) -> list[SystemLine]:
    """Make a line for each system from values by system, replicate and round."""
    lines = []
    for system in values.system.values:
        mine = values.sel(system=system).dropna("replicate", how="all")
        runs = np.asarray(mine.transpose("replicate", "round").values, dtype=np.float64)
        lines.append(line_of(str(system), runs, np.asarray(mine.replicate.values)))
    return lines


def regret_lines(result: xr.Dataset) -> Lines | None:
    """Return the regret of one party; None if it is not known, as on a log."""
    labels = labels_of(result)
    systems = lines_of(result.regret.sum("party", skipna=False) / labels.acting)
    is_known = any(np.isfinite(line.mean).any() for line in systems)
    return Lines(systems, labels.loss) if is_known else None


def reward_lines(result: xr.Dataset) -> Lines:
    """Return the mean reward of all decisions, or its doubly robust estimate on a log.

    Intervals of an estimate are intervals of one replicate: see :mod:`.log_values`.
    """
    labels = labels_of(result)
    if "estimator" in result.dims:
        estimates = result.sel(estimator=ANSWERED_BY)
        halves = lines_of((estimates.value_high - estimates.value_low) / 2.0)
        lines = zip(lines_of(estimates.value), halves, strict=True)
        return Lines([line._replace(half=half.mean) for line, half in lines], labels.gain, True)
    counts = [labels.decisions_in(int(round_)).total for round_ in result["round"]]
    decisions = xr.DataArray(counts, dims="round")
    mean = result.reward.sum("party", skipna=False) / decisions.where(decisions > 0)
    return Lines(lines_of(mean), labels.gain)


def sweep_cells(
    points: Iterable[Point], result: xr.Dataset, at_end: Ends
) -> Iterator[tuple[dict[str, Any], str, float, float, float]]:
    """List for each point and system: values, label, mean, half width, and claimed ε."""
    claimed = claimed_epsilon(result)
    for point in points:
        index = dict(zip(point.values, point.index, strict=True))
        for label in result["system"].values.tolist():
            mean, half, epsilon = (
                float(array.isel(index).sel(system=label))
                for array in (at_end.mean, at_end.half, claimed)
            )
            yield point.values, label, mean, half, epsilon
