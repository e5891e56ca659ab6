"""The folder of a run: written whole or not at all, and never over another experiment's."""

from __future__ import annotations

import io
import json
import pathlib
import tomllib
from collections.abc import Iterator
from typing import Any

import h5netcdf
import msgspec
import xarray as xr
from xarray.backends import H5NetCDFStore

from fedbandits.errors import OutputExistsError
from fedbandits.experiments.advice.file import read_advice, store_advice
from fedbandits.experiments.advice.tried import Advice
from fedbandits.experiments.answers.answer import answer
from fedbandits.experiments.audits.verdict import Audit
from fedbandits.experiments.files import locked, replace_durably, stage, unwritable
from fedbandits.experiments.labels import FORMAT
from fedbandits.experiments.plots import Look, draw_plots
from fedbandits.experiments.report import render_audit, render_report
from fedbandits.experiments.summary import summarise, summary_csv
from fedbandits.experiments.theory import compare
from fedbandits.experiments.whole import is_whole, put_in_place
from fedbandits.settings.experiment import Experiment, load
from fedbandits.settings.sweeps import Sweep

_RESULTS, _CONFIG = "results.nc", "config.toml"
_AUDIT = "audit.json"


def check_output(
    out: pathlib.Path, experiment: Experiment | Sweep, but: tuple[str, ...] = ()
) -> None:
    """Refuse a folder that is in use for something else, before anything runs.

    Parameters
    ----------
    out
        The folder.
    experiment
        What is to be run.
    but
        Keys that may differ from those of what the folder holds.

    Raises
    ------
    OutputExistsError
        Naming the keys that differ.
    """
    _probe(out)
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputExistsError(f"{out}: is a file; choose another --out")
    if not any(out.iterdir()):
        return
    there = stored_table(out)
    if there is None:
        raise OutputExistsError(
            f"{out}: has files, but not a run of fedbandits; choose another --out"
        )
    mine = experiment.to_table()
    for key in but:
        there[key] = mine.get(key)
    differing = list(_differences(there, mine, ""))
    if differing:
        raise OutputExistsError(
            f"{out}: holds the results of another configuration (differs in "
            f"{', '.join(differing[:4])}); delete it or choose another --out"
        )


def stored_table(out: pathlib.Path) -> dict[str, Any] | None:
    """The configuration in a folder, as a table; None if the folder has none.

    Raises
    ------
    OutputExistsError
        If it cannot be read.
    """
    config = out / _CONFIG
    if not config.is_file():
        return None
    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise OutputExistsError(
            f"{config}: cannot be read; delete {out} or choose another --out"
        ) from None


def _differences(a: Any, b: Any, place: str) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from _differences(a.get(key), b.get(key), f"{place}.{key}" if place else key)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            yield from _differences(left, right, f"{place}[{index}]")
    elif a != b:
        yield place


