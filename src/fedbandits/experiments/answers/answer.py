"""The answer whether it pays: private systems of a run beside parties alone, and beside pooling."""

from __future__ import annotations

import itertools
import math
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.errors import ConfigError
from fedbandits.experiments.answers.advice import Advice
from fedbandits.experiments.answers.sentences import Comparison, Said
from fedbandits.experiments.baselines import (
    RIDGE,
    SCALE,
    Claimed,
    Kind,
    as_people_explore,
    closest,
    differing_keys,
    stands_for,
    tried_on,
)
from fedbandits.experiments.folder import read_result
from fedbandits.experiments.intervals import LEVEL, estimated_difference, paired
from fedbandits.experiments.labels import attributes, labels_of
from fedbandits.experiments.log_values import doubts, doubts_said
from fedbandits.experiments.measure import Measure, measure
from fedbandits.experiments.result import at_point
from fedbandits.settings.experiment import Experiment, Variant
from fedbandits.settings.sweeps import Point, in_words
from fedbandits.settings.toml_files import parse_toml


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """True if learning together privately pays in a run, in words and numbers.

    Parameters
    ----------
    lines
        The answer in words, a sentence or two each. The first answers the question as a whole.
    how
        How it was computed, in words.
    unit
        Unit of all numbers: ``mistakes a hospital in 100 visits``.
    pays
        Whether the best private system is better than learning alone. None if it is not known.
    comparisons
        All comparisons. Those with learning alone come first, the best first.
    advice
        From where on it would pay, if that was tried; :func:`.advise` finds it.
    """

    lines: tuple[str, ...]
    how: str
    unit: str
    pays: bool | None
    comparisons: tuple[Comparison, ...]
    advice: Advice | None = None

    @property
    def headline(self) -> str:
        """The first line."""
        return self.lines[0]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def to_table(self) -> dict[str, Any]:
        """Return the answer as plain values for JSON."""
        table: dict[str, Any] = msgspec.to_builtins(self)
        return table


def answer(
    experiment: Experiment | xr.Dataset | str | os.PathLike[str],
    result: xr.Dataset | None = None,
) -> Answer:
    """Say whether learning together privately pays in a run.

    Every system that claims a finite ε is compared with parties that learn alone, and with
    everything pooled in clear. Parties alone are those that ``best_alone`` of the experiment names,
    if it does; :func:`.with_alone` finds them. Replicates are compared in pairs: in each, both
    systems meet the same contexts and reward draws. Intervals are by Student's t. Those of all
    private systems beside learning alone hold together with 95%.

    Parameters
    ----------
    experiment
        The experiment. A result or the folder of a run is enough: it has its configuration.
    result
        The result of the experiment.

    Returns
    -------
    Answer
        The answer. ``print`` shows its lines.

    Raises
    ------
    ConfigError
        If an experiment is given without a result.
    DataError
        If the result is of another version of fedbandits.

    Examples
    --------
    >>> import fedbandits as fb
    >>> experiment = fb.with_alone("quickstart")  # doctest: +SKIP
    >>> print(fb.answer(experiment, fb.run(experiment)))  # doctest: +SKIP
    """
    experiment, result = _with_result(experiment, result)
    run = _Run.of(experiment, result)
    compared = sorted((run.compare(*pair) for pair in run.pairs()), key=_order)
    alone = [one.pays for one in compared if one.kind == "alone"]
    said = Said(
        experiment.environment.words,
        run.found.unit,
        run.found.loss,
        run.private,
        run.found.errors is not None,
        experiment.replicates,
        tried_on(experiment),
    )
    wrong = doubts_said(doubts(result))
    if wrong:
        compared = [msgspec.structs.replace(one, pays=None, half_width=None) for one in compared]
        alone = []
    return Answer(
        lines=(f"No verdict. {wrong}",) if wrong else said.lines(compared, run.broken),
        how=said.how(compared),
        unit=run.found.unit,
        pays=alone[0] if alone else None,
        comparisons=tuple(compared),
    )


def _with_result(given: Any, result: xr.Dataset | None) -> tuple[Experiment, xr.Dataset]:
    """Return the experiment and its result, from either or from a folder."""
    if isinstance(given, str | os.PathLike):
        given = read_result(pathlib.Path(given).expanduser())
    if isinstance(given, xr.Dataset):
        return Experiment.from_table(parse_toml(given.attrs["config"])), given
    if result is None:
        raise ConfigError(
            "answer: an experiment alone has no answer; give its result too: "
            "fb.answer(experiment, fb.run(experiment))"
        )
    return given, result


def _claimed(stored: dict[str, Any]) -> Claimed:
    """Read from a stored claim what a verdict needs."""
    stated = stored["paper_claims"] is not None
    return Claimed(float(stored["epsilon"]), bool(stored["encrypted"]), stated)


