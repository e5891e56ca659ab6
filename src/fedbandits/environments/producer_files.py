"""Producers as a CSV file gives them: quality, cost and capacity for every buyer."""

from __future__ import annotations

import csv
import functools
import itertools
import math
import pathlib
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import DataError
from fedbandits.random import MOST_TRIALS

#: Where cells without a column go.
_TOO_MANY = "cells without a column"

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


def read_producers(path: str) -> Producers:
    """Read a CSV with a header that names agent, producer, quality, cost and capacity.

    One row for every agent and producer, in any order. A producer's quality is the same for all.
    A file is read once, and again when it has changed. Raises DataError if it is missing, malformed
    or incomplete: the line or the pair is named.
    """
    try:
        file = pathlib.Path(path).resolve()
        state = file.stat()
    except FileNotFoundError:
        raise DataError(
            f'{path}: no such file; case is "uniform", "normal" or the path of a CSV'
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path!r}: cannot be read: {type(error).__name__}") from None
    return _read(path, file, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read(path: str, file: pathlib.Path, size: int, changed: int) -> Producers:
    """Read a file; ``path`` is what it is called, ``size`` and ``changed`` tell versions apart."""
    del size, changed
    rows = [_row(path, line, cells) for line, cells in _cells(path, file)]
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


def _cells(path: str, file: pathlib.Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Read the rows with their line numbers, cells by column."""
    line = 0
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.DictReader(text, restval="", restkey=_TOO_MANY)
            line = 1
            names = [name.strip().lower() for name in reader.fieldnames or ()]
            if absent := [column for column in COLUMNS if column not in names]:
                raise DataError(
                    f"{path}, line 1: expected a header with {', '.join(COLUMNS)}; "
                    f"no {absent[0]} in it"
                )
            if twice := [column for column in COLUMNS if names.count(column) > 1]:
                raise DataError(f"{path}, line 1: {twice[0]} is there twice")
            reader.fieldnames = names
            for row in reader:
                line = reader.line_num
                if any(row.values()):
                    yield line, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        where = f", after line {line}" if line else ""
        raise DataError(f"{path}{where}: cannot be read as CSV: {type(error).__name__}") from None


def _row(path: str, line: int, cells: dict[str, str]) -> _Row:
    def number(column: str, low: float, high: float, expected: str) -> float:
        try:
            value = float(cells[column])
        except (TypeError, ValueError):
            value = math.nan
        if not low <= value <= high:
            raise DataError(f"{path}, line {line}: {column} must be {expected}")
        return value

    if _TOO_MANY in cells:
        raise DataError(
            f"{path}, line {line}: more cells than columns; write decimals with a point"
        )
    names = [str(cells[column] or "").strip() for column in ("agent", "producer")]
    if not all(0 < len(name) <= _LONGEST for name in names):
        raise DataError(
            f"{path}, line {line}: agent and producer must have names of at most {_LONGEST} "
            "characters"
        )
    capacity = number("capacity", 0, MOST_TRIALS, f"a whole number from 0 to {MOST_TRIALS:,}")
    if capacity != int(capacity):
        raise DataError(f"{path}, line {line}: capacity must be a whole number")
    return _Row(
        line,
        names[0],
        names[1],
        number("quality", 0.0, 1.0, "a number between 0 and 1"),
        number("cost", 0.0, 1e12, "a number ≥ 0"),
        int(capacity),
    )
