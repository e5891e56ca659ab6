"""A table whose numbers are counted in spreads that are measured from all rows.

Nobody may state such facts without a look at the data, so they serve comparisons only: a run says
how well parties alone would do with rows that are prepared so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from fedbandits.environments.rows import centre_and_spread
from fedbandits.environments.tables.cells import numbers, tidy
from fedbandits.environments.tables.features import Numeric
from fedbandits.environments.tables.prepared import without_gaps
from fedbandits.environments.tables.scaling import public_of
from fedbandits.environments.tables.sources import read_table

if TYPE_CHECKING:
    from fedbandits.environments.data_table import Table


def measured_spreads(table: Table) -> Table | None:
    """Return the table with spreads for all numbers that it scales by ranges; None if it has none.

    Centre and spread of a column are mean and deviation of its values within their range.
    """
    raw, _ = without_gaps(table, read_table(table.path, table.reading, table.digest))
    centre, spread = dict(table.centre or {}), dict(table.spread or {})
    found = set()
    for feature in public_of(table, raw).features:
        if isinstance(feature, Numeric) and feature.key == "ranges":
            values = np.clip(numbers(raw, feature.name, "features"), feature.low, feature.high)
            if pair := centre_and_spread(values):
                centre[feature.name], spread[feature.name] = pair
                found.add(feature.name)
    if not found:
        return None
    left = {name: limits for name, limits in table.ranges.items() if tidy(name) not in found}
    return msgspec.structs.replace(table, centre=centre, spread=spread, ranges=left, norm=None)
