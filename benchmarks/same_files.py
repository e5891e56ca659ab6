"""What differs between two folders of results, but for times."""

from __future__ import annotations

import csv
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

#: What the files of a case may be called, in words.
FILES = "results.nc (all variables but seconds), table.csv, audit.json, claims.md"
#: Of tables: settings, which stand beside measured times or shares of them.
SETTINGS = ("data", "budget N", "arms K", "system")
_TIMES = {"seconds"}


def differences(old: pathlib.Path, new: pathlib.Path) -> tuple[str, list[str]]:
    """What was compared, in words, and a line for everything that differs.

    Files are matched by their paths below the two folders, data by labels.
    """
    counts: list[str] = []
    found: list[str] = []
    for pattern, compare in _COMPARED.items():
        before, after = ({p.relative_to(f): p for p in f.rglob(pattern)} for f in (old, new))
        for path in sorted(before.keys() | after.keys()):
            if path not in before or path not in after:
                found.append(f"{path}: only in the {'old' if path in before else 'new'}")
                continue
            lines = compare(before[path], after[path])
            found += [f"{path}: {line}" if path.parent.name != "out" else line for line in lines]
        if both := len(before.keys() & after.keys()):
            counts.append(f"{both} {pattern}" if both > 1 else pattern)
    if not counts:
        found.append("no results to compare")
    return ", ".join(counts), found


def _results(old: pathlib.Path, new: pathlib.Path) -> Iterator[str]:
    with (
        xr.open_dataset(old, engine="h5netcdf") as before,
        xr.open_dataset(new, engine="h5netcdf") as after,
    ):
        yield from _datasets(before.load(), after.load())


def _datasets(old: xr.Dataset, new: xr.Dataset) -> Iterator[str]:
    for coordinate in old.coords:
        if sorted(old[coordinate].values) != sorted(new[coordinate].values):
            yield f"{coordinate}: was {_few(old[coordinate])}, is {_few(new[coordinate])}"
            return
    new = new.sel(system=old.system)
    for name in sorted({*map(str, old), *map(str, new)} - _TIMES):
        if name not in old or name not in new:
            yield f"{name}: only in the {'old' if name in old else 'new'}"
        elif old[name].dims != new[name].dims:
            yield f"{name}: was over {old[name].dims}, is over {new[name].dims}"
        else:
            yield from _values(name, old[name], new[name])


def _few(values: xr.DataArray) -> str:
    return f"{values.size} ({', '.join(map(str, values.values[:4]))} …)"


def _values(name: str, old: xr.DataArray, new: xr.DataArray) -> Iterator[str]:
    a, b = old.values, new.values
    if a.dtype != b.dtype:
        yield f"{name}: was {a.dtype}, is {b.dtype}"
        return
    different = ~_same(a, b)
    if not different.any():
        return
    with np.errstate(invalid="ignore"):
        most = np.nanmax(np.append(np.abs(a[different] - b[different]), 0.0))
    first = old.copy(data=different).any([d for d in old.dims if d != "system"])
    labels = ", ".join(str(label) for label in old.system.values[first.values])
    yield f"{name}: {different.sum():,} of {a.size:,} differ, by up to {most:.3g}, of {labels}"


def _same(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Bit by bit, so that 0 is not -0; but a NaN is a NaN."""
    bits = f"u{a.dtype.itemsize}"
    same: NDArray[np.bool_] = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(
        bits
    )
    return same | (np.isnan(a) & np.isnan(b))


def _tables(old: pathlib.Path, new: pathlib.Path) -> Iterator[str]:
    before, after = (_rows(path) for path in (old, new))
    if len(before) != len(after):
        yield f"{len(before)} rows before, {len(after)} now"
    for number, (a, b) in enumerate(zip(before, after, strict=False), 1):
        if a != b:
            yield f"row {number}: {_unequal(a, b)}"


def _rows(path: pathlib.Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    timed = any("seconds" in row for row in rows)
    return [{k: v for k, v in row.items() if not timed or k in SETTINGS} for row in rows]


def _audits(old: pathlib.Path, new: pathlib.Path) -> Iterator[str]:
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (old, new))
    yield from _unequal_parts(before, after, "")


def _unequal_parts(a: Any, b: Any, place: str) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys([*a, *b]):
            yield from _unequal_parts(a.get(key), b.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _unequal_parts(x, y, f"{place}[{number}]")
    elif repr(a) != repr(b):
        yield f"{place}: was {a!r}, is {b!r}"


def _claims(old: pathlib.Path, new: pathlib.Path) -> Iterator[str]:
    before, after = (path.read_text(encoding="utf-8").splitlines() for path in (old, new))
    if len(before) != len(after):
        yield f"{len(before)} lines before, {len(after)} now"
    for number, (a, b) in enumerate(zip(before, after, strict=False), 1):
        if a != b:
            yield f"line {number}: was {a}, is {b}"
            return


def _unequal(a: dict[str, Any], b: dict[str, Any]) -> str:
    keys = [key for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)]
    return ", ".join(f"{key} was {a.get(key)}, is {b.get(key)}" for key in keys)


_COMPARED: dict[str, Callable[[pathlib.Path, pathlib.Path], Iterator[str]]] = {
    "results.nc": _results,
    "table.csv": _tables,
    "audit.json": _audits,
    "claims.md": _claims,
}
