"""The report of a sweep: one HTML file that needs nothing beside itself."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import xarray as xr

from fedbandits.experiments.html import as_figure, as_table, as_text
from fedbandits.experiments.numbers import spelled_epsilon
from fedbandits.experiments.report.page import page
from fedbandits.experiments.report.real_data import MARK
from fedbandits.experiments.sweep_ends import Ends, claimed_epsilon, ends
from fedbandits.settings.sweeps import Point, Sweep, value_text

_CAPTION = "Mean over replicates at the last round, with 95% intervals (Student's t)."
_REAL = (
    "This report comes from real data. It is not private: the numbers in it depend on single "
    "records. Pass it on only to those who may see the data. Who chooses a setting by it looks at "
    "the data too: no ε in this report counts that."
)


def render_sweep(
    sweep: Sweep, points: Sequence[Point], result: xr.Dataset, pictures: Mapping[str, bytes]
) -> str:
    """The report as HTML text, images embedded.

    Parameters
    ----------
    sweep, points, result
        What was run, and what came of it.
    pictures
        PNG images, by what they show.
    """
    title, found = f"Sweep of {sweep.experiment.name}", ends(result)
    real = sweep.experiment.environment.REAL_DATA
    parts = [
        f"<h1>{as_text(title)}</h1>",
        _subtitle(sweep, result),
        f"<p class=warning>{as_text(_REAL)}</p>" if real else "",
        f"<h2>{as_text(found.unit.capitalize())}</h2>",
        *(as_figure(f"{words}. {_CAPTION}" if words else _CAPTION, image)
          for words, image in pictures.items()),
        as_table(_titles(sweep), _rows(points, result, found)),
        "<p class=note>± is half a 95% interval (Student's t over replicates); fewer than 3 "
        "replicates have none.</p>",
        "<h2>What each system claims about privacy</h2>",
        "<p>ε for everything that leaves a party, at each point. ∞: no finite ε holds.</p>",
        as_table(_titles(sweep), _claim_rows(points, result)),
        "<section><h2>Configuration</h2>"
        "<p class=note>Resolved; save it as a file to run this again.</p>"
        f"<pre>{as_text(sweep.to_toml())}</pre></section>",
        f"<p class=note>{as_text(_versions(result))}</p>",
    ]  # fmt: skip
    return page(title, parts, MARK if real else "")


def sweep_cells(
    points: Iterable[Point], result: xr.Dataset, found: Ends
) -> Iterator[tuple[dict[str, Any], str, float, float, float]]:
    """For each point and system: the values, the label, mean and half width, and the claimed ε."""
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


def mean_text(mean: float, half: float = math.nan) -> str:
    """A mean as one reads it, with half the width of its interval if that is known."""
    if math.isnan(mean):
        return "–"
    digits = 0 if abs(mean) >= 1000 else 1
    return f"{mean:,.{digits}f}" + ("" if math.isnan(half) else f" ± {half:,.{digits}f}")


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
    """A row for each point, with the mean of each system."""
    systems = result.sizes["system"]
    cells = iter(sweep_cells(points, result, found))
    for row in iter(lambda: list(itertools.islice(cells, systems)), []):
        swept = [value_text(value) for value in row[0][0].values()]
        yield [*swept, *(mean_text(mean, half) for _, _, mean, half, _ in row)]


def _claim_rows(points: Iterable[Point], result: xr.Dataset) -> Iterator[list[str]]:
    epsilons = claimed_epsilon(result)
    for point in points:
        index = dict(zip(point.values, point.index, strict=True))
        claimed = epsilons.isel(index).values.tolist()
        yield [*map(value_text, point.values.values()), *map(spelled_epsilon, claimed)]


def _versions(result: xr.Dataset) -> str:
    versions = json.loads(result.attrs["versions"])
    return "Made with " + ", ".join(f"{name} {number}" for name, number in versions.items()) + "."
