"""The folder of a run: written whole or not at all, and never over another experiment's."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec
import xarray as xr

from fedbandits.errors import OutputExistsError
from fedbandits.experiments.audit import Audit
from fedbandits.experiments.plots import draw_plots
from fedbandits.experiments.report import render_audit, render_report
from fedbandits.experiments.result import summarise, summary_csv
from fedbandits.settings.experiment import Experiment

_AUDIT = "audit.json"


def check_output(out: pathlib.Path, experiment: Experiment) -> None:
    """Refuse a folder that is in use for something else, before anything runs.

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
    config = out / "config.toml"
    if not config.is_file():
        raise OutputExistsError(
            f"{out}: holds files, but no run of fedbandits; choose another --out"
        )
    try:
        there = tomllib.loads(config.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise OutputExistsError(
            f"{config}: cannot be read; delete {out} or choose another --out"
        ) from None
    differing = list(_differences(there, experiment.to_table(), ""))
    if differing:
        raise OutputExistsError(
            f"{out}: holds the results of another configuration (differs in "
            f"{', '.join(differing[:4])}); delete it or choose another --out"
        )


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
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputExistsError(
            f"{out}: cannot be written ({reason}); choose another --out"
        ) from None


def holds_complete_run(out: pathlib.Path) -> bool:
    """Whether a folder holds results in which every replicate was finished."""
    results = out / "results.nc"
    if not results.is_file():
        return False
    try:
        with xr.open_dataset(results, engine="h5netcdf") as stored:
            return not stored.attrs.get("interrupted", 1)
    except OSError:  # damaged: whatever was finished now is worth more
        return False


def write_audit(out: pathlib.Path, experiment: Experiment, audit: Audit) -> None:
    """Write an audit into the folder of a run, and into the run's report if there is one."""
    out.mkdir(parents=True, exist_ok=True)
    found = json.dumps(msgspec.to_builtins(audit), indent=1, ensure_ascii=False)
    (out / _AUDIT).write_text(found, encoding="utf-8")
    (out / "audit.html").write_text(render_audit(experiment, audit), encoding="utf-8")
    if not (out / "results.nc").is_file():
        (out / "config.toml").write_text(experiment.to_toml(), encoding="utf-8")
        return
    with xr.load_dataset(out / "results.nc", engine="h5netcdf") as result:
        write_output(out, experiment, result)


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
        raise OutputExistsError(f"{path}: cannot be read; delete it or audit again") from None


def write_output(out: pathlib.Path, experiment: Experiment, result: xr.Dataset) -> None:
    """Write everything into a folder beside ``out``, then put it in place."""
    audit = read_audit(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as temporary:
        stage = pathlib.Path(temporary) / "run"
        (stage / "plots").mkdir(parents=True)
        rows = summarise(experiment, result)
        plots = draw_plots(experiment, result)
        report = render_report(experiment, result, rows, plots, audit)
        result.to_netcdf(stage / "results.nc", engine="h5netcdf")
        (stage / "summary.csv").write_text(summary_csv(rows), encoding="utf-8")
        (stage / "report.html").write_text(report, encoding="utf-8")
        for name, image in plots.items():
            (stage / "plots" / f"{name}.png").write_bytes(image)
        (stage / "config.toml").write_text(experiment.to_toml(), encoding="utf-8")
        _put_in_place(stage, out)


def _put_in_place(stage: pathlib.Path, out: pathlib.Path) -> None:
    """A new folder appears whole; in an old one only what a run makes is replaced."""
    if not out.exists():
        os.replace(stage, out)
        return
    for file in sorted(path for path in stage.rglob("*") if path.is_file()):
        target = out / file.relative_to(stage)
        target.parent.mkdir(exist_ok=True)
        os.replace(file, target)
