"""The answer whether it pays: private systems of a run beside parties alone, and beside pooling."""

from __future__ import annotations

import itertools
import math
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.environments.base import Words
from fedbandits.errors import ConfigError
from fedbandits.experiments.answers.advice import Advice
from fedbandits.experiments.answers.rivals import (
    Rival,
    RivalResult,
    best_alone,
    is_wrong_model,
    opponents_in,
    rival_of,
    rival_results,
    rivals_of,
)
from fedbandits.experiments.answers.sentences import Comparison, Said
from fedbandits.experiments.baselines import (
    SCALE,
    Claimed,
    Kind,
    as_people_explore,
    closest,
    differing_keys,
    own_ridge,
    stands_for,
    tried_on,
)
from fedbandits.experiments.folder import read_result
from fedbandits.experiments.intervals import LEVEL, estimated_difference, paired
from fedbandits.experiments.labels import attributes, labels_of
from fedbandits.experiments.log_values import doubts, doubts_said
from fedbandits.experiments.measure import Measure, measure_run, with_article
from fedbandits.experiments.result import at_point
from fedbandits.settings.experiment import Experiment, Variant
from fedbandits.settings.sweeps import Point, in_words
from fedbandits.settings.toml_files import parse_toml
from fedbandits.systems.agents.counting import OTHERS_COUNT_AS


def _claimed(stored: dict[str, Any]) -> Claimed:
    """Read the facts of a stored claim that a verdict needs."""
    stated = stored["paper_claims"] is not None
    return Claimed(float(stored["epsilon"]), bool(stored["encrypted"]), stated)


class ComparedRun(NamedTuple):
    """A run, ready to be compared."""

    experiment: Experiment
    claims: dict[str, Claimed]
    measured: Measure
    syncs: Floats  # (systems, replicates)
    level: float
    rivals: Sequence[Rival]  # all rivals of private systems
    decisive: Rival | None  # the best rival that learns alone; None without a search

    @classmethod
    def of(cls, experiment: Experiment, result: xr.Dataset) -> ComparedRun:
        """Make a run from its experiment and result."""
        claims = {label: _claimed(claim) for label, claim in labels_of(result).claims.items()}
        several = max(1, sum(claim.is_private for claim in claims.values()))
        measured = measure_run(result)
        syncs = np.asarray(result.syncs.isel(round=-1).values, np.float64)
        rivals = rivals_of(
            measured, _standing(experiment, claims), opponents_in(result.attrs) or ()
        )
        named = experiment.best_alone
        decisive = best_alone(sorted(rivals, key=lambda r: r.name != named)) if named else None
        level = 1.0 - (1.0 - LEVEL) / several
        return cls(experiment, claims, measured, syncs, level, rivals, decisive)

    @property
    def opponents(self) -> tuple[RivalResult, ...]:
        """The opponents and their losses; none without a search for the best alone."""
        return rival_results(self.rivals, self.experiment.best_alone) if self.decisive else ()

    @property
    def private(self) -> tuple[str, ...]:
        """Labels of the systems that claim a finite ε."""
        return tuple(label for label, claim in self.claims.items() if claim.is_private)

    @property
    def broken(self) -> tuple[str, ...]:
        """Labels of systems for which a paper states an ε, and accounting supports none."""
        return tuple(
            label
            for label, claim in self.claims.items()
            if claim.stated and math.isinf(claim.epsilon)
        )

    def pairs(self) -> Iterator[tuple[Variant, Rival]]:
        """List the pairs to compare."""
        systems, kinds = self.experiment.systems, get_args(Kind)
        for judged, kind in itertools.product(systems, kinds):
            claim = self.claims[judged.label]
            others = [e for e in systems if stands_for(e, self.claims[e.label]) == kind]
            baseline = closest(judged, others)
            if baseline is judged:
                continue
            if kind == "alone" and self.decisive is not None and claim.is_private:
                yield judged, self.decisive
                if baseline is None or as_people_explore(baseline) == baseline:
                    continue  # baselines with a proved radius are compared too
            if baseline is None:
                continue
            # With encryption, only the same algorithm in clear is a counterpart.
            same = baseline.system == judged.system and not differing_keys(judged, baseline)
            if claim.is_private or (claim.encrypted and kind == "pooled" and same):
                yield judged, rival_of(self.measured, systems.index(baseline), baseline, kind)

    def compare(self, judged: Variant, rival: Rival) -> Comparison:
        """Compare a pair over the replicates that both have finished."""
        systems, measured, entry = self.experiment.systems, self.measured, rival.entry
        number, claim = systems.index(judged), self.claims[judged.label]
        decides = rival is self.decisive
        losses = rival.beside(measured, number)
        differences = measured.saved(rival.losses, losses)
        both = np.isfinite(differences)
        difference = paired(differences, self.level)
        other = None if entry is None else systems.index(entry)
        if measured.errors is not None and other is not None:
            # All replicates use the same log, whose chance they do not show.
            errors = measured.errors[[number, other]]
            difference = estimated_difference(difference, errors, self.level)
        base = _mean(rival.losses[both])
        best = entry is not None and entry.label == self.experiment.best_alone
        return Comparison(
            system=judged.label,
            kind=rival.kind,
            baseline=rival.name,
            epsilon=claim.epsilon if claim.is_private else None,
            replicates=difference.replicates,
            system_mean=_mean(losses[both]),
            baseline_mean=base,
            saves=difference.mean if difference.replicates else None,
            half_width=difference.half_width,
            level=self.level,
            share=difference.mean / base if base is not None and base > 0.0 else None,
            pays=None if difference.sign is None else difference.sign > 0,
            worse_off=None if other is None else _worse_off(measured, number, other, both),
            syncs_less=other is not None and self._syncs_less(number, other, both),
            differs_in=() if entry is None else differing_keys(judged, entry, decides),
            decides=decides,
            at_best=getattr(entry.config, SCALE, None) if best and entry is not None else None,
            ridge_at_best=own_ridge(entry) if best and entry is not None else None,
            own_scale=getattr(judged.config, SCALE, None) if decides else None,
        )

    def _syncs_less(self, number: int, other: int, both: Any) -> bool:
        less = (self.syncs[number] < self.syncs[other])[both]
        return bool(len(less) and less.all())


