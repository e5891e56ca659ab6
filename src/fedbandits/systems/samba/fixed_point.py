"""Scores as whole numbers that can be shared and compared: no two of a list are equal.

A word is a score times 2³², rounded, with the owner's place in the lowest bits. Places of a list
are all different, so words are. All words lie within ±2⁶⁰, so every difference of two lies within
±2⁶¹, and its sign is that of the comparison: nothing overflows.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints

#: Bits behind the point: scores further apart than 2⁻³² keep their order.
SCALE_BITS = 32
#: A word's magnitude is at most two to this power.
WORD_BITS = 60
#: Stands for a score that is no number; no word is that low.
REFUSED = -(1 << 63)
_SCALE = 2.0**SCALE_BITS


def bits_for_ties(arms: int) -> int:
    """How many of a word's lowest bits hold a place of 0 … ``arms`` - 1; at least 1."""
    return max(1, (arms - 1).bit_length())


@compiled
def to_word(score: float, place: int, tie_bits: int) -> int:
    """The word that an owner shares.

    Parameters
    ----------
    score : float
        It saturates at ±2^(28 - ``tie_bits``). -∞ is lower than every finite score.
    place : int
        The owner's place, different for every owner, below 2^``tie_bits``.
    tie_bits : int
        See :func:`bits_for_ties`.

    Returns
    -------
    int
        From -2⁶⁰ to 2⁶⁰ - 1, or ``REFUSED`` if the score is NaN.
    """
    if math.isnan(score):
        return REFUSED
    most = np.int64(1) << np.int64(WORD_BITS - tie_bits)
    scaled = np.rint(score * _SCALE)
    if scaled >= most:
        number = most - np.int64(1)
    elif scaled > -most:
        number = np.int64(scaled)
    elif score == -np.inf:
        number = -most
    else:
        number = -most + np.int64(1)
    return int((number << np.int64(tie_bits)) + np.int64(place))


@compiled
def to_words(scores: Floats, places: Ints, tie_bits: int, words: Ints) -> bool:
    """Write :func:`to_word` of all owners; whether all scores are numbers. All are (arms,)."""
    for i in range(words.size):
        words[i] = to_word(scores[i], places[i], tie_bits)
        if words[i] == REFUSED:
            return False
    return True