def _probe(out: pathlib.Path) -> None:
    """Find out now, not after hours of work, that nothing can be written there."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with stage(out):
            pass
    except (OSError, ValueError) as error:
        raise unwritable(out, error) from None


def holds_complete_run(out: pathlib.Path) -> bool:
    """Whether a folder holds one whole run, in which every replicate was finished."""
    if not is_whole(out):  # damaged, or half replaced: whatever was finished now is worth more
        return False
    try:
        with xr.open_dataset(out / _RESULTS, engine="h5netcdf") as stored:
            return not stored.attrs.get("interrupted", 1)
    except OSError:
        return False


def read_result(out: pathlib.Path) -> xr.Dataset:
    """The result of the run that a folder holds, all of it in memory.

    Raises
    ------
    OutputExistsError
        If another version of fedbandits made it, whose variables meant something else.
    """
    with xr.open_dataset(out / _RESULTS, engine="h5netcdf") as stored:
        if stored.attrs.get("format") != FORMAT:
            raise OutputExistsError(
                f"{out / _RESULTS}: made by another version of fedbandits; delete {out}, or choose "
                "another --out, and run it again"
            )
        return stored.load()


def write_audit(out: pathlib.Path, experiment: Experiment, audit: Audit) -> None:
    """Write an audit into the folder of a run, and into the run's report if there is one.

    Raises
    ------
    OutputBusyError
        If a run is writing there.
    OutputExistsError
        If another version of fedbandits made the run. The audit is then written beside it.
    OutputError
        If the disk is full.
    """
    with locked(out):
        out.mkdir(parents=True, exist_ok=True)
        found = json.dumps(msgspec.to_builtins(audit), indent=1, ensure_ascii=False)
        replace_durably(out / _AUDIT, found.encode())
        replace_durably(out / "audit.html", render_audit(experiment, audit).encode())
        if is_whole(out):
            write_output(out, experiment, read_result(out))
        elif not (out / _CONFIG).is_file():
            replace_durably(out / _CONFIG, experiment.to_toml().encode())


def write_advice(out: pathlib.Path, experiment: Experiment, advice: Advice) -> None:
    """Write an advice into the folder of a run, and into the run's report.

    Raises
    ------
    OutputBusyError
        If a run is writing there.
    OutputError
        If the disk is full.
    """
    with locked(out):
        store_advice(out, advice)
        if is_whole(out):
            write_output(out, experiment, read_result(out))


def read_audit(out: pathlib.Path) -> Audit | None:
    """The audit in a run's folder, if there is one.

    Raises
    ------
    OutputExistsError
        If it cannot be read.
    """
    path = out / _AUDIT
    if not path.is_file():
        return None
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="utf-8")), Audit)
    except (ValueError, msgspec.ValidationError):
        raise OutputExistsError(
            f"{path}: cannot be read; delete it, or run the audit again"
        ) from None


def rewrite_report(out: pathlib.Path, look: Look) -> None:
    """Make report and plots of a run again, from the results in its folder.

    Raises
    ------
    OutputExistsError
        If the folder holds no whole run, or one of another version.
    OutputBusyError
        If a run is writing there.
    OutputError
        If the disk is full.
    """
    if not is_whole(out):
        raise OutputExistsError(
            f"{out}: holds no whole run of fedbandits; give the folder of a run, or run it again"
        )
    with locked(out):
        write_output(out, load(out / _CONFIG), read_result(out), look)


def write_output(
    out: pathlib.Path, experiment: Experiment, result: xr.Dataset, look: Look | None = None
) -> None:
    """Make all files of a run in memory, then put them in place.

    Parameters
    ----------
    out
        The folder.
    experiment, result
        What was run, and what came of it.
    look
        Sizes of plots; the usual ones if not given.

    Raises
    ------
    OutputError
        If the disk is full. What the folder held before is as it was.
    """
    audit, advice = read_audit(out), read_advice(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = summarise(experiment, result)
    bounds = experiment.bounds()
    plots = draw_plots(result, bounds, look)
    found = msgspec.structs.replace(answer(experiment, result), advice=advice)
    files = {
        _RESULTS: netcdf(result),
        "summary.csv": summary_csv(rows).encode(),
        "report.html": render_report(
            experiment, result, rows, plots, compare(result, bounds), audit, found
        ).encode(),
        "answer.json": json.dumps(found.to_table(), indent=1, ensure_ascii=False).encode(),
        _CONFIG: experiment.to_toml().encode(),
    }
    for name, picture in plots.items():
        files |= {f"plots/{name}.png": picture.png, f"plots/{name}.svg": picture.svg}
    files |= {path: text for module in experiment.modules for path, text in module.files.items()}
    put_in_place(files, out)


def netcdf(result: xr.Dataset) -> bytes:
    """The bytes of a netCDF file. HDF5 does not survive a disk that is full: it gets none."""
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        result.dump_to_store(H5NetCDFStore(file))
    return buffer.getvalue()