def _standing(
    experiment: Experiment, claims: dict[str, Claimed]
) -> Iterator[tuple[int, Variant, Kind]]:
    """List systems of the run that are baselines, with their numbers and kinds.

    Parties alone count if they explore as usual; others have lines of their own.
    """
    for number, entry in enumerate(experiment.systems):
        for kind in get_args(Kind):
            if stands_for(entry, claims[entry.label]) != kind:
                continue
            if kind == "pooled" or as_people_explore(entry) == entry:
                yield number, entry, kind


def _worse_off(measured: Measure, number: int, other: int, both: Any) -> float | None:
    """Return the share of parties, over replicates, that lose more with the system."""
    gains = measured.direction * (measured.parties[other][both] - measured.parties[number][both])
    known = gains[np.isfinite(gains)]  # a log may have no matching event of a party
    return float((known < 0.0).mean()) if known.size and gains.shape[-1] > 1 else None


def _mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def others_count_lines(result: xr.Dataset, words: Words) -> Iterator[str]:
    """Yield a line on the weight of others' records at the end, for each system that reports it.

    The counts are of all parties and replicates. In a federation, an organisation sees its own
    count alone.
    """
    if OTHERS_COUNT_AS not in result:
        return
    last = result[OTHERS_COUNT_AS].isel(round=-1)
    for label in result["system"].values:
        counts = np.asarray(last.sel(system=label).values, np.float64)
        counts = counts[np.isfinite(counts)]
        if counts.size:
            yield (
                f"With {label}, the records of others count for {with_article(words.party)} as "
                f"much as {_count_text(np.median(counts))} of its own (median; "
                f"{_count_text(counts.min())} to {_count_text(counts.max())})."
            )


