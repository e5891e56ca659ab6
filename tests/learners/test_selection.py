from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits.crypto.keystream import KeyStream, exponentials
from fedbandits.learners.selection import in_proportion, largest, mask_score, sum_is_positive
from fedbandits.systems.samba.draws import word_to_mask

scores = st.floats(2.0**-500, 2.0**400)
masks = st.integers(0, 2**64 - 1).map(lambda word: word_to_mask(np.uint64(word)))
waits = st.floats(2.0**-54, 40.0)


def neighbours(values):
    """Scores that differ by one representable number, beside those given."""
    return [v for value in values for v in (value, np.nextafter(value, np.inf))]


def masked(values, mask):
    pairs = [mask_score(value, mask) for value in values]
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])


@given(scores, masks)
def test_masking_is_exact(score, mask):
    high, low = mask_score(score, mask)
    assert Fraction(high) + Fraction(low) == Fraction(score) * Fraction(mask)


@given(st.lists(scores, min_size=1, max_size=6), masks, st.randoms(use_true_random=False))
def test_masks_never_change_the_largest(values, mask, random):
    values = neighbours(values)
    random.shuffle(values)
    expected = int(np.argmax(values))  # the first of equals
    assert largest(*masked(values, mask)) == expected


@given(
    st.lists(st.tuples(scores, waits), min_size=1, max_size=5),
    masks, st.randoms(use_true_random=False),
)  # fmt: skip
def test_masks_never_change_a_match(entries, mask, random):
    """Against exact fractions, with near-ties: the same score and wait, one bit up or down."""
    entries = [(v, w) for value, w in entries for v in neighbours([value])]
    random.shuffle(entries)
    values, times = [v for v, _ in entries], np.array([w for _, w in entries])
    ratios = [Fraction(v) / Fraction(w) for v, w in entries]
    expected = ratios.index(max(ratios))
    assert in_proportion(*masked(values, 1.0), times) == expected
    assert in_proportion(*masked(values, mask), times) == expected


def test_a_rounding_mask_would_have_changed_the_choice():
    """The case that the second float is there for: two scores, equal once masked and rounded."""
    mask = 1.25  # products lie above 2, where floats are twice as far apart
    scores = 1.9 + np.arange(10) * 2.0**-52
    equal = np.flatnonzero(scores[:-1] * mask == scores[1:] * mask)
    assert len(equal)
    pair = scores[equal[0] : equal[0] + 2]
    assert largest(*masked(pair, mask)) == largest(*masked(pair, 1.0)) == 1


@pytest.mark.parametrize("mask", [1.0, 0.7, 3.3e-9])
def test_a_rounded_ratio_would_have_changed_the_match(mask):
    """Ratios that differ, equal once divided and rounded: the larger one wins all the same."""
    values, wait = 1.9 + np.arange(40) * 2.0**-52, 1.2345
    equal = np.flatnonzero(values[:-1] / wait == values[1:] / wait)
    assert len(equal)
    for place in equal:
        pair = values[place : place + 2]
        assert in_proportion(*masked(pair, mask), np.full(2, wait)) == 1
        assert in_proportion(*masked(pair[::-1], mask), np.full(2, wait)) == 0


@given(st.lists(st.floats(-1e50, 1e50), min_size=1, max_size=8))
def test_signs_of_sums_are_exact(terms):
    assert sum_is_positive(np.array(terms)) == (sum(map(Fraction, terms)) > 0)


@given(st.floats(1.0, 2.0), st.integers(-40, 40))
def test_cancelling_sums_are_exact(x, shift):
    tiny = x * 2.0**-100
    for sign in (1.0, -1.0):
        terms = np.array([x, x * 2.0**shift, sign * tiny, -x, -x * 2.0**shift, 0.0])
        assert sum_is_positive(terms) == (sign > 0)


def test_matching_is_in_proportion():
    values = np.array([1.0, 2.0, 0.0, 5.0])
    words, times = KeyStream(bytes(32), 4).block(0, 16_000), np.empty(4)
    counts = np.zeros(4)
    for row in words:
        exponentials(row, times)
        counts[in_proportion(values, np.zeros(4), times)] += 1
    assert counts[2] == 0
    assert stats.chisquare(counts[[0, 1, 3]], 16_000 * values[[0, 1, 3]] / 8).pvalue > 1e-3


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", [0, 1])
def test_what_is_no_number_is_refused(bad, part):
    parts = [np.ones(3), np.zeros(3)]
    parts[part][1] = bad
    assert largest(*parts) == -1
    assert in_proportion(*parts, np.ones(3)) == -1


def test_negative_weights_are_refused():
    assert in_proportion(np.array([1.0, -1.0]), np.zeros(2), np.ones(2)) == -1


def test_masks_are_never_zero_and_spread_over_octaves():
    words = KeyStream(bytes(32), 1).block(0, 20_000)[:, 0]
    logs = np.log2([word_to_mask(word) for word in words])
    assert logs.min() >= -32.0
    assert logs.max() <= 32.0
    assert stats.chisquare(np.bincount(np.floor(logs).astype(int) + 32, minlength=64)).pvalue > 1e-3
    assert word_to_mask(np.uint64(0)) == 2.0**-32
