from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedbandits.systems.samba.kernels import REFUSED, bits_for_ties, to_word, to_words

#: Up to the largest list that parties accept.
arms = st.integers(2, 65_535)
scores = st.floats(allow_nan=False)  # infinities too
EXTREMES = (
    -math.inf, -1.7e308, -(2.0**28), -(2.0**28) + 2.0**-24, -1.0, -5e-324, 0.0, 5e-324,
    2.0**-33, 2.0**12, 2.0**28 - 2.0**-24, 2.0**28, 1.7e308, math.inf,
)  # fmt: skip


@st.composite
def two_places(draw):
    """The number of arms, and two different places."""
    count = draw(arms)
    places = st.integers(0, count - 1)
    one, two = draw(places), draw(places)
    assume(one != two)
    return count, one, two


@pytest.mark.parametrize(
    ("count", "bits"), [(2, 1), (3, 2), (4, 2), (5, 3), (100, 7), (128, 7), (129, 8), (65_535, 16)]
)
def test_bits_suffice_for_all_places(count, bits):
    assert bits_for_ties(count) == bits
    assert 2**bits >= count > 2 ** (bits - 1) or count == 2


def test_a_word_by_hand():
    """1.5 · 2³² in steps of 2³ places, and place 6."""
    assert to_word(1.5, 6, 3) == 3 * 2**31 * 8 + 6
    assert to_word(-1.5, 6, 3) == -3 * 2**31 * 8 + 6
    assert to_word(0.4 * 2.0**-32, 0, 3) == 0
    assert to_word(0.6 * 2.0**-32, 0, 3) == 8


@given(two_places(), st.floats(-4000.0, 4000.0), st.floats(-4000.0, 4000.0))
def test_the_order_of_scores_is_kept_whatever_the_places(where, a, b):
    count, one, two = where
    low, high = min(a, b), max(a, b)
    assume(high - low > 2.0**-32)
    bits = bits_for_ties(count)
    assert to_word(low, one, bits) < to_word(high, two, bits)


@given(two_places(), st.floats(-4000.0, 4000.0), st.floats(0.0, 2.0**-34))
def test_only_scores_that_round_to_the_same_go_by_their_places(where, score, more):
    count, one, two = where
    bits = bits_for_ties(count)
    words = to_word(score, one, bits), to_word(score + more, two, bits)
    if words[0] >> bits == words[1] >> bits:
        assert (words[0] < words[1]) == (one < two)
    else:
        assert words[0] < words[1]


@given(arms, st.floats(-4000.0, 4000.0))
def test_a_word_is_the_score_rounded(count, score):
    bits = bits_for_ties(count)
    assert abs(math.ldexp(to_word(score, 0, bits) >> bits, -32) - score) <= 2.0**-33


@given(two_places(), scores, scores)
def test_no_two_words_are_equal_and_no_difference_overflows(where, a, b):
    require_distinct_and_near(*where, a, b)


@pytest.mark.parametrize("count", [2, 3, 100, 65_535])
def test_differences_of_extremes(count):
    for a in EXTREMES:
        for b in EXTREMES:
            require_distinct_and_near(count, 0, count - 1, a, b)
            require_distinct_and_near(count, count - 1, 0, a, b)


def require_distinct_and_near(count, one, two, a, b):
    """Also as 64-bit numbers: the difference's sign is that of the comparison."""
    bits = bits_for_ties(count)
    x, y = to_word(a, one, bits), to_word(b, two, bits)
    assert x != y
    assert max(abs(x), abs(y)) <= 2**60
    assert abs(x - y) < 2**62
    assert int(np.int64(x) - np.int64(y)) == x - y
    if a < b:
        assert x >> bits <= y >> bits
    if x >> bits == y >> bits:
        assert (x < y) == (one < two)


@pytest.mark.parametrize("count", [2, 100, 65_535])
def test_large_scores_saturate(count):
    bits, last = bits_for_ties(count), count - 1
    most = 2.0 ** (28 - bits)
    top = to_word(math.inf, last, bits)
    assert top == to_word(most, last, bits) == to_word(1e300, last, bits)
    assert top <= 2**60 - 1
    assert to_word(most / 2, last, bits) < to_word(most, 0, bits)
    assert to_word(-most, 0, bits) == to_word(-1e300, 0, bits) == -(2**60) + 2**bits


@pytest.mark.parametrize("count", [2, 100, 65_535])
def test_minus_infinity_is_lower_than_all(count):
    bits = bits_for_ties(count)
    assert to_word(-math.inf, 0, bits) == -(2**60)
    assert to_word(-math.inf, count - 1, bits) < to_word(-1.7e308, 0, bits)


def test_what_is_no_number_is_refused():
    assert to_word(math.nan, 1, 3) == REFUSED
    words, places = np.zeros(3, np.int64), np.array([2, 0, 1])
    assert to_words(np.array([0.5, -math.inf, 1e9]), places, 2, words)
    np.testing.assert_array_equal(words[:2], [2**33 + 2, -(2**60)])
    assert not to_words(np.array([0.5, 1.0, math.nan]), places, 2, words)
    assert REFUSED < -(2**60)
