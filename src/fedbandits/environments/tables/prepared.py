"""A prepared table: contexts, arms, parties, persons, and public facts."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Bools, Floats32
from fedbandits.environments.tables.cells import RawTable, missing, numbers
from fedbandits.environments.tables.features import Numeric, codes_of, contexts_of, suspicious
from fedbandits.environments.tables.files import Stamp, stamp
from fedbandits.environments.tables.formats import listed_text, tidy
from fedbandits.environments.tables.forms import (
    Classes,
    DealtRows,
    Form,
    Rewarded,
    logged_actions,
    scaled_rewards,
)
from fedbandits.environments.tables.scaling import Public, public_of
from fedbandits.environments.tables.settings import TableKeys
from fedbandits.environments.tables.sites import PersonRows, Sites, persons_of, sites_in
from fedbandits.environments.tables.sources import read_table
from fedbandits.errors import DataError
from fedbandits.random import Key
from fedbandits.rows import centre_and_spread, deviation_of

#: Largest number of coordinates of a context.
_MOST_COORDINATES = 2_000
_COUNTED = (
    "These are public: who the parties are, how many rows each of them has, how many persons there "
    "are, and how often the one who comes most often comes."
)
_NOBODY = (
    "No column says who a row is about, so every row counts as another person. If a person has "
    "several rows, all that is said of a person here is too good."
)
_DROPPED = (
    "Which rows have missing values is public as well: such rows are left out, and the others move "
    "up."
)


class Used(NamedTuple):
    """A column in use, and the setting that names it."""

    name: str
    key: str
    listed: frozenset[str] = frozenset()  # values that may look like a gap, such as ``NA``


def used_columns(table: TableKeys) -> list[Used]:
    """List the columns that the settings name."""
    levels = {
        tidy(n): frozenset(map(listed_text, listed)) for n, listed in table.categories.items()
    }
    used = [Used(tidy(n), "features", levels.get(tidy(n), frozenset())) for n in table.features]
    for key in ("site", "person", "target", "action", "reward", "propensity"):
        name = getattr(table, key)
        if isinstance(name, str):
            listed = frozenset(table.class_names) if key in ("target", "action") else frozenset()
            used.append(Used(tidy(name), key, listed))
    return used + [Used(tidy(name), "rewards") for name in table.rewards]


def without_gaps(table: TableKeys, raw: RawTable) -> tuple[RawTable, tuple[str, ...]]:
    """Return the rows without missing values, and cautions about dropped rows.

    Raises DataError with the line and the column of the first missing value, if missing values are
    refused.
    """
    gaps = {used: missing(raw, used.name, used.key, used.listed) for used in used_columns(table)}
    if (
        table.missing == "indicator"
    ):  # indicators are for features only: without a class or a site a row is useless
        gaps = {used: gap for used, gap in gaps.items() if used.key != "features"}
    gaps = {used: gap for used, gap in gaps.items() if gap.any()}
    if not gaps:
        return raw, ()
    if table.missing != "drop":
        _refuse_gaps(table, raw, gaps)
    kept = ~np.logical_or.reduce(list(gaps.values()))
    if not kept.any():
        raise DataError(f"environment.missing: every row of {raw.name} has a missing value")
    columns = ", ".join(f"{used.name} ({int(gap.sum())})" for used, gap in gaps.items())
    caution = (
        f'missing: "drop" leaves out {int((~kept).sum())} of {len(kept)} rows; missing values by '
        f"column: {columns}"
    )
    return raw.only(kept), (caution,)


def _refuse_gaps(table: TableKeys, raw: RawTable, gaps: dict[Used, Bools]) -> None:
    first = min(gaps, key=lambda used: int(np.argmax(gaps[used])))
    counts = ", ".join(f"{used.name}: {int(gap.sum())}" for used, gap in gaps.items())
    marked = first.key == "features" and table.missing == "refuse"
    remedy = ', or missing = "indicator" to mark such features' if marked else ""
    row = int(np.argmax(gaps[first]))
    if raw.columns[first.name].dtype == object and raw.columns[first.name][row]:
        remedy += "; if its text is a value, list the marks of missing values as missing_marks"
    raise DataError(
        f"{raw.place(row, first.name)}: is missing (missing cells by "
        f'column: {counts}); fill them in, or set missing = "drop" to leave out such rows{remedy}'
    )


class Prepared(NamedTuple):
    """A table that is ready for play."""

    contexts: Floats32  # (rows, d), in the unit ball
    form: Form  # the arms and their rewards
    sites: Sites  # the parties, and the owner of each row
    persons: PersonRows  # the person of each row, and rates of visits
    public: tuple[str, ...]  # public facts for privacy claims, a sentence each
    cautions: tuple[str, ...]  # cautions for the user, each with its key first
    row_deviation: float | None  # of the contexts, if other settings would change it

    def world(self, key: Key, visits: str) -> Any:
        """Make the world of a replicate whose ``visits`` are drawn, come once, or come in order."""
        # Rows dealt to agents are in a random order already, except with visits in order.
        shuffled = visits == "once" or (visits == "drawn" and not self.sites.names)
        labels = np.zeros(self.sites.rows, np.int64)
        if isinstance(self.form, Classes):
            labels = self.form.labels
        dealt = self.sites.dealt(key, shuffled, labels)
        drawn, persons = visits == "drawn", self.persons.of_rows
        return self.form.world(DealtRows(self.contexts, *dealt, drawn, persons, key))


class _Request:
    """A table's settings and the version of its file, as a key of a cache."""

    def __init__(self, table: TableKeys) -> None:
        self.table = table
        self._key: tuple[bytes, Stamp] = (msgspec.json.encode(table), stamp(table.path))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Request) and self._key == other._key


