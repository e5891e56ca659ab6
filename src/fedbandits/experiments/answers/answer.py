"""The answer whether it pays: private systems of a run beside parties alone, and beside pooling."""

from __future__ import annotations

import math
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

import msgspec
import xarray as xr

from fedbandits.errors import ConfigError
from fedbandits.experiments.answers.advice import Advice
from fedbandits.experiments.answers.compared_run import ComparedRun
from fedbandits.experiments.answers.others_count import others_count_lines
from fedbandits.experiments.answers.rivals import (
    RivalResult,
    is_wrong_model,
)
from fedbandits.experiments.answers.sentences import Comparison, Said
from fedbandits.experiments.baselines import (
    Kind,
    tried_on,
)
from fedbandits.experiments.folder import read_result
from fedbandits.experiments.labels import attributes
from fedbandits.experiments.log_values import doubts, doubts_said
from fedbandits.experiments.result import at_point
from fedbandits.settings.experiment import Experiment
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
    opponents
        All that private systems could be compared with, and what each lost. The verdict is by the
        best of those that learn alone. Empty where none were looked for.
    advice
        From where on it would pay, if that was tried; :func:`.advise` finds it.
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
    """Say whether learning together privately pays in a run.

    Every system that claims a finite ε is compared with parties that learn alone, and with
    everything pooled in clear. If ``best_alone`` of the experiment names parties alone at their
    best, which :func:`.with_alone` finds, the verdict is by these, or by others that learn alone
    where they lose less: of the run, or played beside it, see :func:`.with_opponents`. Replicates
    are compared in pairs: in each, both systems meet the same contexts and reward draws. Intervals
    are by Student's t. Those of all private systems beside learning alone hold together with 95%.

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
    run = ComparedRun.of(experiment, result)
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
        unit=run.found.unit,
        pays=alone[0] if alone else None,
        comparisons=tuple(compared),
        opponents=run.opponents,
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


def _order(one: Comparison) -> tuple[bool, bool, bool, float]:
    """Order comparisons: alone at its best first; of each kind those that surely pay first.

    A system that surely loses next to nothing is a better answer than one that may lose much.
    """
    saves = one.saves if one.saves is not None else -math.inf
    return one.kind != "alone", not one.decides, one.pays is not True, -saves


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
