"""Random draws for plain Python code: every draw has a name, and can be made again.

Compiled code calls the functions of :mod:`fedbandits.random` with all parts of a draw's name. Code
in plain Python is handed a :class:`Draws`, which holds the name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.random import (
    Key,
    Purpose,
    integer,
    normal,
    normals_from,
    uniform,
    uniforms_from,
    word_pair,
)

if TYPE_CHECKING:
    from numpy.random import Generator


class Draws:
    """The draws of one name, in order: the same name gives the same draws.

    Draws protect nobody: anybody who knows the seed can make all of them again. The name has four
    parts: the key of seed and replicate (:func:`.random.replicate_key`), the party that draws, the
    round or the number of the decision, and the purpose.
    """

    __slots__ = ("_name", "_next")

    def __init__(self, key: Key, party: int, round_: int, purpose: Purpose) -> None:
        self._name = key, party, round_, int(purpose)
        self._next = 0

    @overload
    def uniform(self) -> float: ...
    @overload
    def uniform(self, size: int) -> Floats: ...
    def uniform(self, size: int | None = None) -> float | Floats:
        """Draw uniform numbers on [0, 1): a single number, or an array (size,)."""
        first = self._take(1 if size is None else _checked_size(size))
        if size is None:
            return float(uniform(*self._name, first))
        out = np.empty(size)
        uniforms_from(out, first, *self._name)
        return out

    @overload
    def normal(self) -> float: ...
    @overload
    def normal(self, size: int) -> Floats: ...
    def normal(self, size: int | None = None) -> float | Floats:
        """Draw standard normal numbers: a single number, or an array (size,)."""
        self._next += self._next & 1  # normals come in pairs
        first = self._take(2 if size is None else _checked_size(size) + (size & 1))
        if size is None:
            return float(normal(*self._name, first))
        out = np.empty(size)
        normals_from(out, first, *self._name)
        return out

    def integer(self, bound: int) -> int:
        """Draw a whole number from 0 to ``bound`` - 1, all equally likely; 1 ≤ bound ≤ 2³²."""
        if not _is_whole(bound) or not 1 <= bound <= 1 << 32:
            raise ValueError(f"integer: given the bound {bound!r}, allowed: 1 to 2**32")
        return int(integer(bound, *self._name, self._take(1)))

    def bernoulli(self, probability: float) -> bool:
        """Return True with the given probability; 0 and 1 are certain."""
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"bernoulli: given the probability {probability}, allowed: 0 to 1")
        return self.uniform() < probability

    def permutation(self, size: int) -> Ints:
        """Draw the numbers 0 … size - 1 in random order."""
        if not _is_whole(size) or size < 0:
            raise ValueError(f"permutation: given the size {size!r}, allowed: a whole number ≥ 0")
        order: Ints = self.generator().permutation(size)
        return order

    def generator(self) -> Generator:
        """Make a numpy generator, seeded by these draws, for every distribution that numpy has."""
        from numpy.random import Generator, Philox

        low, high = word_pair(*self._name, self._take(1))
        return Generator(Philox(key=(int(high) << 32) | int(low)))

    def _take(self, count: int) -> int:
        """Return the number of the next draw, and use up ``count`` draws."""
        first = self._next
        self._next += count
        return first


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _checked_size(size: Any) -> int:
    """Return the size of an array of draws; refuse a shape such as (2, 3)."""
    if not _is_whole(size) or size < 0:
        raise ValueError(
            f"size: given {size!r}, allowed: a whole number ≥ 0; reshape what is drawn"
        )
    return int(size)
