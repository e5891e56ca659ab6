"""Random words as numbers, permutations and exponential variables."""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints, Words64


@compiled
def word_to_unit(word: np.uint64) -> float:
    """Turn a word into a float64 in [0, 1), 53 bits."""
    return np.float64(word >> np.uint64(11)) * (1.0 / (1 << 53))


@compiled
def word_below(word: np.uint64, bound: int) -> int:
    """Turn a word into an integer in [0, bound), bound < 2**32; bias below bound / 2**64."""
    n = np.uint64(bound)
    low, high = word & np.uint64(0xFFFFFFFF), word >> np.uint64(32)
    return int(np.int64((high * n + ((low * n) >> np.uint64(32))) >> np.uint64(32)))


@compiled
def permute(words: Words64, places: Ints) -> None:
    """Write a random permutation of 0 … size-1, one word an entry (Fisher-Yates)."""
    for i in range(places.size):
        places[i] = i
    for i in range(places.size - 1, 0, -1):
        j = word_below(words[i], i + 1)
        places[i], places[j] = places[j], places[i]


@compiled
def exponentials(words: Words64, out: Floats) -> None:
    """Make standard exponential variables, one a word; never below 2**-54."""
    for i in range(out.size):
        out[i] = max(-np.log1p(-word_to_unit(words[i])), 2.0**-54)
