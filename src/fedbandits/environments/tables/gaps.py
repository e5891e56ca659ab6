"""Values that are missing: refused with their line, left out with their row, or marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbandits._typing import Bools
from fedbandits.environments.tables.cells import listed_text, missing
from fedbandits.environments.tables.raw import RawTable, tidy
from fedbandits.errors import DataError

if TYPE_CHECKING:
    from fedbandits.environments.table import Table


class Used(NamedTuple):
    """A column that is used.

    Parameters
    ----------
    name
        Of the column.
    key
        The setting that names it.
    listed
        Texts that are values even where they look like a gap, such as ``NA``.
    """

    name: str
    key: str
    listed: frozenset[str] = frozenset()


def used_columns(table: Table) -> list[Used]:
    """List the columns that the settings name."""
    levels = {
        tidy(n): frozenset(map(listed_text, listed)) for n, listed in table.categories.items()
    }
    found = [Used(tidy(n), "features", levels.get(tidy(n), frozenset())) for n in table.features]
    for key in ("site", "person", "target", "action", "reward", "propensity"):
        name = getattr(table, key)
        if isinstance(name, str):
            listed = frozenset(table.class_names) if key in ("target", "action") else frozenset()
            found.append(Used(tidy(name), key, listed))
    return found + [Used(tidy(name), "rewards") for name in table.rewards]


def without_gaps(table: Table, raw: RawTable) -> tuple[RawTable, tuple[str, ...]]:
    """Keep the rows that can be used; say what the user should know of the others.

    Raises
    ------
    DataError
        Naming the line and the column of the first missing value, where it is refused.
    """
    gaps = {
        used: missing(raw.cells(used.name, used.key), used.listed) for used in used_columns(table)
    }
    if table.missing == "indicator":  # of features only: without a class or a site a row is nothing
        gaps = {used: gap for used, gap in gaps.items() if used.key != "features"}
    gaps = {used: gap for used, gap in gaps.items() if gap.any()}
    if not gaps:
        return raw, ()
    if table.missing != "drop":
        _refuse(table, raw, gaps)
    kept = ~np.logical_or.reduce(list(gaps.values()))
    if not kept.any():
        raise DataError(f"environment.missing: every row of {raw.name} has a missing value")
    columns = ", ".join(f"{used.name} ({int(gap.sum())})" for used, gap in gaps.items())
    caution = (
        f'missing: "drop" leaves out {int((~kept).sum())} of {len(kept)} rows; missing values by '
        f"column: {columns}"
    )
    return raw.only(kept), (caution,)


def _refuse(table: Table, raw: RawTable, gaps: dict[Used, Bools]) -> None:
    first = min(gaps, key=lambda used: int(np.argmax(gaps[used])))
    counts = ", ".join(f"{used.name}: {int(gap.sum())}" for used, gap in gaps.items())
    marked = first.key == "features" and table.missing == "refuse"
    remedy = ', or missing = "indicator" to mark such features' if marked else ""
    raise DataError(
        f"{raw.place(int(np.argmax(gaps[first])), first.name)}: is missing (missing cells by "
        f'column: {counts}); fill them in, or set missing = "drop" to leave out such rows{remedy}'
    )
