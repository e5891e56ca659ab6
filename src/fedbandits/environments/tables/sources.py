"""Sources of tables: a file, or an object in the memory of this process."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fedbandits.environments.tables.cells import Cells, RawTable, number_text
from fedbandits.environments.tables.delimited import read_delimited
from fedbandits.environments.tables.files import read_bytes, unpacked
from fedbandits.environments.tables.formats import Reading, tidy
from fedbandits.errors import DataError, MissingExtraError

_PARQUET = b"PAR1"
#: Tables from the memory of this process, by their digest.
_HELD: dict[str, RawTable] = {}
#: Largest whole number that float64 holds exactly: columns with larger identifiers stay texts.
_EXACT = 2**53
#: Missing values of pandas, as texts.
_GAPS = ("<NA>", "NaT")
_ALLOWED = (
    "a path, a pandas or polars DataFrame, a dictionary of columns, a structured numpy array, or a "
    "2-D numpy array with columns = [names]"
)


def hold(raw: RawTable) -> str:
    """Keep a table for as long as this process runs; return its digest."""
    digest = raw.digest
    _HELD[digest] = raw
    return digest


def read_table(path: str, reading: Reading, digest: str) -> RawTable:
    """Read the table of a file; without a ``path``, the table in memory with that digest.

    ``reading`` is the format of its cells. ``digest`` is the recorded digest of the data; empty for
    any data. Raises DataError if the table is missing, is no table, or is another table than
    recorded.
    """
    if not path:
        return _held(digest).read_as(reading)
    data = read_bytes(path)
    there = f"sha256:{hashlib.sha256(data).hexdigest()}"
    if digest and digest != there:
        raise DataError(
            f"environment.digest: {path} has changed since this configuration was recorded; put "
            "the old file back, or remove digest to use the new one"
        )
    data = unpacked(path, data)
    if data.startswith(_PARQUET):
        return _parquet(path, data).read_as(reading)
    return read_delimited(path, data, reading)


def _held(digest: str) -> RawTable:
    if digest not in _HELD:
        raise DataError(
            f"environment.digest: the table {digest[:15] or '(none)'}… was given in another "
            "process, and a run does not store data; give it again with "
            "fb.environments.table(data, …), or write it to a file and set path"
        )
    return _HELD[digest]


def _parquet(path: str, data: bytes) -> RawTable:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError(
            f"{path}: is a Parquet file; install the extra 'data' as docs/install.md says, or "
            "save the table as CSV"
        ) from None
    try:
        frame = parquet.read_table(io.BytesIO(data)).to_pandas()
        return table_in_memory(frame)._replace(name=path)
    except (ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {type(error).__name__}") from None


def table_in_memory(data: Any, columns: Sequence[str] | None = None) -> RawTable:
    """Read a table from a data frame, a dictionary of columns, or an array.

    ``columns`` names the columns of a 2-D array. Raises DataError if the data is no table, has no
    rows, or its columns have different lengths or the same name.
    """
    cells: dict[str, Cells] = {}
    for place, (name, values) in enumerate(_columns(data, columns), start=1):
        tidied = tidy(str(name))
        if not tidied.isprintable():
            raise DataError(f"the table: column {place} has a name that cannot be printed")
        if tidied in cells:
            raise DataError(f"the table has two columns {tidied!r}; rename one")
        cells[tidied] = _of_values(name, values)
    lengths = {name: len(column) for name, column in cells.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the table has columns of different lengths: {lengths}")
    rows = next(iter(lengths.values()), 0)
    if not rows:
        raise DataError("the table has no rows")
    return RawTable("the table", cells, np.arange(rows), "row")


def _columns(data: Any, names: Sequence[str] | None) -> Iterable[tuple[Any, Any]]:
    """List names and values of the columns of a table of any kind."""
    if names is not None and not isinstance(data, np.ndarray):
        raise DataError("table: columns = [names] is for a 2-D numpy array; others have names")
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas
        return [(name, data.iloc[:, place]) for place, name in enumerate(data.columns)]
    if hasattr(data, "get_columns") and hasattr(data, "to_dict"):  # polars
        data = data.to_dict(as_series=False)
    if isinstance(data, Mapping):
        return data.items()
    if isinstance(data, np.ndarray) and data.dtype.names:
        return [(name, data[name]) for name in data.dtype.names]
    if isinstance(data, np.ndarray) and data.ndim == 2:
        if names is None or len(names) != data.shape[1]:
            given = "none" if names is None else len(names)
            raise DataError(
                f"table: an array of {data.shape[1]} columns needs columns = [as many names], "
                f"given {given}"
            )
        return zip(names, data.T, strict=True)
    raise DataError(f"table: given {type(data).__name__}, allowed: {_ALLOWED}")


def _of_series(series: Any) -> Cells:
    """Read a column of pandas, whose types may have gaps where numpy's types cannot."""
    if getattr(series.dtype, "kind", "O") in "iuf":
        if not series.isna().any():
            return _of_values(series.name, series.to_numpy())
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    gaps = series.isna().to_numpy()
    cells = series.to_numpy(dtype=object)
    return _objects("" if gap else _text(cell) for cell, gap in zip(cells, gaps, strict=True))


def _of_values(name: Any, values: Any) -> Cells:
    if hasattr(values, "isna") and hasattr(values, "to_numpy"):
        return _of_series(values)
    if isinstance(values, np.ma.MaskedArray):  # masked entries are missing, whatever their data
        values = [*values.tolist()]
    array = values if isinstance(values, np.ndarray) else _as_array(values)
    if array.ndim != 1:
        raise DataError(f"the table: column {name!r} has shape {array.shape}, allowed: (rows,)")
    if array.dtype.kind in "iu" and len(array) and not _is_exact(array):
        return _objects(map(str, array.tolist()))
    if array.dtype.kind in "iuf":
        return np.asarray(array, np.float64)
    if array.dtype.kind in "Mm":  # as texts: dates as numbers would be taken for features
        return _objects("" if text == "NaT" else text for text in array.astype(str).tolist())
    return _objects(_text(value) for value in array.tolist())


def _as_array(values: Any) -> Any:
    """Make an array of a list; numbers in a mixed list stay numbers."""
    held = list(values)
    numeric = all(
        isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_) for v in held
    )
    return np.asarray(held) if numeric and held else _objects(held)


def _is_exact(array: Any) -> bool:
    return bool(int(array.min()) >= -_EXACT and int(array.max()) <= _EXACT)


def _objects(values: Iterable[Any]) -> Cells:
    held = list(values)
    objects = np.empty(len(held), dtype=object)
    objects[:] = held
    return objects


def _text(value: Any) -> str:
    if value is None or str(value) in _GAPS:
        return ""
    if isinstance(value, bytes):
        return tidy(value.decode("utf-8", "replace"))
    if isinstance(value, float) and not math.isinf(value):
        return number_text(value)
    return tidy(str(value))
