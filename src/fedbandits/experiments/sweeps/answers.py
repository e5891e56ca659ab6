"""Does it pay? The answer at each point of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import xarray as xr

from fedbandits.experiments.answers.answer import Answer, answer
from fedbandits.experiments.labels import attributes
from fedbandits.experiments.sweeps.result import at_point
from fedbandits.settings.sweeps import Point, in_words

#: Most points whose answers are told; the table has the numbers of all.
MOST_ANSWERS = 24


class PointAnswer(NamedTuple):
    """The answer at one point.

    Parameters
    ----------
    point
        The swept values in words: ``ε = 0.3``.
    answer
        Whether learning together privately pays there.
    """

    point: str
    answer: Answer


def point_answers(points: Iterable[Point], result: xr.Dataset) -> Iterator[PointAnswer]:
    """The answer at each point where a private system can be compared with learning alone.

    Parameters
    ----------
    points
        The points.
    result
        The result of the sweep.
    """
    interrupted = bool(result.attrs["interrupted"])
    for point in points:
        found = at_point(result, dict(zip(point.values, point.index, strict=True)))
        own = attributes(point.experiment, point.experiment.claims(), interrupted)
        told = answer(point.experiment, found.assign_attrs(own))
        if any(one.kind == "alone" for one in told.comparisons):
            yield PointAnswer(in_words(point.values), told)
