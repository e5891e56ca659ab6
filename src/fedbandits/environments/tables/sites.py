"""Owners of rows, and persons with the number of times that they come."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Ints
from fedbandits.environments.tables.cells import RawTable, texts
from fedbandits.errors import DataError
from fedbandits.random import Key, Purpose, permutation


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
    most_parties = min(sites.parties, int(rows.max()))  # rows that are dealt may all be apart
    if sites.names:
        pairs = np.unique(np.stack([codes, sites.of_rows]), axis=1)
        most_parties = int(np.bincount(pairs[0]).max())
    return PersonRows(len(rows), int(rows.max()), most_share, codes.astype(np.int64), most_parties)
