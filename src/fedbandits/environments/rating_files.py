"""Ratings as published data sets store them (users, items, values), and their factors."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.text_files import csv_cells, is_whole, read_text
from fedbandits.errors import DataError

_WHERE = {
    "u.data": "MovieLens 100K from the GroupLens site",
    "ratings.dat": "MovieLens 1M or 10M from the GroupLens site",
    "ratings.csv": "a current MovieLens release from the GroupLens site",
    "user_artists.dat": "the HetRec 2011 LastFM set from the GroupLens site",
}
_JESTER_MISSING = 99.0
_MOVIELENS = ("u.data", "ratings.dat", "ratings.csv")


class _Scale(NamedTuple):
    """Limits of a value: rewards are scaled by the extremes, so one absurd value hides all."""

    name: str
    low: float
    high: float


_RATING = _Scale(
    "a rating between -100 and 100 (counts go in a CSV with a column weight)", -1e2, 1e2
)
_COUNT = _Scale("a weight between 0 and a billion", 0.0, 1e9)
_STARS = _Scale("stars between 0 and 5", 0.0, 5.0)
_JOKE = _Scale(
    "how many jokes were rated, then a rating from -10 to 10 or 99 for each joke", -10.0, 10.0
)

#: A rating as read: user, item, value.
Triple = tuple[str, str, float]


class Ratings(NamedTuple):
    """Ratings with users and items numbered from 0 in order of appearance."""

    users: Ints
    items: Ints
    values: Floats


class _MalformedError(Exception):
    """A line that is not what it should be; carries what was expected."""


def read_ratings(path: str) -> Ratings:
    """Read a file of ratings; its kind is told by its name and first line.

    ``u.data`` and ``.tsv`` (tabs), ``ratings.dat`` (``::``), LastFM's ``user_artists.dat`` (tabs,
    header), Jester (a row a user, 99 for no rating), Yelp reviews (``.json``, an object a line),
    and CSV with a header that names user, item and rating.

    A rating lies between -100 and 100, a weight (LastFM, a CSV with a column ``weight``) between 0
    and a billion; MovieLens, Jester and Yelp have scales of their own. Raises DataError if the file
    is missing, empty or malformed: the line is named, and what was expected.
    """
    file = pathlib.Path(path)
    source = _WHERE.get(file.name, "the data set's own site")
    text = read_text(path, f"no such file; get {source} and give its path")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise DataError(f"{path}: is empty, expected ratings")
    parse, rest = _kind(file, lines)
    if file.name in _MOVIELENS:
        parse = _in_range(parse)
    triples: list[Triple] = []
    for number, line in rest:
        try:
            triples.extend(parse(line))
        except _MalformedError as error:
            raise DataError(f"{path}, line {number}: expected {error}") from None
    if not triples:
        raise DataError(f"{path}: holds a header but no ratings")
    return _numbered(triples)


_Lines = list[tuple[int, str]]
_Parser = Callable[[str], Iterator[Triple]]


def _kind(file: pathlib.Path, lines: _Lines) -> tuple[_Parser, _Lines]:
    first = lines[0][1]
    if file.suffix in (".json", ".jsonl"):
        return _yelp, lines
    if file.name == "user_artists.dat":
        return _separated("\t", "user, artist and weight, separated by tabs", _COUNT), lines[1:]
    if "::" in first:
        return _separated("::", "user::item::rating::timestamp"), lines
    if file.suffix in (".data", ".tsv", ".dat"):
        return _separated("\t", "user, item and rating, separated by tabs"), lines
    if len(first.split(",")) > 20:
        return _jester(), lines
    return _table(file, first), lines[1:]


def _in_range(parse: _Parser) -> _Parser:
    """Check MovieLens: ids are whole numbers from 1, ratings lie between 0.5 and 5."""

    def checked(line: str) -> Iterator[Triple]:
        for user, item, value in parse(line):
            if not all(is_whole(text) and int(text) > 0 for text in (user, item)):
                raise _MalformedError("user and item as whole numbers from 1")
            if not 0.5 <= value <= 5.0:
                raise _MalformedError("a rating between 0.5 and 5")
            yield user, item, value

    return checked


def _separated(separator: str, expected: str, scale: _Scale = _RATING) -> _Parser:
    def parse(line: str) -> Iterator[Triple]:
        cells = [cell.strip() for cell in line.split(separator)]
        if len(cells) < 3 or not cells[0] or not cells[1]:
            raise _MalformedError(expected)
        yield cells[0], cells[1], _value(cells[2], expected, scale)

    return parse


def _table(file: pathlib.Path, header: str) -> _Parser:
    """Read CSV: columns are found by their names."""
    try:
        names = [name.lower() for name in csv_cells(header)]
    except ValueError as error:
        raise DataError(f"{file}, line 1: cannot be read as CSV: {error}") from None
    wanted = {
        "user": ("user", "userid", "user_id"),
        "item": ("item", "itemid", "item_id", "movieid", "movie_id"),
        "rating": ("rating", "stars", "weight", "value"),
    }
    places = []
    for meaning, known in wanted.items():
        found = [names.index(name) for name in known if name in names]
        if not found:
            raise DataError(
                f"{file}, line 1: expected a header with user, item and rating; no {meaning} in it"
            )
        places.append(found[0])
    scale = _COUNT if names[places[2]] == "weight" else _RATING

    def parse(line: str) -> Iterator[Triple]:
        try:
            cells = csv_cells(line)
        except ValueError:
            cells = []
        if len(cells) != len(names):
            raise _MalformedError(f"{len(names)} values, separated by commas")
        user, item, value = (cells[place] for place in places)
        if not user or not item:
            raise _MalformedError("a user and an item")
        yield user, item, _value(value, "a number as rating", scale)

    return parse


def _jester() -> _Parser:
    rows = 0

    def parse(line: str) -> Iterator[Triple]:
        nonlocal rows
        rows += 1
        for joke, cell in enumerate(line.split(",")[1:]):
            value = _number(cell, _JOKE.name)
            if value != _JESTER_MISSING:
                yield str(rows), str(joke), _on(_JOKE, value)

    return parse


def _yelp(line: str) -> Iterator[Triple]:
    expected = 'an object with "user_id", "business_id" and "stars"'
    try:
        review = json.loads(line)
        user, item, stars = (review[key] for key in ("user_id", "business_id", "stars"))
        value = float(stars)
    # RecursionError: brackets in brackets; OverflowError: a whole number beyond all floats.
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise _MalformedError(expected) from None
    if not (isinstance(user, str | int) and isinstance(item, str | int)):
        raise _MalformedError(expected)
    yield str(user), str(item), _on(_STARS, value)


def _number(text: str, expected: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _MalformedError(expected) from None
    if not math.isfinite(value):
        raise _MalformedError(expected)
    return value


def _on(scale: _Scale, value: float) -> float:
    if not scale.low <= value <= scale.high:  # nor is a NaN
        raise _MalformedError(scale.name)
    return value


def _value(text: str, expected: str, scale: _Scale) -> float:
    return _on(scale, _number(text, expected))


def _numbered(triples: list[Triple]) -> Ratings:
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    table = [
        (users.setdefault(user, len(users)), items.setdefault(item, len(items)))
        for user, item, _ in triples
    ]
    numbers = np.array(table, dtype=np.int64)
    values = np.array([value for _, _, value in triples], dtype=np.float64)
    return Ratings(numbers[:, 0].copy(), numbers[:, 1].copy(), values)


class Factors(NamedTuple):
    """A truncated singular value decomposition, M ≈ left @ right.T."""

    left: Floats  # (rows, count): U Σ
    right: Floats  # (columns, count): V
    singular_values: Floats  # (count,)


def leading_factors(path: str, matrix: Any, count: int) -> Factors:
    """Compute the ``count`` leading factors of a sparse matrix, by ARPACK from a fixed start.

    ``matrix`` is a (rows, columns) scipy.sparse.csr_matrix, and ``count`` is less than both. Raises
    DataError, which names the ``path``, if it is zero, or such that the iteration fails.
    """
    from scipy.sparse.linalg import ArpackError
    from sklearn.decomposition import TruncatedSVD

    svd = TruncatedSVD(n_components=count, algorithm="arpack", random_state=0)
    try:
        # It also tells what share of the variance is explained, which needs some variance.
        with np.errstate(divide="ignore", invalid="ignore"):
            left = svd.fit_transform(matrix)
    except ArpackError:
        raise DataError(
            f"{path}: has no {count} factors; are nearly all values 0? Use a smaller dim"
        ) from None
    return Factors(left, svd.components_.T, svd.singular_values_)
