"""The records of others, and how far they count for a party, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from fedbandits.environments.base import Words
from fedbandits.experiments.measure import with_article
from fedbandits.systems.agents.others_count import OTHERS_COUNT_AS


def others_count_lines(result: xr.Dataset, words: Words) -> Iterator[str]:
    """Yield a line for each system that knows how far others' records count at the end of a run.

    Of all parties and replicates. In a federation each organisation is told its own number alone.
    """
    if OTHERS_COUNT_AS not in result:
        return
    last = result[OTHERS_COUNT_AS].isel(round=-1)
    for label in result["system"].values:
        counts = np.asarray(last.sel(system=label).values, np.float64)
        counts = counts[np.isfinite(counts)]
        if counts.size:
            yield (
                f"With {label}, the records of others count for {with_article(words.party)} as "
                f"much as {_number(np.median(counts))} of its own (median; "
                f"{_number(counts.min())} to {_number(counts.max())})."
            )


def _number(count: float) -> str:
    """Write a count of records; below ten two figures, as a part of a record matters there."""
    return f"{count:,.0f}" if count >= 9.95 else f"{count:.2g}"
