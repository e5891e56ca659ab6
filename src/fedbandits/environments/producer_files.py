"""Producers as a CSV file gives them: quality, cost and capacity for every buyer."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.tables.cells import numbers
from fedbandits.environments.tables.delimited import read_delimited
from fedbandits.environments.tables.files import Stamp, read_bytes, stamp
from fedbandits.environments.tables.reading import AS_FOUND, Reading
from fedbandits.errors import DataError
from fedbandits.random import MOST_TRIALS

_NO_FILE = 'no such file; case is "uniform", "normal" or the path of a CSV'
#: A name with more characters is none, but a file of something else.
_LONGEST = 100

COLUMNS = ("agent", "producer", "quality", "cost", "capacity")


class Producers(NamedTuple):
    """The content of a file, agents and producers numbered in order of appearance."""

    quality: Floats  # (producers,)
    cost: Floats  # (agents, producers)
    capacity: Ints  # (agents, producers)


class _Row(NamedTuple):
    line: int
    agent: str
    producer: str
    quality: float
    cost: float
    capacity: int


def read_producers(path: str, reading: Reading = AS_FOUND) -> Producers:
    """Read a CSV with a header that names agent, producer, quality, cost and capacity.

    One row for every agent and producer, in any order. A producer's quality is the same for all.
    ``reading`` says how the file is read.
    A file is read once, and again when it has changed. Raises DataError if it is missing, malformed
    or incomplete: the line or the pair is named.
    """
    return _read(path, reading, stamp(os.path.abspath(path)) if path else Stamp(path))


@functools.lru_cache(maxsize=4)
def _read(path: str, reading: Reading, file: Stamp) -> Producers:
    """Read a file; ``path`` is what it is called, its stamp tells versions apart."""
    del file
    rows = [*_rows(path, reading)]
    if not rows:
        raise DataError(f"{path}: has no producers")
    agents = {name: j for j, name in enumerate(dict.fromkeys(row.agent for row in rows))}
    producers = {name: i for i, name in enumerate(dict.fromkeys(row.producer for row in rows))}
    _check_pairs(path, rows, agents, producers)
    quality = np.full(len(producers), np.nan)
    cost = np.zeros((len(agents), len(producers)))
    capacity = np.zeros(cost.shape, np.int64)
    for row in rows:
        j, i = agents[row.agent], producers[row.producer]
        if not np.isnan(quality[i]) and quality[i] != row.quality:
            raise DataError(
                f"{path}, line {row.line}: quality {row.quality:g} of producer {row.producer!r}, "
                f"but it was {quality[i]:g} before; give one quality for all agents"
            )
        quality[i], cost[j, i], capacity[j, i] = row.quality, row.cost, row.capacity
    return Producers(quality, cost, capacity)


def _check_pairs(
    path: str, rows: list[_Row], agents: Collection[str], producers: Collection[str]
) -> None:
    """Check that every pair stands there once, before anything as large as all pairs is made."""
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if (row.agent, row.producer) in seen:
            raise DataError(
                f"{path}, line {row.line}: agent {row.agent!r} and producer {row.producer!r} is "
                "there twice; remove one line"
            )
        seen.add((row.agent, row.producer))
    first = next((pair for pair in itertools.product(agents, producers) if pair not in seen), None)
    if first is not None:
        missing = len(agents) * len(producers) - len(seen)
        raise DataError(
            f"{path}: {missing} pairs are missing, the first is agent {first[0]!r} with "
            "producer "
            f"{first[1]!r}; every agent needs a row for every producer (capacity 0 where it cannot "
            "buy)"
        )


def _rows(path: str, reading: Reading) -> Iterator[_Row]:
    """Read the rows, columns by their names."""
    raw = read_delimited(path, read_bytes(path, _NO_FILE), reading)
    names = [name.lower() for name in raw.columns]
    if absent := [column for column in COLUMNS if column not in names]:
        raise DataError(
            f"{path}, line 1: expected a header with {', '.join(COLUMNS)}; no {absent[0]} in it"
        )
    if twice := [column for column in COLUMNS if names.count(column) > 1]:
        raise DataError(f"{path}, line 1: {twice[0]} is there twice; rename one")
    known = {name.lower(): name for name in raw.columns}
    quality, cost, capacity = (numbers(raw, known[column], column) for column in COLUMNS[2:])
    texts = (raw.columns[known[column]] for column in COLUMNS[:2])
    for row in map(
        _Row._make, zip(raw.lines.tolist(), *texts, quality, cost, capacity, strict=True)
    ):
        yield _checked(path, row)


def _checked(path: str, row: _Row) -> _Row:
    """Return a row whose names and numbers can be those of a producer."""
    if not all(0 < len(name) <= _LONGEST for name in (row.agent, row.producer)):
        raise DataError(
            f"{path}, line {row.line}: agent and producer must have names of at most {_LONGEST} "
            "characters"
        )
    limits = {
        "quality": (0.0, 1.0, "a number between 0 and 1"),
        "cost": (0.0, 1e12, "a number ≥ 0"),
        "capacity": (0.0, MOST_TRIALS, f"a whole number from 0 to {MOST_TRIALS:,}"),
    }
    for column, (low, high, expected) in limits.items():
        if not low <= getattr(row, column) <= high:  # nor is a missing one
            raise DataError(f"{path}, line {row.line}: {column} must be {expected}")
    if row.capacity != int(row.capacity):
        raise DataError(f"{path}, line {row.line}: capacity must be a whole number")
    return row._replace(capacity=int(row.capacity))
