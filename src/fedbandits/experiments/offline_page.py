"""The section of a report that holds estimates from a log."""

from __future__ import annotations

import xarray as xr

from fedbandits.experiments.html import as_number, as_table, as_text
from fedbandits.experiments.offline import INTERVAL_NOTE, NO_REGRET, Row, estimates_of, few_said

_TITLES = ("system", "estimate", "value", "95% interval", "events that match", "effective events")


def offline_section(result: xr.Dataset) -> list[str]:
    """Each system's value by each method, as parts of a page; nothing if no log was played.

    Parameters
    ----------
    result
        The result of a run.
    """
    rows = estimates_of(result)
    if not rows:
        return []
    warned = few_said(rows)
    return [
        "<h2>Value on the log</h2>",
        f"<p>{as_text(NO_REGRET)}</p>",
        as_table(_TITLES, (_cells(row) for row in rows), str),
        *([f"<p class=warning>{as_text(warned)}</p>"] if warned else []),
        f"<p class=note>{as_text(INTERVAL_NOTE)} IPS, self-normalised IPS and doubly robust use "
        "every event in which the system chose the logged action. Replay uses those of them that "
        "rejection sampling accepted, from which the system has learned. All rest on the "
        "propensities that were stated.</p>",
    ]


def _cells(row: Row) -> list[str]:
    return [
        as_text(row.system), as_text(row.name), as_number(row.value),
        f"{as_number(row.low)} to {as_number(row.high)}",
        f"{row.matched:,.0f} of {row.events:,.0f}", f"{row.effective:,.0f}",
    ]  # fmt: skip
