"""All that is made of a table once: contexts, arms, parties, persons, and what is public of it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Bools, Floats32, Ints
from fedbandits.environments.rows import deviation_of
from fedbandits.environments.tables.cells import RawTable, listed_text, missing, texts, tidy
from fedbandits.environments.tables.features import Numeric, codes_of, contexts_of
from fedbandits.environments.tables.files import Stamp, stamp
from fedbandits.environments.tables.forms import (
    Classes,
    DealtRows,
    Form,
    Rewarded,
    scaled_rewards,
)
from fedbandits.environments.tables.logged import logged_actions
from fedbandits.environments.tables.scaling import Public, public_of
from fedbandits.environments.tables.sources import read_table
from fedbandits.environments.tables.suspicious import suspicious
from fedbandits.errors import DataError
from fedbandits.random import Key, Purpose, permutation

if TYPE_CHECKING:
    from fedbandits.environments.data_table import Table

#: The most coordinates that a context may have.
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
    """A column that is used, and the setting that names it."""

    name: str
    key: str
    listed: frozenset[str] = frozenset()  # values even where they look like a gap, as ``NA``


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

    Raises DataError with the line and the column of the first missing value, where it is refused.
    """
    gaps = {used: missing(raw, used.name, used.key, used.listed) for used in used_columns(table)}
    if table.missing == "indicator":  # of features only: without a class or a site a row is nothing
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


def _refuse_gaps(table: Table, raw: RawTable, gaps: dict[Used, Bools]) -> None:
    first = min(gaps, key=lambda used: int(np.argmax(gaps[used])))
    counts = ", ".join(f"{used.name}: {int(gap.sum())}" for used, gap in gaps.items())
    marked = first.key == "features" and table.missing == "refuse"
    remedy = ', or missing = "indicator" to mark such features' if marked else ""
    row = int(np.argmax(gaps[first]))
    if raw.columns[first.name].dtype == object and raw.columns[first.name][row]:
        remedy += "; if its text is a value, list what stands for missing ones as missing_marks"
    raise DataError(
        f"{raw.place(row, first.name)}: is missing (missing cells by "
        f'column: {counts}); fill them in, or set missing = "drop" to leave out such rows{remedy}'
    )


class Sites(NamedTuple):
    """The parties of a table, and the rows of each."""

    names: tuple[str, ...]  # of the parties; empty where rows are dealt at random
    of_rows: Ints  # (rows,): the party that owns each row; empty where rows are dealt
    rows: int  # how many there are
    parties: int  # how many there are

    @property
    def starts(self) -> Ints:
        """(parties + 1,): where the rows of each party start, once they are grouped."""
        if not self.names:
            return np.linspace(0, self.rows, self.parties + 1).round().astype(np.int64)
        counts = np.bincount(self.of_rows, minlength=self.parties)
        return np.append(0, np.cumsum(counts)).astype(np.int64)

    @property
    def fewest_rows(self) -> int:
        """Rows of the party that has fewest."""
        return int(np.diff(self.starts).min())

    @property
    def most_rows(self) -> int:
        """Rows of the party that has most."""
        return int(np.diff(self.starts).max())

    @property
    def most_share(self) -> float:
        """Share that one row can have of all visits of its party."""
        return 1.0 / self.fewest_rows

    def dealt(self, key: Key, shuffled: bool) -> Ints:
        """Deal the rows: their numbers by party, at random, or in the order of the table."""
        if self.names:
            order = np.arange(self.rows)
            if shuffled:
                order = permutation(self.rows, key, 0, 0, Purpose.WORLD)
            return order[np.argsort(self.of_rows[order], kind="stable")]
        order = permutation(self.rows, key, 0, 0, Purpose.WORLD)
        if not shuffled:
            for first, past in zip(self.starts[:-1], self.starts[1:], strict=True):
                order[first:past].sort()
        return order


class PersonRows(NamedTuple):
    """Persons whose rows these are, and how often they come."""

    persons: int  # how many there are
    most_rows: int  # of the person who has most
    most_share: float  # the largest expected visits of one person in a round, if rows are drawn
    of_rows: Ints  # (rows,): the person of each row
    most_parties: int  # the largest number of parties that have rows of one person
    share_at_one: float | None = None  # of one person at one party, if it is known who has which
    most_squares: int | None = None  # the largest Σ n² of a person with n rows at each party

    def visits(self, drawn: bool) -> dict[str, Any]:
        """Return facts of a person's visits, if rows are ``drawn`` at random or each comes once."""
        found = {"persons": self.persons, "most_parties": self.most_parties}
        if drawn:
            return found | {"most_share": self.most_share, "share_at_one": self.share_at_one}
        if self.most_rows == 1:
            return {}
        return found | {"most_rows": self.most_rows, "most_squares": self.most_squares}


