"""Environments that may be read from a file of text: the keys that say how it is read."""

from __future__ import annotations

from typing import ClassVar

from fedbandits.environments.base import Environment
from fedbandits.environments.rating_files import RatingFile
from fedbandits.environments.tables.formats import (
    AS_FOUND,
    Decimal,
    Reading,
    Separator,
    Thousands,
    reading_of,
    refuse_reading,
)


class FromFile(Environment, frozen=True, kw_only=True):
    """Base class of environments that may be read from a file of text.

    Parameters
    ----------
    encoding, separator, decimal, thousands
        How the file is read, as in a ``table``.
    """

    #: Keys that tell of the file.
    OF_FILE: ClassVar[tuple[str, ...]] = ("encoding", "separator", "decimal", "thousands")

    encoding: str = AS_FOUND.encoding
    separator: Separator | None = None
    decimal: Decimal | None = None
    thousands: Thousands | None = None

    @property
    def reading(self) -> Reading:
        """The way in which the file is read."""
        return reading_of(self)

    def refuse_keys_of_file(self, file: str, given: bool) -> None:
        """Refuse keys that do not fit together, or tell of a file that is not ``given``.

        ``file`` is the key that names the file. Raises ValueError, whose text begins with a key.
        """
        refuse_reading(self)
        for key in () if given else self.OF_FILE:
            if getattr(self, key) not in (None, AS_FOUND.encoding):
                raise ValueError(f"{key}: given without {file}, whose file it tells of; remove it")


class FromRatings(FromFile, frozen=True, kw_only=True):
    """Base class of environments that may be read from a file of ratings.

    Parameters
    ----------
    user, item, rating
        Columns of a CSV file of ratings, if it gives them other names than these.
    """

    OF_FILE: ClassVar[tuple[str, ...]] = (*FromFile.OF_FILE, "user", "item", "rating")

    user: str | None = None
    item: str | None = None
    rating: str | None = None

    def rating_file(self, path: str) -> RatingFile:
        """Return the file of ratings at ``path``, and how it is read."""
        return RatingFile.of(self, path)
