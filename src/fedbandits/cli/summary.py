"""The tables at the end of a run and of a sweep."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import xarray as xr
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fedbandits.cli.console import folding, table, whole
from fedbandits.environments.base import decisions_of
from fedbandits.experiments.intervals import FEWEST, spelled, spelled_epsilon
from fedbandits.experiments.log_values import BAND_NOTE, is_of_log, of_decision
from fedbandits.experiments.measure import ends, sweep_cells
from fedbandits.experiments.progress import rounded
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Point, Sweep, value_text

_BAND = "± is half of the 95% interval of the mean: Student's t over replicates."
_NO_BAND = f"No ±: fewer than {FEWEST} replicates."
#: A width beyond any terminal, to measure the full width of a table.
_UNBOUNDED = 4000
#: Most characters of a label without folding. Longer labels are folded before columns are dropped.
_LABEL = 30


#: Most rows of a sweep in a terminal.
_MOST_ROWS = 60


class _Column(NamedTuple):
    """A column: its title, its cell of a row, and its order of dropping on narrow terminals."""

    title: str
    cell: Callable[[dict[str, Any]], str]
    goes: int = 0  # 0 stays; the largest is dropped first


def summary_table(experiment: Experiment, rows: list[dict[str, Any]], width: int = 120) -> Table:
    """Make a table of systems: regret with its interval and ε, other columns if there is room.

    ``rows`` are those of :func:`.experiments.result.summarise`; a line has ``width`` characters.
    """
    columns = _columns(experiment, rows)
    folded = max(0, *(len(row["system"]) - _LABEL for row in rows))
    shown = columns
    for last in range(max(column.goes for column in columns), -1, -1):
        shown = [column for column in columns if column.goes <= last]
        if _width_of(_table(experiment, rows, shown)) - folded <= width:
            break
    return _table(experiment, rows, shown)


def _columns(experiment: Experiment, rows: list[dict[str, Any]]) -> list[_Column]:
    environment = experiment.environment
    words, acting = environment.words, environment.acting
    several = f" per {words.party}" if acting > 1 else ""
    decisions = decisions_of(environment, experiment.rounds).total
    columns = [
        _Column("runs", lambda row: str(row["replicates"]), 1),
        _Column("ε", lambda row: spelled_epsilon(row["epsilon_accounted"])),
        _Column(
            f"reward{several}",
            lambda row: spelled(row["reward_mean"] / acting, row["reward_ci95"] / acting),
            2,
        ),
        _Column("syncs", lambda row: f"{row['syncs']:,.0f}", 3),
        _Column("steps/s", lambda row: rounded(row["agent_steps_per_second"]), 4),
    ]
    if any(math.isfinite(row["regret_mean"]) for row in rows):
        lost = _Column(
            f"{words.loss}{several}",
            lambda row: spelled(row["regret_mean"] / acting, row["regret_ci95"] / acting),
        )
        return [columns[0], lost, *columns[1:]]
    gained = _Column(
        f"reward per {words.turn}",
        lambda row: spelled(*of_decision(row, decisions)),
    )
    return [columns[0], gained, columns[1], *columns[3:]]


def _table(experiment: Experiment, rows: list[dict[str, Any]], columns: list[_Column]) -> Table:
    parties = f"{experiment.environment.parties} {experiment.environment.words.parties}"
    has_band = any(math.isfinite(row["reward_ci95"]) for row in rows)
    return table(
        [*folding("system", style="bold"), *whole(*(column.title for column in columns))],
        ([row["system"], *(column.cell(row) for column in columns)] for row in rows),
        f"{experiment.name}: {experiment.rounds:,} rounds, {parties}",
        caption=BAND_NOTE if is_of_log(rows) else _BAND if has_band else _NO_BAND,
    )


def _width_of(table: Table) -> int:
    return table.__rich_measure__(
        Console(width=_UNBOUNDED), Console(width=_UNBOUNDED).options
    ).maximum


def sweep_table(sweep: Sweep, points: tuple[Point, ...], result: xr.Dataset) -> Table:
    """Make a table of points and systems: the swept values, regret of a party, and ε."""
    at_end = ends(result)
    columns = [
        *folding(*(axis.words for axis in sweep.axes), justify="right"),
        *folding("system", style="bold"),
        *whole(at_end.unit, "ε accounted"),
    ]
    filled = table(columns, (), f"{sweep.experiment.name}: {at_end.unit}, 95% intervals")
    shown: dict[str, Any] = {}
    last = len(sweep.experiment.systems)
    few = points[: max(1, _MOST_ROWS // last)]
    if len(few) < len(points):
        filled.caption = f"{len(points) - len(few)} more points are in summary.csv"
    for number, (values, label, mean, half, epsilon) in enumerate(
        sweep_cells(few, result, at_end), 1
    ):
        swept = ["" if shown == values else escape(value_text(v)) for v in values.values()]
        shown = values
        numbers = spelled(mean, half), spelled_epsilon(epsilon)
        filled.add_row(*swept, escape(label), *numbers, end_section=number % last == 0)
    return filled