def sites_of(raw: RawTable, column: str) -> Sites:
    """Find the parties that a column names, in the order of their names; refuse a single one."""
    found = texts(raw, column, "site")
    names, codes = np.unique(found.astype(str), return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f"environment.site: column {column!r} of {raw.name} has only one value, and a "
            "federation needs at least two parties; to learn alone, leave out site and set "
            "agents = 1"
        )
    of_rows = codes.astype(np.int64)
    return Sites(tuple(map(str, names)), of_rows, len(of_rows), len(names))


def persons_of(raw: RawTable, column: str | None, sites: Sites) -> PersonRows:
    """Find whose each row is; without a ``column`` each is another person's."""
    if sites.names:
        shares = 1.0 / np.diff(sites.starts)[sites.of_rows]
    else:
        shares = np.full(sites.rows, sites.most_share)
    if column is None:
        return PersonRows(sites.rows, 1, float(shares.max()), np.arange(sites.rows), 1)
    _, codes = np.unique(texts(raw, column, "person").astype(str), return_inverse=True)
    rows = np.bincount(codes)
    most_share = float(np.bincount(codes, shares).max())
    found = codes.astype(np.int64)
    if not sites.names:  # rows are dealt: they may all be apart, or all together
        most_parties = min(sites.parties, int(rows.max()))
        return PersonRows(len(rows), int(rows.max()), most_share, found, most_parties)
    pairs, of_pair, counts = np.unique(
        np.stack([codes, sites.of_rows]), axis=1, return_inverse=True, return_counts=True
    )
    return PersonRows(
        len(rows),
        int(rows.max()),
        most_share,
        found,
        most_parties=int(np.bincount(pairs[0]).max()),
        share_at_one=float(np.bincount(of_pair.ravel(), shares).max()),
        most_squares=int(np.bincount(pairs[0], counts.astype(np.int64) ** 2).max()),
    )


class Prepared(NamedTuple):
    """A table, ready to be played."""

    contexts: Floats32  # (rows, d), in the unit ball
    form: Form  # what rows say of the arms
    sites: Sites  # the parties, and who owns which row
    persons: PersonRows  # whose each row is, and how often persons come
    public: tuple[str, ...]  # what a privacy claim must treat as public, a sentence each
    cautions: tuple[str, ...]  # what the user should know, each with the key that it is about
    row_deviation: float | None  # of the contexts, if stating something else would change it

    def world(self, key: Key, visits: str) -> Any:
        """Make the world of a replicate whose ``visits`` are drawn, come once, or come in order."""
        # Rows that are dealt to agents are in a random order already, unless they are put in order.
        shuffled = visits == "once" or (visits == "drawn" and not self.sites.names)
        order = self.sites.dealt(key, shuffled)
        drawn, persons = visits == "drawn", self.persons.of_rows
        return self.form.world(
            DealtRows(self.contexts, order, self.sites.starts, drawn, persons, key)
        )


class _Request:
    """A table's settings and the version of its file, as one key of a cache."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._key: tuple[bytes, Stamp] = (msgspec.json.encode(table), stamp(table.path))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Request) and self._key == other._key


def prepare_table(table: Table) -> Prepared:
    """Make a table ready; it is read again only after its file or its settings change.

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
    sites = _sites(table, raw.lines.size) if table.site is None else sites_of(raw, table.site)
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


def _sites(table: Table, rows: int) -> Sites:
    if table.agents > rows:
        raise DataError(
            f"environment.agents: {table.agents} agents cannot share {rows} rows; use at most "
            f"{rows}"
        )
    return Sites((), np.zeros(0, np.int64), rows, table.agents)


def refuse_rounds(table: Table, sites: Sites, rounds: int) -> None:
    """Refuse more rounds than there are rows, where each comes once.

    A log is refused where it is over for all parties; for some it may be over before others.
    """
    if table.form == "log" and rounds > sites.most_rows:
        raise DataError(
            f"rounds: {rounds} rounds, but no {table.words.party} has more than {sites.most_rows} "
            f"events in the log, and each is met once; set rounds = {sites.most_rows} or fewer"
        )
    if table.form != "log" and table.visits != "drawn" and rounds > sites.fewest_rows:
        raise DataError(
            f"rounds: {rounds} rounds, but the smallest {table.words.party} has "
            f'{sites.fewest_rows} rows, and visits = "{table.visits}" shows each row once; set '
            f'rounds = {sites.fewest_rows} or fewer, or visits = "drawn"'
        )


def form_of(table: Table, raw: RawTable, public: Public) -> Form:
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
