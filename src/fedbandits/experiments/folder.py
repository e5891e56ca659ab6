"""The folder of a run or a sweep: checks before its use, its results, and comparisons of runs."""

from __future__ import annotations

import json
import os
import pathlib
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.errors import FedbanditsError, OutputExistsError
from fedbandits.experiments.files import is_whole, refuse_links, stage, unwritable
from fedbandits.experiments.intervals import Paired, paired
from fedbandits.experiments.labels import FORMAT
from fedbandits.experiments.measure import measure_run
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Sweep

RESULTS, CONFIG = "results.nc", "config.toml"


class SettingDifference(NamedTuple):
    """A key whose value differs between two configurations.

    ``key`` is its path, with the place or the label of a system in brackets. ``first`` and
    ``second`` are its values; None in a configuration without the key.
    """

    key: str
    first: Any
    second: Any


def check_output(
    out: pathlib.Path, experiment: Experiment | Sweep, but: tuple[str, ...] = ()
) -> None:
    """Refuse a folder with other files or another configuration, before the run.

    Keys in ``but`` may differ from the stored configuration. Raises OutputExistsError, which names
    other differing keys.
    """
    refuse_links(out)
    _probe(out)
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputExistsError(f"{out}: is a file; choose another --out")
    if not any(out.iterdir()):
        return
    stored, mine = stored_table(out), experiment.to_table()
    if stored is None:
        raise OutputExistsError(
            f"{out}: has files, but not a run of fedbandits; choose another --out"
        )
    if not (out / RESULTS).exists():  # an audit alone: a run may compare with more systems
        known = stored.get("systems", [])
        stored["systems"] = known + mine["systems"][len(known) :]
        but = (*but, "best_alone")
    for key in but:
        stored[key] = mine.get(key)
    differing = sorted(setting.key for setting in differences(stored, mine))
    if differing:
        raise OutputExistsError(
            f"{out}: holds the results of another configuration (differs in "
            f"{', '.join(differing[:4])}); delete it or choose another --out"
        )


def kept_in(out: pathlib.Path, experiment: Experiment) -> Experiment | None:
    """Return the experiment of a run in a folder, which may have further systems.

    None if the folder has no run of the experiment, or cannot be read: a write gives the reason.
    """
    try:
        table = stored_table(out)
        stored = Experiment.from_table(table or {}, modules=experiment.modules)
    except FedbanditsError:
        return None
    given = stored.systems[: len(experiment.systems)]
    as_given = msgspec.structs.replace(stored, systems=given or stored.systems, best_alone="")
    same = as_given == msgspec.structs.replace(experiment, best_alone="")
    return stored if same else None


def stored_table(out: pathlib.Path) -> dict[str, Any] | None:
    """Read the configuration in a folder, as a table; None without a configuration.

    Raises OutputExistsError for a file that cannot be read.
    """
    config = out / CONFIG
    if not config.is_file():
        return None
    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise OutputExistsError(
            f"{config}: cannot be read; delete {out} or choose another --out"
        ) from None


def differences(first: Any, second: Any, place: str = "") -> Iterator[SettingDifference]:
    """Find all keys whose values differ between two configurations, as tables.

    ``place`` is the path of both. Lists of one length are compared entry by entry.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        for key in dict.fromkeys((*first, *second)):
            inner = f"{place}.{key}" if place else key
            yield from differences(first.get(key), second.get(key), inner)
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, pair in enumerate(zip(first, second, strict=True)):
            yield from differences(*pair, f"{place}[{index}]")
    elif first != second:
        yield SettingDifference(place, first, second)


def _probe(out: pathlib.Path) -> None:
    """Refuse a folder that cannot be written, before hours of work."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with stage(out):
            pass
    except (OSError, ValueError) as error:
        raise unwritable(out, error) from None


def holds_complete_run(out: pathlib.Path) -> bool:
    """Return whether a folder has a whole run, in which every replicate was finished."""
    if not is_whole(out):  # damaged, or half replaced
        return False
    try:
        with xr.open_dataset(out / RESULTS, engine="h5netcdf") as stored:
            return not stored.attrs.get("interrupted", 1)
    except OSError:
        return False


def read_result(out: pathlib.Path) -> xr.Dataset:
    """Read the result of the run in a folder into memory.

    Raises OutputExistsError for a result of another version of fedbandits.
    """
    with xr.open_dataset(out / RESULTS, engine="h5netcdf") as stored:
        if stored.attrs.get("format") != FORMAT:
            raise OutputExistsError(
                f"{out / RESULTS}: made by another version of fedbandits; delete {out}, or choose "
                "another --out, and run it again"
            )
        return stored.load()


Status = Literal["complete", "interrupted", "damaged", "no results"]
#: Keys that determine the draws: replicates of two runs are pairs if these keys are equal.
_DRAWN = ("environment", "rounds", "seed")


