from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits.crypto.keystream import KeyStream
from fedbandits.learners.kernels.largest_scores import equal_place, in_proportion, largest_place
from fedbandits.systems.samba.audit.attack import common_divisor
from fedbandits.systems.samba.kernels import exponentials, word_to_mask

scores = st.floats(2.0**-500, 2.0**400)
masks = st.integers(0, 2**64 - 1).map(lambda word: word_to_mask(np.uint64(word)))
waits = st.floats(2.0**-54, 40.0)


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=9))
def test_the_first_of_the_largest_is_found_and_they_are_counted(values):
    best, equals = largest_place(np.array(values))
    assert best == int(np.argmax(values))
    assert equals == values.count(max(values))


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=1, max_size=12), st.integers(0, 11))
def test_each_of_the_largest_can_be_chosen(values, rank):
    scores = np.array(values)
    best, equals = largest_place(scores)
    tied = np.flatnonzero(scores == scores.max())
    assert equal_place(scores, best, rank % equals) == tied[rank % equals]


@given(st.lists(scores, min_size=1, max_size=6), masks, st.randoms(use_true_random=False))
def test_masks_never_invert_an_order(values, mask, random):
    """Neighbouring floats included: what is chosen is a largest score, up to its last bit."""
    values = [v for value in values for v in (value, np.nextafter(value, np.inf))]
    random.shuffle(values)
    masked = np.array(values) * mask
    order = np.argsort(values, kind="stable")
    assert (np.diff(masked[order]) >= 0).all()
    chosen = values[largest_place(masked)[0]]
    assert chosen in (max(values), np.nextafter(max(values), 0.0))


def test_a_mask_can_make_neighbours_equal():
    """Why the plain run compares masked scores too."""
    values = 1.9 + np.arange(10) * 2.0**-52
    assert (np.diff(values * 1.25) == 0.0).any()


@given(st.lists(st.tuples(scores, waits), min_size=1, max_size=6), masks)
def test_a_match_is_the_largest_ratio(entries, mask):
    values, times = np.array([v for v, _ in entries]) * mask, np.array([w for _, w in entries])
    assert in_proportion(values, times) == int(np.argmax(values / times))


def test_matching_is_in_proportion():
    values = np.array([1.0, 2.0, 0.0, 5.0])
    words, times = KeyStream(bytes(32), 4).block(0, 16_000), np.empty(4)
    counts = np.zeros(4)
    for row in words:
        exponentials(row, times)
        counts[in_proportion(values, times)] += 1
    assert counts[2] == 0
    assert stats.chisquare(counts[[0, 1, 3]], 16_000 * values[[0, 1, 3]] / 8).pvalue > 1e-3


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(bad):
    values = np.array([1.0, bad, 1.0])
    assert largest_place(values)[0] == -1
    assert in_proportion(values, np.ones(3)) == -1


def test_scores_that_are_all_zero_are_matched_uniformly():
    words, times = KeyStream(bytes(32), 5).block(0, 5000), np.empty(5)
    counts = np.zeros(5)
    for row in words:
        exponentials(row, times)
        counts[in_proportion(np.zeros(5), times)] += 1
    assert stats.chisquare(counts).pvalue > 1e-3


def test_negative_weights_are_refused():
    assert in_proportion(np.array([1.0, -1.0]), np.ones(2)) == -1


def test_masks_are_never_zero_and_spread_over_octaves():
    words = KeyStream(bytes(32), 1).block(0, 20_000)[:, 0]
    logs = np.log2([word_to_mask(word) for word in words])
    assert logs.min() >= -32.0
    assert logs.max() <= 32.0
    assert stats.chisquare(np.bincount(np.floor(logs).astype(int) + 32, minlength=64)).pvalue > 1e-3
    assert word_to_mask(np.uint64(0)) == 2.0**-32


def test_masks_cannot_be_divided_out():
    """Exact products would have the mask as a common divisor; rounded ones do not."""
    rng = np.random.default_rng(0)
    for word in KeyStream(bytes(32), 1).block(0, 50)[:, 0]:
        mask, values = word_to_mask(word), rng.uniform(0.5, 3.0, 5)
        assert common_divisor(values * mask) < 100.0
    assert common_divisor(np.array([3.0, 5.0, 7.0]) * (2**40 + 1)) == 2**40 + 1