def _count_text(count: float) -> str:
    """Write a count of records; with two digits below ten, where parts of a record matter."""
    return f"{count:,.0f}" if count >= 9.95 else f"{count:.2g}"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Answer whether learning together privately pays in a run, in words and numbers.

    Parameters
    ----------
    lines
        The answer in words, a sentence or two each. The first answers the question as a whole.
    how
        The method in words.
    unit
        Unit of all numbers: ``mistakes a hospital in 100 visits``.
    pays
        Whether the best private system is better than learning alone. None if that is not known.
    comparisons
        All comparisons: with learning alone first, the best first.
    opponents
        All rivals of private systems, each with its loss. The verdict is by the best rival that
        learns alone. Empty without a search for opponents.
    advice
        Values from which it would pay, if :func:`.advise` tried some.
    """

    lines: tuple[str, ...]
    how: str
    unit: str
    pays: bool | None
    comparisons: tuple[Comparison, ...]
    opponents: tuple[RivalResult, ...] = ()
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
    """Answer whether learning together privately pays in a run.

    Every system that claims a finite ε is compared with parties that learn alone, and with
    everything pooled in clear. If ``best_alone`` of the experiment names parties alone at their
    best, which :func:`.with_alone` finds, they decide the verdict, or other parties alone with less
    loss: of the run, or played beside the run, see :func:`.with_opponents`. Replicates are compared
    in pairs: in each, both systems meet the same contexts and reward draws. Intervals are by
    Student's t. The intervals of all private systems beside learning alone hold together with 95%.

    Parameters
    ----------
    experiment
        The experiment. A result or the folder of a run is enough, since both have the
        configuration.
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
    run = ComparedRun.of(experiment, result)
    compared = sorted((run.compare(*pair) for pair in run.pairs()), key=_order)
    alone = [one.pays for one in compared if one.kind == "alone"]
    said = Said(
        experiment.environment.words,
        run.measured.unit,
        run.measured.loss,
        run.private,
        run.measured.errors is not None,
        experiment.replicates,
        tried_on(experiment),
        run.opponents,
        tuple(kind for kind in get_args(Kind) if is_wrong_model(run.rivals, kind)),
    )
    wrong = doubts_said(doubts(result))
    if wrong:
        compared = [msgspec.structs.replace(one, pays=None, half_width=None) for one in compared]
        alone = []
    return Answer(
        lines=(
            *((f"No verdict. {wrong}",) if wrong else said.lines(compared, run.broken)),
            *others_count_lines(result, experiment.environment.words),
        ),
        how=said.how(compared),
        unit=run.measured.unit,
        pays=alone[0] if alone else None,
        comparisons=tuple(compared),
        opponents=run.opponents,
    )


def _with_result(given: Any, result: xr.Dataset | None) -> tuple[Experiment, xr.Dataset]:
    """Return the experiment and its result, from either or from a folder."""
    if isinstance(given, str | os.PathLike):
        given = read_result(pathlib.Path(given).expanduser())
    if isinstance(given, xr.Dataset):
        # Code that the configuration names is not run: a result may be somebody else's.
        return Experiment.from_table(parse_toml(given.attrs["config"]), modules=()), given
    if result is None:
        raise ConfigError(
            "answer: an experiment alone has no answer; give its result too: "
            "fb.answer(experiment, fb.run(experiment))"
        )
    return given, result


def _order(one: Comparison) -> tuple[bool, bool, bool, float]:
    """Order comparisons: alone at its best first; of each kind sure gains first, then by gain."""
    saves = one.saves if one.saves is not None else -math.inf
    return one.kind != "alone", not one.decides, one.pays is not True, -saves


#: Most points with an answer; the table has the numbers of all points.
MOST_ANSWERS = 24


class PointAnswer(NamedTuple):
    """The answer at one point."""

    point: str  # the swept values in words: ``ε = 0.3``
    answer: Answer  # the answer there


def point_answers(points: Iterable[Point], result: xr.Dataset) -> Iterator[PointAnswer]:
    """Answer at each point of a sweep with a private system and parties alone."""
    interrupted = bool(result.attrs["interrupted"])
    for point in points:
        result_there = at_point(result, dict(zip(point.values, point.index, strict=True)))
        own = attributes(point.experiment, point.experiment.claims(), interrupted)
        answer_there = answer(point.experiment, result_there.assign_attrs(own))
        if any(one.kind == "alone" for one in answer_there.comparisons):
            yield PointAnswer(in_words(point.values), answer_there)
