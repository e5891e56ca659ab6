"""Files of ratings, as data sets are published: their formats, factors and keys."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import FromFile
from fedbandits.environments.tables.cells import RawTable, missing, numbers, texts
from fedbandits.environments.tables.delimited import decoded, read_delimited
from fedbandits.environments.tables.files import is_whole, read_bytes
from fedbandits.environments.tables.formats import (
    AS_FOUND,
    NumberFormat,
    Reading,
    reading_of,
)
from fedbandits.errors import DataError

_WHERE = {
    "u.data": "MovieLens 100K from the GroupLens site",
    "ratings.dat": "MovieLens 1M or 10M from the GroupLens site",
    "ratings.csv": "a current MovieLens release from the GroupLens site",
    "user_artists.dat": "the HetRec 2011 LastFM set from the GroupLens site",
}
_JESTER_MISSING = 99.0
_MOVIELENS = ("u.data", "ratings.dat", "ratings.csv")


#: Known names of columns, in small letters.
_COLUMNS = {
    "user": ("user", "userid", "user_id", "user-id"),
    "item": ("item", "itemid", "item_id", "movieid", "movie_id", "book_id", "isbn", "business_id"),
    "rating": ("rating", "stars", "weight", "value", "score", "book-rating"),
}


class _Scale(NamedTuple):
    """Limits of a value: rewards are scaled by extremes, so an absurd value would hide all."""

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


class RatingFile(NamedTuple):
    """A file of ratings, and its format."""

    path: str
    reading: Reading = AS_FOUND
    columns: tuple[str | None, str | None, str | None] = (None, None, None)

    @classmethod
    def of(cls, settings: Any, path: str) -> RatingFile:
        """Make the description of the file at ``path`` from the keys of an environment."""
        columns = (settings.user, settings.item, settings.rating)
        return cls(path, reading_of(settings), columns)


class FromRatings(FromFile, frozen=True, kw_only=True):
    """Base class of environments that may be read from a file of ratings.

    Parameters
    ----------
    user, item, rating
        Columns of a CSV file of ratings with other names.
    """

    OF_FILE: ClassVar[tuple[str, ...]] = (*FromFile.OF_FILE, "user", "item", "rating")

    user: str | None = None
    item: str | None = None
    rating: str | None = None

    def rating_file(self, path: str) -> RatingFile:
        """Return the file of ratings at ``path``, with its format."""
        return RatingFile.of(self, path)


class _MalformedError(Exception):
    """A malformed line; the text of the error is the expected form."""


def read_ratings(
    path: str, reading: Reading = AS_FOUND, columns: Sequence[str | None] = (None, None, None)
) -> Ratings:
    """Read a file of ratings, packed or not; name and first line determine its kind.

    ``u.data`` and ``.tsv`` (tabs), ``ratings.dat`` (``::``), LastFM's ``user_artists.dat`` (tabs,
    header), Jester (a row a user, 99 for no rating), Yelp reviews (``.json``, an object a line),
    and tables with a header that names user, item and rating, or the stated ``columns``.
    ``reading`` is the format of the file.

    A rating lies between -100 and 100, a weight (LastFM, a column ``weight``) between 0 and a
    billion; MovieLens, Jester and Yelp have scales of their own. Raises DataError with the line and
    the expected form, if the file is missing, empty or malformed.
    """
    name = _name(path)
    source = _WHERE.get(name, "the data set's own site")
    data = read_bytes(path, f"no such file; get {source} and give its path")
    text = decoded(path, data, reading.encoding)
    # Only line ends of files: str.splitlines splits at more characters.
    split = re.split(r"\r\n|\r|\n", text)
    lines = [(number, line) for number, line in enumerate(split, 1) if line.strip()]
    if not lines:
        raise DataError(f"{path}: is empty, expected ratings")
    kind = None if any(columns) else _kind(name, lines)
    if kind is None:
        rest = _table(read_delimited(path, data, reading), columns)
        parse: _Parser = _as_it_is
    else:
        parse, rest = kind
    if name in _MOVIELENS and not any(columns):
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


def names_ratings(names: Sequence[str]) -> bool:
    """Tell whether columns are a user, an item and a rating, with at most two others."""
    small = {name.lower() for name in names}
    known = all(small & {*wanted} for wanted in _COLUMNS.values())
    return known and len(names) <= len(_COLUMNS) + 2


def is_published(path: str) -> bool:
    """Tell whether a file has the name of a published file of ratings."""
    return _name(path) in _WHERE


_Lines = list[tuple[int, Any]]
_Parser = Callable[[Any], Iterator[Triple]]


def _name(path: str) -> str:
    """Return the name of a file without the ending of a packed file."""
    file = pathlib.Path(path)
    return file.stem if file.suffix in (".gz", ".bz2", ".xz", ".zip") else file.name


def _kind(name: str, lines: _Lines) -> tuple[_Parser, _Lines] | None:
    """Return the parser and the lines of a file; None for a table with a header."""
    first, suffix = lines[0][1], pathlib.Path(name).suffix
    if suffix in (".json", ".jsonl"):
        return _yelp, lines
    if name == "user_artists.dat":
        return _separated("\t", "user, artist and weight, separated by tabs", _COUNT), lines[1:]
    if "::" in first:
        return _separated("::", "user::item::rating::timestamp"), lines
    tabs = first.split("\t")
    if suffix in (".data", ".tsv", ".dat") and not {*_COLUMNS["user"]} & {*map(str.lower, tabs)}:
        return _separated("\t", "user, item and rating, separated by tabs"), lines
    cells = first.split(",")
    if len(cells) > 20 and NumberFormat(".").read(cells[0].strip()) is not None:
        return _jester(), lines
    return None


def _table(raw: RawTable, stated: Sequence[str | None]) -> _Lines:
    """Read a table whose columns are stated, or found by known names; return its lines."""
    known = {name.lower(): name for name in raw.columns}
    places = []
    for (meaning, names), name in zip(_COLUMNS.items(), stated, strict=True):
        candidates = [name] if name else [known[usual] for usual in names if usual in known]
        if not candidates:
            raise DataError(
                f"{raw.name}, line 1: expected a header with user, item and rating; no {meaning} "
                f'in it: say which column it is, as in {meaning} = "COLUMN"'
            )
        places.append(candidates[0])
    user, item, rating = places
    scale = _COUNT if rating.lower() == "weight" else _RATING
    for column, key in zip(places, _COLUMNS, strict=True):
        gaps = missing(raw, column, key)
        if gaps.any():
            raise DataError(f"{raw.place(int(gaps.argmax()), column)}: is missing; fill it in")
    who, what = texts(raw, user, "user"), texts(raw, item, "item")
    values = numbers(raw, rating, "rating")
    outside = np.flatnonzero((values < scale.low) | (values > scale.high))
    if len(outside):
        raise DataError(f"{raw.place(int(outside[0]), rating)}: expected {scale.name}")
    triples = zip(who.tolist(), what.tolist(), values.tolist(), strict=True)
    return [*zip(raw.lines.tolist(), triples, strict=True)]


def _as_it_is(triple: Triple) -> Iterator[Triple]:
    yield triple


def _in_range(parse: _Parser) -> _Parser:
    """Check MovieLens: ids are whole numbers from 1, ratings lie between 0.5 and 5."""

    def checked(line: Any) -> Iterator[Triple]:
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
        yield cells[0], cells[1], _on(scale, _number(cells[2], expected))

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
    # RecursionError: deeply nested brackets; OverflowError: a whole number beyond all floats.
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise _MalformedError(expected) from None
    if not (isinstance(user, str | int) and isinstance(item, str | int)):
        raise _MalformedError(expected)
    yield str(user), str(item), _on(_STARS, value)


def _number(text: str, expected: str) -> float:
    value = NumberFormat(".").read(text.strip())
    if value is None:
        raise _MalformedError(expected)
    return value


def _on(scale: _Scale, value: float) -> float:
    if not scale.low <= value <= scale.high:  # also refuses NaN
        raise _MalformedError(scale.name)
    return value


def _numbered(triples: list[Triple]) -> Ratings:
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    table = [
        (users.setdefault(user, len(users)), items.setdefault(item, len(items)))
        for user, item, _ in triples
    ]
    pairs = np.array(table, dtype=np.int64)
    values = np.array([value for _, _, value in triples], dtype=np.float64)
    return Ratings(pairs[:, 0].copy(), pairs[:, 1].copy(), values)


class Factors(NamedTuple):
    """A truncated singular value decomposition, M ≈ left @ right.T."""

    left: Floats  # (rows, count): U Σ
    right: Floats  # (columns, count): V
    singular_values: Floats  # (count,)


def leading_factors(path: str, matrix: Any, count: int) -> Factors:
    """Compute the ``count`` leading factors of a sparse matrix, by ARPACK from a fixed start.

    ``matrix`` is a (rows, columns) scipy.sparse.csr_matrix, and ``count`` is less than both. Raises
    DataError, which names the ``path``, if the matrix is zero, or the iteration fails.
    """
    from scipy.sparse.linalg import ArpackError
    from sklearn.decomposition import TruncatedSVD

    svd = TruncatedSVD(n_components=count, algorithm="arpack", random_state=0)
    try:
        # The transform also computes the explained share of the variance, and divides by the
        # variance.
        with np.errstate(divide="ignore", invalid="ignore"):
            left = svd.fit_transform(matrix)
    except ArpackError:
        raise DataError(
            f"{path}: has no {count} factors; are nearly all values 0? Use a smaller dim"
        ) from None
    return Factors(left, svd.components_.T, svd.singular_values_)