def prepare_table(table: TableKeys) -> Prepared:
    """Prepare a table; the table is read again only after its file or its settings change.

    Raises DataError with the line or the key, if the table cannot be used.
    """
    return _prepared(_Request(table))


@functools.lru_cache(maxsize=8)
def _prepared(request: _Request) -> Prepared:
    table = request.table
    raw, dropped = without_gaps(table, read_table(table.path, table.reading, table.digest))
    public = public_of(table, raw)
    indicators = table.missing == "indicator"
    wide = sum(f.width + indicators for f in public.features) + (table.intercept > 0.0)
    if wide > _MOST_COORDINATES:
        raise DataError(
            f"environment.features: they make {wide} coordinates, allowed: up to "
            f"{_MOST_COORDINATES:,}; use fewer features or categories"
        )
    contexts = contexts_of(raw, public.features, indicators, table.norm, table.intercept)
    sites = sites_in(table, raw)
    persons = persons_of(raw, table.person, sites)
    counted = [_COUNTED]
    counted += [_DROPPED] if table.missing == "drop" else []
    counted += [_NOBODY] if table.person is None else []
    form = form_of(table, raw, public)
    stated = {*map(tidy, table.ranges), *map(tidy, table.spread or ())}
    cautions = (*dropped, *public.cautions, *suspicious(raw, public.features, stated))
    ranged = any(isinstance(f, Numeric) and f.key == "ranges" for f in public.features)
    deviation = deviation_of(contexts) if ranged or table.norm is not None else None
    sentences = (*public.sentences, *counted)
    return Prepared(contexts, form, sites, persons, sentences, cautions, deviation)


def form_of(table: TableKeys, raw: RawTable, public: Public) -> Form:
    """Return the form of a table whose rows have no gaps.

    Raises DataError with the line, for a class that is not listed or a reward outside its range.
    """
    if table.form == "target":
        labels = codes_of(raw, table.target or "", "classes", public.classes)
        return Classes(public.classes, labels)
    if table.form == "rewards":
        columns = [scaled_rewards(raw, name, "rewards", public) for name in table.rewards]
        return Rewarded(table.rewards, np.column_stack(columns).astype(np.float32))
    return logged_actions(table, raw, public)


def measured_spreads(table: TableKeys) -> TableKeys | None:
    """Return the table with spreads for all columns that are scaled by ranges; None without such.

    Centre and spread of a column are mean and deviation of its values within their range. They need
    a look at the data, so nobody may state them as public facts. They serve comparisons only: a run
    reports the results of parties alone with rows that are prepared so.
    """
    raw, _ = without_gaps(table, read_table(table.path, table.reading, table.digest))
    centre, spread = dict(table.centre or {}), dict(table.spread or {})
    measured = set()
    for feature in public_of(table, raw).features:
        if isinstance(feature, Numeric) and feature.key == "ranges":
            values = np.clip(numbers(raw, feature.name, "features"), feature.low, feature.high)
            if pair := centre_and_spread(values):
                centre[feature.name], spread[feature.name] = pair
                measured.add(feature.name)
    if not measured:
        return None
    left = {name: limits for name, limits in table.ranges.items() if tidy(name) not in measured}
    return msgspec.structs.replace(table, centre=centre, spread=spread, ranges=left, norm=None)
