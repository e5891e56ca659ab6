"""The files of a sweep."""

from __future__ import annotations

import pathlib

import xarray as xr

from fedbandits.experiments.output import netcdf
from fedbandits.experiments.summary import summary_csv
from fedbandits.experiments.sweeps.page import render_sweep
from fedbandits.experiments.sweeps.plot import sweep_pictures
from fedbandits.experiments.sweeps.result import SweepParts, sweep_rows
from fedbandits.experiments.whole import put_in_place


def write_sweep(out: pathlib.Path, parts: SweepParts, result: xr.Dataset) -> None:
    """Make all files of a sweep in memory, then put them in place.

    Raises
    ------
    OutputError
        If the disk is full. What the folder held before is as it was.
    """
    sweep = parts.sweep
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = sweep_rows(sweep, parts.points, result)
    pictures = sweep_pictures(result)
    files = {
        "results.nc": netcdf(result),
        "summary.csv": summary_csv(rows).encode(),
        "report.html": render_sweep(sweep, parts.points, result, pictures).encode(),
        "config.toml": sweep.to_toml().encode(),
    }
    for number, image in enumerate(pictures.values()):
        name = f"plots/sweep{f'-{number + 1}' if len(pictures) > 1 else ''}"
        files |= {f"{name}.png": image.png, f"{name}.svg": image.svg}
    for module in sweep.experiment.modules:
        files |= dict(module.files)
    put_in_place(files, out)
