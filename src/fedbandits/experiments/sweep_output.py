"""The files of a sweep."""

from __future__ import annotations

import pathlib

import xarray as xr

from fedbandits.experiments.output import netcdf
from fedbandits.experiments.result import summary_csv
from fedbandits.experiments.sweep_result import SweepParts, sweep_rows
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
    files = {
        "results.nc": netcdf(result),
        "summary.csv": summary_csv(rows).encode(),
        "config.toml": sweep.to_toml().encode(),
    }
    for module in sweep.experiment.modules:
        files |= dict(module.files)
    put_in_place(files, out)
