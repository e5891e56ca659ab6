"""The files of a run or a sweep: all are made in memory, then put in place together."""

from __future__ import annotations

import io
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import h5netcdf
import msgspec
import xarray as xr
from xarray.backends import H5NetCDFStore

from fedbandits.errors import OutputExistsError
from fedbandits.experiments.answers.advice import Advice
from fedbandits.experiments.answers.answer import answer
from fedbandits.experiments.audits.verdict import Audit
from fedbandits.experiments.files import (
    MARKER,
    is_whole,
    locked,
    put_in_place,
    replace_durably,
)
from fedbandits.experiments.folder import CONFIG, RESULTS, read_result, stored_table
from fedbandits.experiments.plots import Look, Picture, draw_plots
from fedbandits.experiments.plots.bounds import compare
from fedbandits.experiments.plots.swept import sweep_pictures
from fedbandits.experiments.report.pages import (
    data_uri,
    render_audit,
    render_report,
    render_sweep,
)
from fedbandits.experiments.result import summarise, summary_csv, sweep_rows
from fedbandits.settings.experiment import Experiment, load
from fedbandits.settings.sweeps import Point, Sweep

_AUDIT, _ADVICE = "audit.json", "advice.json"
Stored = TypeVar("Stored", Audit, Advice)


def write_audit(out: pathlib.Path, experiment: Experiment, audit: Audit) -> None:
    """Write an audit into the folder of a run, and into the run's report if there is one.

    Raises OutputBusyError if a run is writing there, OutputError if the disk is full. If another
    version of fedbandits made the run, the audit is written beside it, and OutputExistsError
    raised.
    """
    with locked(out):
        out.mkdir(parents=True, exist_ok=True)
        _store(out / _AUDIT, audit)
        replace_durably(out / "audit.html", render_audit(experiment, audit).encode())
        if is_whole(out):
            write_output(out, experiment, read_result(out))
        elif not (out / CONFIG).is_file():
            replace_durably(out / CONFIG, experiment.to_toml().encode())


def write_advice(out: pathlib.Path, experiment: Experiment, advice: Advice) -> None:
    """Write an advice into the folder of a run, and into its report; raises as an audit does."""
    with locked(out):
        _store(out / _ADVICE, advice)
        if is_whole(out):
            write_output(out, experiment, read_result(out))


def _store(file: pathlib.Path, finding: Audit | Advice) -> None:
    text = json.dumps(msgspec.to_builtins(finding), indent=1, ensure_ascii=False)
    replace_durably(file, text.encode())


def read_audit(out: pathlib.Path) -> Audit | None:
    """Return the audit in a run's folder, if there is one that can be read."""
    return _stored(out / _AUDIT, Audit, "run the audit again")


def read_advice(out: pathlib.Path) -> Advice | None:
    """Return the advice in a run's folder, if there is one that can be read."""
    return _stored(out / _ADVICE, Advice, "run it again with --advise")


def _stored(file: pathlib.Path, kind: type[Stored], again: str) -> Stored | None:
    if not file.is_file():
        return None
    try:
        return msgspec.convert(json.loads(file.read_text(encoding="utf-8")), kind)
    except (ValueError, msgspec.ValidationError):
        raise OutputExistsError(f"{file}: cannot be read; delete it, or {again}") from None


def rewrite_report(out: pathlib.Path, look: Look) -> tuple[str, ...]:
    """Make report and plots of a run again, from the results in its folder.

    Code that the run's configuration names is not run: the folder may be somebody else's. Then the
    report's text stays, and so do plots of theorems, which only that code could draw; their names
    are returned.

    Raises OutputExistsError if the folder holds no whole run, or one of another version.
    """
    if not is_whole(out):
        raise OutputExistsError(
            f"{out}: holds no whole run of fedbandits; give the folder of a run, or run it again"
        )
    with locked(out):
        result = read_result(out)
        if "module" in (stored_table(out) or {}):
            return _redraw(out, result, look)
        write_output(out, load(out / CONFIG, allow_modules=False), result, look)
    return ()


def _redraw(out: pathlib.Path, result: xr.Dataset, look: Look) -> tuple[str, ...]:
    """Draw the plots of a run again that its result alone can draw; put them into the report."""
    names = json.loads((out / MARKER).read_text(encoding="utf-8"))["files"]
    files = {name: (out / name).read_bytes() for name in names}
    report = files["report.html"].decode()
    plots = draw_plots(result, {}, look)
    for name, image in plots.items():
        before = files[f"plots/{name}.svg"]
        report = report.replace(data_uri(before), data_uri(image.svg))
        files |= _files_of(name, image)
    _put(out, files | {"report.html": report.encode()})
    drawn = {pathlib.PurePath(name).stem for name in names if name.startswith("plots/")}
    return tuple(sorted(drawn - {*plots}))


def write_output(
    out: pathlib.Path, experiment: Experiment, result: xr.Dataset, look: Look | None = None
) -> None:
    """Make all files of a run in memory, then put them in place.

    If the disk is full, OutputError is raised, and the folder is as it was.
    """
    audit, advice = read_audit(out), read_advice(out)
    rows = summarise(experiment, result)
    bounds = experiment.bounds()
    plots = draw_plots(result, bounds, look)
    verdict = msgspec.structs.replace(answer(experiment, result), advice=advice)
    compared = compare(result, bounds)
    report = render_report(experiment, result, rows, plots, compared, audit, verdict)
    files = _files(experiment, result, rows, report, plots)
    files["answer.json"] = json.dumps(verdict.to_table(), indent=1, ensure_ascii=False).encode()
    _put(out, files)


def write_sweep(
    out: pathlib.Path, sweep: Sweep, points: Sequence[Point], result: xr.Dataset
) -> None:
    """Make all files of a sweep in memory, then put them in place; raises as for a run."""
    pictures = sweep_pictures(result)
    report = render_sweep(sweep, points, result, pictures)
    several = len(pictures) > 1
    plots = {
        f"sweep{f'-{number + 1}' if several else ''}": image
        for number, image in enumerate(pictures.values())
    }
    _put(out, _files(sweep, result, sweep_rows(sweep, points, result), report, plots))


def _files(
    played: Experiment | Sweep,
    result: xr.Dataset,
    rows: list[dict[str, Any]],
    report: str,
    plots: Mapping[str, Picture],
) -> dict[str, bytes]:
    """Return the files that runs and sweeps have in common, by their paths."""
    experiment = played.experiment if isinstance(played, Sweep) else played
    files = {
        RESULTS: netcdf(result),
        "summary.csv": summary_csv(rows).encode(),
        "report.html": report.encode(),
        CONFIG: played.to_toml().encode(),
    }
    for name, image in plots.items():
        files |= _files_of(name, image)
    return files | {path: text for each in experiment.modules for path, text in each.files.items()}


def _files_of(name: str, image: Picture) -> dict[str, bytes]:
    """Return the files of one plot."""
    return {f"plots/{name}.png": image.png, f"plots/{name}.svg": image.svg}


def _put(out: pathlib.Path, files: Mapping[str, bytes]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    put_in_place(files, out)


def netcdf(result: xr.Dataset) -> bytes:
    """Encode a result as netCDF. HDF5 does not survive a full disk, so it writes to memory."""
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        result.dump_to_store(H5NetCDFStore(file))
    return buffer.getvalue()
