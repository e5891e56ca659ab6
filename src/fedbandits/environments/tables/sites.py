"""Parties and persons of a table: the owner and the person of each row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Ints
from fedbandits.environments.shards import (
    Dealing,
    Shards,
    deal,
    even_starts,
    largest_shard,
    smallest_shard,
)
from fedbandits.environments.tables.cells import RawTable, texts
from fedbandits.environments.tables.settings import TableKeys
from fedbandits.errors import DataError
from fedbandits.random import Key, Purpose, permutation


class Sites(NamedTuple):
    """The parties of a table, and the rows of each party."""

    names: tuple[str, ...]  # names of the parties; empty where rows are dealt at random
    of_rows: Ints  # (rows,): the owner of each row; empty where rows are dealt
    rows: int  # number of rows
    parties: int  # number of parties
    dealing: Dealing = "disjoint"  # division of dealt rows

    @property
    def starts(self) -> Ints:
        """(parties + 1,): first position of each party's rows, once rows are grouped.

        Where rows are dealt by class, each replicate has other positions: see :meth:`dealt`.
        """
        if not self.names:
            return even_starts(self.rows, self.parties)
        counts = np.bincount(self.of_rows, minlength=self.parties)
        return np.append(0, np.cumsum(counts)).astype(np.int64)

    @property
    def fewest_rows(self) -> int:
        """Rows of the smallest party; a lower bound where rows are dealt."""
        if not self.names:
            return smallest_shard(self.dealing, self.rows, self.parties)
        return int(np.diff(self.starts).min())

    @property
    def most_rows(self) -> int:
        """Rows of the largest party; an upper bound where rows are dealt."""
        if not self.names:
            return largest_shard(self.dealing, self.rows, self.parties)
        return int(np.diff(self.starts).max())

    @property
    def most_share(self) -> float:
        """Largest share of one row in all visits of its party."""
        return 1.0 / self.fewest_rows

    def dealt(self, key: Key, shuffled: bool, labels: Ints) -> Shards:
        """Return the rows' numbers by party, in random order or in the order of the table.

        ``labels`` are the classes of the rows, (rows,), which the division may use.
        """
        if self.names:
            order = np.arange(self.rows)
            if shuffled:
                order = permutation(self.rows, key, 0, 0, Purpose.WORLD)
            return Shards(order[np.argsort(self.of_rows[order], kind="stable")], self.starts)
        dealt = deal(self.dealing, labels, self.parties, key)
        if not shuffled:
            for first, past in pairwise(dealt.starts):
                dealt.rows[first:past].sort()
        return dealt


class PersonRows(NamedTuple):
    """Persons of the rows, and how often they visit."""

    persons: int  # number of persons
    most_rows: int  # rows of the person with most rows
    most_share: float  # largest expected visits of one person in a round, if rows are drawn
    of_rows: Ints  # (rows,): the person of each row
    most_parties: int  # largest number of parties that have rows of one person
    share_at_one: float | None = None  # of one person at one party, if owners are known
    most_squares: int | None = None  # largest Σ n² of a person with n rows at each party

    def visits(self, drawn: bool) -> dict[str, Any]:
        """Return facts of a person's visits, if rows are ``drawn`` at random or each comes once."""
        facts = {"persons": self.persons, "most_parties": self.most_parties}
        if drawn:
            return facts | {"most_share": self.most_share, "share_at_one": self.share_at_one}
        if self.most_rows == 1:
            return {}
        return facts | {"most_rows": self.most_rows, "most_squares": self.most_squares}


def sites_in(table: TableKeys, raw: RawTable) -> Sites:
    """Return the parties of a table, from a column of names or by dealing rows.

    Raises DataError if the column names a single party, or if there are fewer rows than parties.
    """
    if table.site is None:
        return _sites_dealt(table, raw.lines.size)
    return _sites_named(raw, table.site)


def _sites_named(raw: RawTable, column: str) -> Sites:
    spelled = texts(raw, column, "site")
    names, codes = np.unique(spelled.astype(str), return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f"environment.site: column {column!r} of {raw.name} has only one value, and a "
            "federation needs at least two parties; to learn alone, leave out site and set "
            "agents = 1"
        )
    of_rows = codes.astype(np.int64)
    return Sites(tuple(map(str, names)), of_rows, len(of_rows), len(names))


def _sites_dealt(table: TableKeys, rows: int) -> Sites:
    if table.agents > rows:
        raise DataError(
            f"environment.agents: {table.agents} agents cannot share {rows} rows; use at most "
            f"{rows}"
        )
    return Sites((), np.zeros(0, np.int64), rows, table.agents, table.shards)


def persons_of(raw: RawTable, column: str | None, sites: Sites) -> PersonRows:
    """Return the person of each row; without a ``column`` every row has another person."""
    if sites.names:
        shares = 1.0 / np.diff(sites.starts)[sites.of_rows]
    else:
        shares = np.full(sites.rows, sites.most_share)
    if column is None:
        return PersonRows(sites.rows, 1, float(shares.max()), np.arange(sites.rows), 1)
    _, codes = np.unique(texts(raw, column, "person").astype(str), return_inverse=True)
    rows = np.bincount(codes)
    most_share = float(np.bincount(codes, shares).max())
    of_rows = codes.astype(np.int64)
    if not sites.names:  # rows are dealt: a person's rows may all be apart, or all together
        most_parties = min(sites.parties, int(rows.max()))
        most_share = min(most_share, float(most_parties))  # one visit a round to each party
        return PersonRows(len(rows), int(rows.max()), most_share, of_rows, most_parties)
    pairs, of_pair, counts = np.unique(
        np.stack([codes, sites.of_rows]), axis=1, return_inverse=True, return_counts=True
    )
    return PersonRows(
        len(rows),
        int(rows.max()),
        most_share,
        of_rows,
        most_parties=int(np.bincount(pairs[0]).max()),
        share_at_one=float(np.bincount(of_pair.ravel(), shares).max()),
        most_squares=int(np.bincount(pairs[0], counts.astype(np.int64) ** 2).max()),
    )


def refuse_rounds(table: TableKeys, sites: Sites, rounds: int) -> None:
    """Refuse more ``rounds`` than rows, where each row comes once.

    A log is refused if it ends for all parties; it may end earlier for some parties.
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
