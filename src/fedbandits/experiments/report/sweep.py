"""The report of a sweep: one HTML file that needs nothing beside itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import xarray as xr

from fedbandits.experiments.answers.answer import MOST_ANSWERS, point_answers
from fedbandits.experiments.html import (
    MARK,
    as_figure,
    as_table,
    as_text,
    configuration,
    page,
    real_data_box,
)
from fedbandits.experiments.intervals import spelled, spelled_epsilon
from fedbandits.experiments.measure import Ends, claimed_epsilon, ends
from fedbandits.experiments.plots import Picture
from fedbandits.settings.sweeps import Point, Sweep, value_text

_CAPTION = "Mean over replicates at the last round, with 95% intervals."
_REAL = "Who chooses a setting by this report looks at the data. No ε in this report counts that."


def render_sweep(
    sweep: Sweep, points: Sequence[Point], result: xr.Dataset, pictures: Mapping[str, Picture]
) -> str:
    """Write the report as HTML text, with the pictures by what they show."""
    title, found = f"Sweep of {sweep.experiment.name}", ends(result)
    real = sweep.experiment.environment.REAL_DATA
    figures = (
        as_figure(f"{words}. {_CAPTION}" if words else _CAPTION, image.svg)
        for words, image in pictures.items()
    )
    parts = [
        f"<h1>{as_text(title)}</h1>",
        _subtitle(sweep, result),
        f"{real_data_box()}<p class=warning>{as_text(_REAL)}</p>" if real else "",
        _answers(points, result),
        f"<h2>{as_text(found.unit.capitalize())}</h2>",
        f"<div class=pairs>{''.join(figures)}</div>",
        as_table(_titles(sweep), _rows(points, result, found)),
        f"<p class=note>{as_text(found.note)}</p>",
        "<h2>What each system claims about privacy</h2>",
        "<p>ε for everything that leaves a party, at each point. ∞: no finite ε holds.</p>",
        as_table(_titles(sweep), _claim_rows(points, result)),
        configuration(sweep.to_toml(), result.attrs["versions"]),
    ]
    return page(title, parts, MARK if real else "")


def _answers(points: Sequence[Point], result: xr.Dataset) -> str:
    """Say whether it pays, point by point."""
    told = list(point_answers(points[:MOST_ANSWERS], result))
    if not told:
        return ""
    left = len(points) - MOST_ANSWERS
    more = f"<p class=note>{left} more points are in the table below.</p>" if left > 0 else ""
    rows = [(one.point, one.answer.headline) for one in told]
    return (
        f"<h2>Does it pay?</h2>{as_table(('at', 'answer'), rows, kind='overview')}{more}"
        f"<p class=note>{as_text(told[0].answer.how)}</p>"
    )


def sweep_cells(
    points: Iterable[Point], result: xr.Dataset, found: Ends
) -> Iterator[tuple[dict[str, Any], str, float, float, float]]:
    """List for each point and system: values, label, mean, half width, and claimed ε."""
    claimed = claimed_epsilon(result)
    for point in points:
        index = dict(zip(point.values, point.index, strict=True))
        for label in result["system"].values.tolist():
            cells = (
                float(array.isel(index).sel(system=label))
                for array in (found.mean, found.half, claimed)
            )
            mean, half, epsilon = cells
            yield point.values, label, mean, half, epsilon


def _subtitle(sweep: Sweep, result: xr.Dataset) -> str:
    keys = ", ".join(f"{axis.path}" for axis in sweep.axes)
    line = (
        f"{math.prod(sweep.shape)} points over {as_text(keys)}; replicates: "
        f"{sweep.experiment.replicates}, seed {sweep.experiment.seed}. All systems and all points "
        "have the same seed. Privacy noise is simulated, drawn from the seed."
    )
    if result.attrs["interrupted"]:
        line += " <span class=warning>Interrupted: only finished replicates are counted.</span>"
    return f"<p class=note>{line}</p>"


def _titles(sweep: Sweep) -> list[str]:
    labels = [entry.label for entry in sweep.experiment.systems]
    return [*(axis.words for axis in sweep.axes), *labels]


def _rows(points: Iterable[Point], result: xr.Dataset, found: Ends) -> Iterator[list[str]]:
    """Return a row for each point, with the mean of each system."""
    systems = result.sizes["system"]
    cells = iter(sweep_cells(points, result, found))
    for row in iter(lambda: list(itertools.islice(cells, systems)), []):
        swept = [value_text(value) for value in row[0][0].values()]
        yield [*swept, *(spelled(mean, half) for _, _, mean, half, _ in row)]


def _claim_rows(points: Iterable[Point], result: xr.Dataset) -> Iterator[list[str]]:
    epsilons = claimed_epsilon(result)
    for point in points:
        index = dict(zip(point.values, point.index, strict=True))
        claimed = epsilons.isel(index).values.tolist()
        yield [*map(value_text, point.values.values()), *map(spelled_epsilon, claimed)]