class StoredRun(NamedTuple):
    """A run in a folder.

    Parameters
    ----------
    folder
        The path of the folder.
    name
        The name of the experiment.
    status
        ``complete``; ``interrupted``: ``--resume`` goes on; ``damaged``: files have changed; or
        ``no results``: the run was not played yet, or the folder has an audit alone.
    systems
        The labels of the systems.
    rounds, replicates
        Number of rounds, and of replicates.
    headline
        The first line of the answer; empty without an answer.
    """

    folder: pathlib.Path
    name: str
    status: Status
    systems: tuple[str, ...]
    rounds: int
    replicates: int
    headline: str


class SystemDifference(NamedTuple):
    """One system at the end of both runs.

    ``first`` and ``second`` are means over the replicates of each run. ``difference`` is the second
    less the first, over pairs of replicates; None without pairs.
    """

    system: str
    first: float
    second: float
    difference: Paired | None


class RunComparison(NamedTuple):
    """Two runs side by side.

    Parameters
    ----------
    settings
        All differing keys.
    systems
        The common systems, by label; none if the runs have different units.
    units
        The unit of each run.
    are_pairs
        Whether replicates are pairs: both runs have the same world, rounds and seed, and so the
        same contexts and reward draws.
    """

    settings: tuple[SettingDifference, ...]
    systems: tuple[SystemDifference, ...]
    units: tuple[str, str]
    are_pairs: bool


def find_runs(folder: str | os.PathLike[str] = "runs") -> list[StoredRun]:
    """Find all runs in a folder and the folders in it, ordered by path.

    Raises
    ------
    OutputExistsError
        Without such a folder.
    """
    top = pathlib.Path(folder).expanduser()
    if not top.is_dir():
        raise OutputExistsError(f"{top}: there is no such folder; runs are in runs/ by default")
    folders = sorted({config.parent for config in top.rglob(CONFIG)})
    return [run for run in map(_stored_run, folders) if run is not None]


def _stored_run(folder: pathlib.Path) -> StoredRun | None:
    """Read the facts of the run in a folder; None for a configuration of another kind."""
    try:
        table = stored_table(folder)
    except FedbanditsError:
        table = {}
    if table is None or (table and "systems" not in table):
        return None
    table = table or {}
    systems = tuple(str(entry.get("label", "?")) for entry in table.get("systems", ()))
    return StoredRun(
        folder, str(table.get("name", "?")), _status(folder), systems,
        int(table.get("rounds", 0)), int(table.get("replicates", 0)), _headline(folder),
    )  # fmt: skip


def _status(folder: pathlib.Path) -> Status:
    if not (folder / RESULTS).is_file():
        return "no results"
    if holds_complete_run(folder):
        return "complete"
    return "interrupted" if is_whole(folder) else "damaged"


def _headline(folder: pathlib.Path) -> str:
    try:
        lines = json.loads((folder / "answer.json").read_text(encoding="utf-8"))["lines"]
        return str(lines[0])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return ""


def compare_runs(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> RunComparison:
    """Compare two runs: their differing settings, and the results of common systems.

    Parameters
    ----------
    first, second
        Folders of runs.

    Returns
    -------
    RunComparison
        Differing keys, and systems at the end of both runs. Differences are the second run less the
        first.

    Raises
    ------
    OutputExistsError
        If a folder has no run, or a sweep, or a result of another version.
    """
    folders = [pathlib.Path(run).expanduser() for run in (first, second)]
    tables = [_table_of(folder) for folder in folders]
    results = [_run_result(folder) for folder in folders]
    ends = [measure_run(result) for result in results]
    are_pairs = all(tables[0].get(key) == tables[1].get(key) for key in _DRAWN)
    units = ends[0].unit, ends[1].unit
    both = [
        dict(zip(result.system.values.tolist(), end.totals, strict=True))
        for result, end in zip(results, ends, strict=True)
    ]
    systems = [
        _beside(label, [totals[label] for totals in both], are_pairs)
        for label in both[0]
        if units[0] == units[1] and label in both[1]
    ]
    settings = differences(_by_label(tables[0]), _by_label(tables[1]))
    return RunComparison(tuple(settings), tuple(systems), units, are_pairs)


def _table_of(folder: pathlib.Path) -> dict[str, Any]:
    table = stored_table(folder)
    if table is None or "systems" not in table:
        raise OutputExistsError(f"{folder}: has no run; give the folder of one")
    return table


def _run_result(folder: pathlib.Path) -> xr.Dataset:
    if not (folder / RESULTS).is_file():
        raise OutputExistsError(f"{folder}: has no results; play it first")
    result = read_result(folder)
    if "sweep" in result.attrs:
        raise OutputExistsError(f"{folder}: has a sweep; give the folders of two runs")
    return result


def _beside(label: str, totals: list[Floats], are_pairs: bool) -> SystemDifference:
    """Compare the totals of one system in both runs, (replicates,) each."""
    count = min(map(len, totals))
    difference = paired(totals[1][:count] - totals[0][:count]) if are_pairs else None
    first, second = (float(np.nanmean(of_run)) for of_run in totals)
    return SystemDifference(label, first, second, difference)


def _by_label(table: Mapping[str, Any]) -> dict[str, Any]:
    """Name systems by their labels instead of their places, which added systems change."""
    systems = {f"systems[{entry['label']}]": entry for entry in table["systems"]}
    return {key: value for key, value in table.items() if key != "systems"} | systems
