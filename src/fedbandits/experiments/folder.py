"""The folder of a run or a sweep: whether it may be used, and the results that it holds."""

from __future__ import annotations

import pathlib
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import xarray as xr

from fedbandits.errors import FedbanditsError, OutputExistsError
from fedbandits.experiments.files import is_whole, stage, unwritable
from fedbandits.experiments.labels import FORMAT
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Sweep

RESULTS, CONFIG = "results.nc", "config.toml"


class SettingDifference(NamedTuple):
    """A key whose value differs between two configurations.

    ``key`` is its path, with the place of a system in brackets, or its label. ``first`` and
    ``second`` are its values; None where it is not there.
    """

    key: str
    first: Any
    second: Any


def check_output(
    out: pathlib.Path, experiment: Experiment | Sweep, but: tuple[str, ...] = ()
) -> None:
    """Refuse a folder that is in use for something else, before anything runs.

    Keys in ``but`` may differ from those of what the folder holds. Raises OutputExistsError, which
    says what differs.
    """
    _probe(out)
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputExistsError(f"{out}: is a file; choose another --out")
    if not any(out.iterdir()):
        return
    there, mine = stored_table(out), experiment.to_table()
    if there is None:
        raise OutputExistsError(
            f"{out}: has files, but not a run of fedbandits; choose another --out"
        )
    if not (out / RESULTS).exists():  # an audit alone: a run may compare with more systems
        known = there.get("systems", [])
        there["systems"] = known + mine["systems"][len(known) :]
        but = (*but, "best_alone")
    for key in but:
        there[key] = mine.get(key)
    differing = sorted(each.key for each in differences(there, mine))
    if differing:
        raise OutputExistsError(
            f"{out}: holds the results of another configuration (differs in "
            f"{', '.join(differing[:4])}); delete it or choose another --out"
        )


def kept_in(out: pathlib.Path, experiment: Experiment) -> Experiment | None:
    """Return the experiment as a run in a folder has it: with systems that were added to it.

    None if the folder has no run of it. A folder that cannot be read has none: who writes to it
    says why.
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
    """Read the configuration in a folder, as a table; None if the folder has none.

    Raises OutputExistsError if it cannot be read.
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
        for index, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from differences(one, other, f"{place}[{index}]")
    elif first != second:
        yield SettingDifference(place, first, second)


def _probe(out: pathlib.Path) -> None:
    """Find out now, not after hours of work, that nothing can be written there."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with stage(out):
            pass
    except (OSError, ValueError) as error:
        raise unwritable(out, error) from None


def holds_complete_run(out: pathlib.Path) -> bool:
    """Return whether a folder holds one whole run, in which every replicate was finished."""
    if not is_whole(out):  # damaged, or half replaced: whatever was finished now is worth more
        return False
    try:
        with xr.open_dataset(out / RESULTS, engine="h5netcdf") as stored:
            return not stored.attrs.get("interrupted", 1)
    except OSError:
        return False


def read_result(out: pathlib.Path) -> xr.Dataset:
    """Read the result of the run that a folder holds, all of it into memory.

    Raises OutputExistsError if another version of fedbandits made it.
    """
    with xr.open_dataset(out / RESULTS, engine="h5netcdf") as stored:
        if stored.attrs.get("format") != FORMAT:
            raise OutputExistsError(
                f"{out / RESULTS}: made by another version of fedbandits; delete {out}, or choose "
                "another --out, and run it again"
            )
        return stored.load()