class _Run(NamedTuple):
    """A run, ready to be compared."""

    experiment: Experiment
    claims: dict[str, Claimed]
    found: Measure
    syncs: Floats  # (systems, replicates)
    level: float

    @classmethod
    def of(cls, experiment: Experiment, result: xr.Dataset) -> _Run:
        """Make a run from its experiment and result."""
        labels = labels_of(result)
        claims = {label: _claimed(claim) for label, claim in labels.claims.items()}
        several = max(1, sum(claim.is_private for claim in claims.values()))
        found = measure(labels.words, labels.decisions, result)
        syncs = np.asarray(result.syncs.isel(round=-1).values, np.float64)
        return cls(experiment, claims, found, syncs, 1.0 - (1.0 - LEVEL) / several)

    @property
    def private(self) -> tuple[str, ...]:
        """Labels of the systems that claim a finite ε."""
        return tuple(label for label, claim in self.claims.items() if claim.is_private)

    @property
    def broken(self) -> tuple[str, ...]:
        """Labels of those for which a paper states an ε, and accounting supports none."""
        return tuple(
            label
            for label, claim in self.claims.items()
            if claim.stated and math.isinf(claim.epsilon)
        )

    def pairs(self) -> Iterator[tuple[Variant, Kind, Variant]]:
        """List the pairs that are compared."""
        systems, kinds = self.experiment.systems, get_args(Kind)
        for judged, kind in itertools.product(systems, kinds):
            claim = self.claims[judged.label]
            others = [e for e in systems if stands_for(e, self.claims[e.label]) == kind]
            baseline = closest(judged, others)
            if baseline is None or baseline is judged:
                continue
            best = self._best_alone if kind == "alone" else None
            if best is not None and claim.is_private:
                yield judged, kind, best
                if baseline is best or as_people_explore(baseline) == baseline:
                    continue  # beside a radius that is proved, those with that radius count too
            # Where encryption protects, only the very same algorithm is a counterpart.
            same = baseline.system == judged.system and not differing_keys(judged, baseline)
            if claim.is_private or (claim.encrypted and kind == "pooled" and same):
                yield judged, kind, baseline

    @property
    def _best_alone(self) -> Variant | None:
        """Parties that learn alone at their best, if they are known."""
        named = (s for s in self.experiment.systems if s.label == self.experiment.best_alone)
        return next(named, None)

    def compare(self, judged: Variant, kind: Kind, baseline: Variant) -> Comparison:
        """Compare a pair over the replicates that both have finished."""
        labels = [entry.label for entry in self.experiment.systems]
        own, other = labels.index(judged.label), labels.index(baseline.label)
        found, claim, best = self.found, self.claims[judged.label], baseline is self._best_alone
        differences = found.differences(other, own)
        both = np.isfinite(differences)
        difference = paired(differences, self.level)
        if found.errors is not None:  # all replicates use one log, whose chance they do not show
            difference = estimated_difference(difference, found.errors[[own, other]], self.level)
        base = _mean(found.totals[other][both])
        return Comparison(
            system=judged.label,
            kind=kind,
            baseline=baseline.label,
            epsilon=claim.epsilon if claim.is_private else None,
            replicates=difference.replicates,
            system_mean=_mean(found.totals[own][both]),
            baseline_mean=base,
            saves=difference.mean if difference.replicates else None,
            half_width=difference.half_width,
            level=self.level,
            share=difference.mean / base if base is not None and base > 0.0 else None,
            pays=None if difference.sign is None else difference.sign > 0,
            worse_off=_worse_off(found, own, other, both),
            syncs_less=bool(
                both.any() and np.mean((self.syncs[own] < self.syncs[other])[both]) == 1.0
            ),
            differs_in=differing_keys(judged, baseline, best),
            at_best=getattr(baseline.config, SCALE, None) if best else None,
            ridge_at_best=_own_ridge(baseline) if best else None,
            own_scale=getattr(judged.config, SCALE, None) if best else None,
        )


def _own_ridge(entry: Variant) -> float | None:
    """Return λ of an entry where it is not the default."""
    given = getattr(entry.config, RIDGE, "auto")
    return None if given in ("auto", type(entry.config)().regularization) else float(given)


def _worse_off(found: Measure, own: int, other: int, both: Any) -> float | None:
    """Return the share of parties, over replicates, for which the system is worse."""
    gains = found.direction * (found.parties[other][both] - found.parties[own][both])
    known = gains[np.isfinite(gains)]  # of some parties a log may tell nothing
    return float((known < 0.0).mean()) if known.size and gains.shape[-1] > 1 else None


def _mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def _order(one: Comparison) -> tuple[bool, bool, bool, float]:
    """Order comparisons: alone at its best first; of each kind those that surely pay first.

    A system that surely loses next to nothing is a better answer than one that may lose much.
    """
    saves = one.saves if one.saves is not None else -math.inf
    return one.kind != "alone", one.at_best is None, one.pays is not True, -saves


#: Most points whose answers are told; the table has the numbers of all.
MOST_ANSWERS = 24


class PointAnswer(NamedTuple):
    """The answer at one point."""

    point: str  # the swept values in words: ``ε = 0.3``
    answer: Answer  # whether learning together privately pays there


def point_answers(points: Iterable[Point], result: xr.Dataset) -> Iterator[PointAnswer]:
    """Answer at each point of a sweep where a private system can be compared with alone."""
    interrupted = bool(result.attrs["interrupted"])
    for point in points:
        found = at_point(result, dict(zip(point.values, point.index, strict=True)))
        own = attributes(point.experiment, point.experiment.claims(), interrupted)
        told = answer(point.experiment, found.assign_attrs(own))
        if any(one.kind == "alone" for one in told.comparisons):
            yield PointAnswer(in_words(point.values), told)
